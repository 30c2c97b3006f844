import { visibleText } from '#lib/command-line';
import type { Clock } from '#lib/time';

/** Is told how far a backup or a restore is. */
export interface BackupWatch {
  /** Begins a stage; the same name again says more of it. @param expectedBytes undefined where it is not known */
  stage(name: string, expectedBytes: number | undefined): void;
  /** Bytes of the stage so far. */
  bytes(done: number): void;
  /** Something that a person should know. */
  note(text: string): void;
  end(): void;
}

const REDRAW_MS = 200;
const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'] as const;

/** `1.5 GB`; decimal units, as disks have them. */
export function renderBytes(bytes: number): string {
  const place = Math.min(UNITS.length - 1, bytes < 1 ? 0 : Math.floor(Math.log10(bytes) / 3));
  const value = bytes / 1000 ** place;
  return `${value < 10 && place > 0 ? value.toFixed(1) : Math.round(value)} ${UNITS[place] ?? ''}`;
}

/**
 * Progress on standard error: on a terminal one line that is written over, with rate and time left; elsewhere a line for
 * each stage when it is done.
 */
export class TerminalWatch implements BackupWatch {
  #stage:
    { readonly name: string; readonly expected: number | undefined; readonly startedMs: number } | undefined;
  #done = 0;
  #drawnMs = 0;
  #width = 0;

  constructor(
    private readonly out: NodeJS.WriteStream,
    private readonly clock: Clock,
  ) {}

  stage(given: string, expected: number | undefined): void {
    const name = visibleText(given);
    if (this.#stage?.name === name) this.#stage = { ...this.#stage, expected };
    else {
      this.end();
      this.#stage = { name, expected, startedMs: this.clock.monotonicMs() };
      this.#done = 0;
    }
    this.#draw();
  }

  bytes(done: number): void {
    this.#done = done;
    if (this.clock.monotonicMs() - this.#drawnMs >= REDRAW_MS) this.#draw();
  }

  note(text: string): void {
    this.#clear();
    this.out.write(`Note: ${visibleText(text)}\n`);
    this.#draw();
  }

  /** The stage is done: its line stays. */
  end(): void {
    if (!this.#stage) return;
    const { name, startedMs } = this.#stage;
    const seconds = (this.clock.monotonicMs() - startedMs) / 1000;
    this.#clear();
    const bytes = this.#done > 0 ? `${renderBytes(this.#done)} in ` : '';
    this.out.write(`${name}: ${bytes}${seconds.toFixed(1)} s\n`);
    this.#stage = undefined;
  }

  #draw(): void {
    if (!this.#stage || !this.out.isTTY) return;
    this.#drawnMs = this.clock.monotonicMs();
    const line = `  ${this.#line()}`;
    this.out.write(`\r${line.padEnd(this.#width)}`);
    this.#width = line.length;
  }

  #line(): string {
    const { name = '', expected, startedMs = 0 } = this.#stage ?? {};
    const rate = this.#done / Math.max(0.001, (this.clock.monotonicMs() - startedMs) / 1000);
    const so = `${name}: ${renderBytes(this.#done)}`;
    if (expected === undefined || rate < 1) return `${so} …`;
    const left = Math.max(0, Math.round((expected - this.#done) / rate));
    return `${so} of ${renderBytes(expected)}, ${renderBytes(rate)}/s, ${left} s left …`;
  }

  #clear(): void {
    if (this.out.isTTY && this.#width > 0) this.out.write(`\r${' '.repeat(this.#width)}\r`);
    this.#width = 0;
  }
}
