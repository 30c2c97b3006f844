import { createHash } from 'node:crypto';
import type { Clock } from '#lib/time';

/** The longest unused are forgotten. */
const MAX_KEPT = 10_000;
const KEPT_MS = 3_600_000;

/** Credentials that were let in lately, by hash, so that none stays in memory. Those that were refused never enter. */
export class GoodCallers {
  readonly #since = new Map<string, number>();

  constructor(private readonly clock: Clock) {}

  has(credentials: string): boolean {
    const since = this.#since.get(hashOf(credentials));
    return since !== undefined && this.clock.monotonicMs() - since < KEPT_MS;
  }

  keep(credentials: string): void {
    const hash = hashOf(credentials);
    this.#since.delete(hash);
    this.#since.set(hash, this.clock.monotonicMs());
    const [oldest] = this.#since.keys();
    if (this.#since.size > MAX_KEPT && oldest !== undefined) this.#since.delete(oldest);
  }

  forget(credentials: string): void {
    this.#since.delete(hashOf(credentials));
  }
}

function hashOf(credentials: string): string {
  return createHash('sha256').update(credentials).digest('base64');
}
