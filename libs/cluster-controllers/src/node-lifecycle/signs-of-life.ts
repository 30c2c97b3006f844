import type { Clock } from '#lib/time';
import { GRACE_MS } from './decide-node-health.js';

interface Sign {
  readonly value: string;
  /** Time awake when it was seen first. */
  readonly seenAtMs: number;
}

/**
 * Time for which nodes have been silent, by our own count of the time that we were awake. A machine that
 * slept, or was stopped, wakes with every lease expired: that silence is ours and not the nodes'.
 */
export class SignsOfLife {
  readonly #clock: Clock;
  readonly #signs = new Map<string, Sign>();
  #lookedAtMs: number;
  #awakeMs = 0;
  #wokeAtMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lookedAtMs = clock.monotonicMs();
  }

  /** To be called every few seconds; a longer gap than a lease was a suspension, and every node gets a whole lease to report. */
  look(): void {
    const now = this.#clock.monotonicMs();
    const gapMs = now - this.#lookedAtMs;
    this.#lookedAtMs = now;
    if (gapMs <= GRACE_MS / 2) {
      this.#awakeMs += gapMs;
      return;
    }
    this.#signs.clear();
    this.#wokeAtMs = this.#awakeMs;
  }

  /**
   * True for one lease after waking (or starting), in which no pod is evicted: a node that was marked before
   * may be waking, too.
   */
  get hasJustWoken(): boolean {
    return this.#awakeMs - this.#wokeAtMs <= GRACE_MS;
  }

  /** Milliseconds awake since the node's sign (the time of its lease, the heartbeat of its status) changed last. */
  silentMs(nodeName: string, sign: string): number {
    const known = this.#signs.get(nodeName);
    if (known?.value === sign) return this.#awakeMs - known.seenAtMs;
    this.#signs.set(nodeName, { value: sign, seenAtMs: this.#awakeMs });
    return 0;
  }

  forget(nodeName: string): void {
    this.#signs.delete(nodeName);
  }
}
