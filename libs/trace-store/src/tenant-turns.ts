import { clientLeft } from '#lib/telemetry';
import { WaitingTurns } from '#lib/turns';

/**
 * Lets tenants take turns at connections. One that holds many, because its batches are large or wait for one another, leaves
 * a share to others: alone it has half of the turns, the next one half of the rest. Who gets none waits.
 */
export class TenantTurns {
  readonly #turns: number;
  readonly #takenBy = new Map<string, number>();
  readonly #waiting = new WaitingTurns<string>();
  #taken = 0;

  constructor(turns: number) {
    this.#turns = turns;
  }

  /** @param left takes work out of its line that nobody waits for any more: its reason is thrown; not once it has begun */
  async run<T>(tenantId: string, work: () => Promise<T>, left?: AbortSignal): Promise<T> {
    if (this.#isFreeFor(tenantId)) this.#change(tenantId, 1);
    else await this.#waiting.wait(tenantId, left);
    try {
      return await work();
    } finally {
      this.#change(tenantId, -1);
      this.#serve();
    }
  }

  #isFreeFor(tenantId: string): boolean {
    return this.#taken + (this.#takenBy.get(tenantId) ?? 0) < this.#turns;
  }

  #serve(): void {
    for (const tenantId of [...this.#waiting.owners()]) {
      if (!this.#isFreeFor(tenantId)) continue;
      this.#change(tenantId, 1);
      this.#waiting.begin(tenantId);
    }
  }

  #change(tenantId: string, by: number): void {
    this.#taken += by;
    const taken = (this.#takenBy.get(tenantId) ?? 0) + by;
    if (taken > 0) this.#takenBy.set(tenantId, taken);
    else this.#takenBy.delete(tenantId);
  }
}

/** What takes turns. */
export type InTurns = Pick<TenantTurns, 'run'>;

/** Reads for requests: those whose clients have gone leave their lines. */
export function readsOfRequests(turns: TenantTurns): InTurns {
  return { run: (tenantId, work) => turns.run(tenantId, work, clientLeft()) };
}
