import type { LoggedEvent } from '../log/logged-event.js';
import type { OutputReader, Reading } from './run-reading.js';

/**
 * Reads the output of a run for a protocol with events of its own: the events of one iteration of the event loop
 * together, while the client takes more.
 */
export abstract class PacedReader implements OutputReader {
  readonly kind = 'output';
  #reading: Reading | undefined;
  #isBegun = false;
  #isPumping = false;
  #isFinished = false;

  /** @param hasRoom true when the client takes more; otherwise `more` is to be called when it does */
  constructor(private readonly hasRoom: () => boolean) {}

  attach(reading: Reading): void {
    this.#reading = reading;
  }

  /** True when all of the output was taken. */
  get isEnded(): boolean {
    return this.#isFinished;
  }

  more(): void {
    if (this.#isPumping || this.#isFinished || !this.#isBegun) return;
    this.#isPumping = true;
    setImmediate(() => this.#pump());
  }

  /** Lets the output in, which waits until then. */
  protected beginOutput(): void {
    this.#isBegun = true;
    this.more();
  }

  protected abstract take(logged: LoggedEvent): void;

  /** Called once, after the last event. @param isLost true when the next output is no longer kept */
  protected abstract finish(isLost: boolean): void;

  #pump(): void {
    this.#isPumping = false;
    const reading = this.#reading;
    if (!reading || this.#isFinished) return;
    while (this.hasRoom()) {
      const next = reading.take();
      if (next) this.take(next);
      else if (reading.state === 'waiting') return;
      else {
        this.#isFinished = true;
        return this.finish(reading.state === 'lost');
      }
    }
  }
}
