import { PublicError } from '#lib/errors';

export interface PlaceLimits {
  /** In this process. */
  readonly most: number;
  readonly mostOfTenant: number;
  /** What a caller is told when all are taken. */
  readonly busy: string;
}

/** How many requests of a costly kind are under way at once. */
export class TenantPlaces {
  readonly #limits: PlaceLimits;
  readonly #takenBy = new Map<string, number>();
  #taken = 0;

  constructor(limits: PlaceLimits) {
    this.#limits = limits;
  }

  /**
   * @returns gives the place back; calling it again does nothing
   * @throws PublicError too_many
   */
  take(tenantId: string): () => void {
    const { most, mostOfTenant, busy } = this.#limits;
    const own = this.#takenBy.get(tenantId) ?? 0;
    if (own >= mostOfTenant || this.#taken >= most)
      throw new PublicError('too_many', busy, [], { retryAfterSeconds: 1 });
    this.#change(tenantId, 1);
    let isTaken = true;
    return () => {
      if (isTaken) this.#change(tenantId, -1);
      isTaken = false;
    };
  }

  #change(tenantId: string, by: 1 | -1): void {
    this.#taken += by;
    const own = (this.#takenBy.get(tenantId) ?? 0) + by;
    if (own > 0) this.#takenBy.set(tenantId, own);
    else this.#takenBy.delete(tenantId);
  }
}
