import type { NotReady } from '#lib/lifecycle';

/** State in which a server takes work: not before its start is complete, and not once it drains. */
export class Readiness {
  #starting: NotReady | undefined = { detail: 'starting' };
  #isDraining = false;
  #isClosing = false;

  /** Reason for which the server takes no new work; undefined while it does. */
  get notReady(): NotReady | undefined {
    return this.#isDraining ? { detail: 'draining' } : this.#starting;
  }

  /**
   * Reason for which no request can be served; undefined from the end of the start until the server closes,
   * also while it drains.
   */
  get notServing(): NotReady | undefined {
    return this.#isClosing ? { detail: 'the server is stopping; retry' } : this.#starting;
  }

  waits(why: NotReady): void {
    this.#starting = why;
  }

  started(): void {
    this.#starting = undefined;
  }

  drain(): void {
    this.#isDraining = true;
  }

  close(): void {
    this.#isClosing = true;
  }
}
