import { WaitingLines } from '#lib/turns';

/**
 * Lets tenants take turns at connections. One that holds many, because its batches are large or wait for one another, leaves
 * a share to others: alone it has half of the turns, the next one half of the rest. Who gets none waits.
 */
export class TenantTurns {
  readonly #turns: number;
  readonly #takenBy = new Map<string, number>();
  readonly #waiting = new WaitingLines<string, () => void>();
  #taken = 0;

  constructor(turns: number) {
    this.#turns = turns;
  }

  async run<T>(tenantId: string, work: () => Promise<T>): Promise<T> {
    if (this.#isFreeFor(tenantId)) this.#change(tenantId, 1);
    else await this.#wait(tenantId);
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

  #wait(tenantId: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.join(tenantId, resolve);
    return promise;
  }

  #serve(): void {
    for (const [tenantId, begin] of [...this.#waiting.firsts()]) {
      if (!this.#isFreeFor(tenantId)) continue;
      this.#waiting.serve(tenantId);
      this.#change(tenantId, 1);
      begin();
    }
  }

  #change(tenantId: string, by: number): void {
    this.#taken += by;
    const taken = (this.#takenBy.get(tenantId) ?? 0) + by;
    if (taken > 0) this.#takenBy.set(tenantId, taken);
    else this.#takenBy.delete(tenantId);
  }
}
