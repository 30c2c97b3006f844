import type { IngestProblem } from './ingest-problems.js';

type Refusal = Pick<IngestProblem, 'type' | 'message'>;

/** A refusal, and how often it happened. */
export type CountedRefusal = Refusal & { readonly times: number };

/** Refusals of one sender that are written together. */
interface Collected {
  readonly refusals: CountedRefusal[];
  readonly written: Promise<void>;
}

/** Number of the newest refusals that are kept apart; of the others only the counts are kept. */
const TOLD_APART = 100;

/**
 * Writes the refusals of a tenant one batch at a time: all of them change the same row, and each would hold a
 * connection while it waits for the one before. Refusals that come meanwhile are batched.
 */
export class RefusalLine {
  readonly #collecting = new Map<string, Collected>();
  /** The last set of each tenant, until it is written. */
  readonly #last = new Map<string, Promise<void>>();

  /** @param write must not fail */
  constructor(
    private readonly write: (
      tenantId: string,
      refusals: readonly CountedRefusal[],
      own: string | undefined,
    ) => Promise<void>,
  ) {}

  /** Done when it is written. */
  add(tenantId: string, refusal: Refusal, own: string | undefined): Promise<void> {
    const sender = JSON.stringify([tenantId, own]);
    const { refusals, written } = this.#collecting.get(sender) ?? this.#open(tenantId, sender, own);
    const { type, message } = refusal;
    const same = refusals.findIndex((one) => one.type === type && one.message === message);
    const at =
      same < 0 && refusals.length >= TOLD_APART ? refusals.findIndex((one) => one.type === type) : same;
    const [before] = at < 0 ? [] : refusals.splice(at, 1);
    refusals.push({ type, message, times: (before?.times ?? 0) + 1 });
    return written;
  }

  #open(tenantId: string, sender: string, own: string | undefined): Collected {
    const refusals: CountedRefusal[] = [];
    const written = (this.#last.get(tenantId) ?? Promise.resolve())
      .then(() => {
        this.#collecting.delete(sender);
        return this.write(tenantId, refusals, own);
      })
      .finally(() => {
        if (this.#last.get(tenantId) === written) this.#last.delete(tenantId);
      });
    this.#last.set(tenantId, written);
    const collected = { refusals, written };
    this.#collecting.set(sender, collected);
    return collected;
  }
}
