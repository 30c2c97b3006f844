import { PublicError } from '#lib/errors';

/**
 * One queue for each owner, served round-robin: an owner with a long queue delays the others by one item at a time. The
 * caller decides which item is served and when.
 */
export class OwnerQueues<Owner, Item> {
  /** Holds no empty queue. The owner served longest ago comes first. */
  readonly #queues = new Map<Owner, Item[]>();

  lengthOf(owner: Owner): number {
    return this.#queues.get(owner)?.length ?? 0;
  }

  first(owner: Owner): Item | undefined {
    return this.#queues.get(owner)?.[0];
  }

  /**
   * The next item of each queue, beginning with the owner served longest ago. An owner served during the iteration comes
   * again at its end.
   */
  *firsts(): IterableIterator<readonly [owner: Owner, first: Item]> {
    for (const [owner, [first]] of this.#queues) if (first !== undefined) yield [owner, first];
  }

  join(owner: Owner, item: Item): void {
    const queue = this.#queues.get(owner);
    if (queue) queue.push(item);
    else this.#queues.set(owner, [item]);
  }

  /** Takes the first item out of a queue and moves the queue behind all others. */
  serve(owner: Owner): Item | undefined {
    const queue = this.#queues.get(owner);
    const first = queue?.shift();
    this.#queues.delete(owner);
    if (queue && queue.length > 0) this.#queues.set(owner, queue);
    return first;
  }

  /** @returns false when the item was served already */
  leave(owner: Owner, item: Item): boolean {
    const queue = this.#queues.get(owner) ?? [];
    const at = queue.indexOf(item);
    if (at < 0) return false;
    queue.splice(at, 1);
    if (queue.length === 0) this.#queues.delete(owner);
    return true;
  }
}

/** Limits in units: a number of requests, or bytes. */
export interface AdmissionLimits {
  /** Units of all owners together. */
  readonly capacity: number;
  /** Units of one owner; default all. */
  readonly perOwner?: number;
  /**
   * Leaves each owner half of what the others leave: alone it gets half of the capacity, the next owner half of the rest.
   * An owner that holds its units for minutes does not shut out the others.
   */
  readonly halves?: boolean;
  /** Units beyond the capacity, for owners that hold fewer than `perOwner` of it: late ones are not shut out. */
  readonly reserve?: { readonly perOwner: number; readonly units: number };
  /** Message of a refusal. */
  readonly refusal?: string;
}

/** Units that one request holds. */
export interface Place {
  readonly units: number;
  /** Adds units. @throws PublicError `too_many` when they do not fit */
  hold(units: number): void;
  /** Gives back all but so many units. */
  keep(units: number): void;
  /** Gives back all units; repeated calls do nothing. */
  release(): void;
}

export interface WaitOptions {
  /** Default 1. */
  readonly units?: number;
  /** Ends the wait with its reason; without effect once the request was admitted. */
  readonly signal?: AbortSignal | undefined;
  /** Serves the request before those of all owners, and leaves `perOwner` out. */
  readonly isUrgent?: boolean;
}

interface OpenPlace extends Place {
  /** Adds units that were found to fit. */
  readonly add: (units: number) => void;
}

interface Waiting {
  readonly place: OpenPlace;
  readonly units: number;
  readonly begin: () => void;
}

const URGENT = Symbol('urgent');

/**
 * Shares units among owners. A request that does not fit is refused (`tryEnter`, `require`, `open`) or waits (`enter`,
 * `run`); owners that wait are served round-robin. A request of any size is admitted while nothing else is held. An
 * undefined owner has no limit of its own.
 */
export class Admission<Owner = string> {
  readonly #heldBy = new Map<Owner, number>();
  readonly #waiting = new OwnerQueues<Owner | undefined | typeof URGENT, Waiting>();
  #held = 0;
  /** True while a request waits for capacity that others must not take from it. */
  #isBlocked = false;

  constructor(private readonly limits: AdmissionLimits) {}

  get held(): number {
    return this.#held;
  }

  heldBy(owner: Owner): number {
    return this.#heldBy.get(owner) ?? 0;
  }

  /** Requests of an owner that wait. */
  waitingOf(owner: Owner | undefined): number {
    return this.#waiting.lengthOf(owner);
  }

  /** @param perOwner in place of the limit of every owner */
  tryEnter(owner?: Owner, units = 1, perOwner = this.limits.perOwner): Place | undefined {
    if (this.#isBlocked || !this.#fits(owner, units, { perOwner })) return undefined;
    const place = this.#place(owner);
    place.add(units);
    return place;
  }

  /** @throws PublicError `too_many` */
  require(owner?: Owner, units = 1): Place {
    const place = this.open(owner);
    place.hold(units);
    return place;
  }

  /** A place without units, for a request whose size becomes known later. */
  open(owner?: Owner): Place {
    return this.#place(owner);
  }

  /** @throws the reason of the signal when it is aborted before the request is admitted */
  async enter(owner: Owner | undefined, options: WaitOptions = {}): Promise<Place> {
    return this.#enterNow(owner, options) ?? (await this.#wait(owner, options));
  }

  /** Performs work in a place of one unit. @throws the errors of `enter` and of the work */
  async run<T>(owner: Owner | undefined, work: () => Promise<T>, options: WaitOptions = {}): Promise<T> {
    const place = this.#enterNow(owner, options) ?? (await this.#wait(owner, options));
    try {
      return await work();
    } finally {
      place.release();
    }
  }

  #enterNow(owner: Owner | undefined, { units = 1, signal, isUrgent }: WaitOptions): Place | undefined {
    signal?.throwIfAborted();
    return this.tryEnter(isUrgent ? undefined : owner, units);
  }

  async #wait(owner: Owner | undefined, { units = 1, signal, isUrgent }: WaitOptions): Promise<Place> {
    const place = this.#place(isUrgent ? undefined : owner);
    const queue = isUrgent ? URGENT : owner;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = { place, units, begin: resolve };
    const leave = (): void => {
      if (!this.#waiting.leave(queue, waiting)) return;
      reject(signal?.reason as Error);
      this.#serve();
    };
    signal?.addEventListener('abort', leave, { once: true });
    this.#waiting.join(queue, waiting);
    this.#serve();
    await promise.finally(() => signal?.removeEventListener('abort', leave));
    return place;
  }

  #place(owner: Owner | undefined): OpenPlace {
    let own = 0;
    const add = (units: number): void => {
      own += units;
      this.#change(owner, units);
    };
    const keep = (units: number): void => {
      if (units < own) add(units - own);
    };
    return {
      get units() {
        return own;
      },
      add,
      hold: (units) => {
        if (!this.#fits(owner, units, { own })) throw this.#refusal();
        add(units);
      },
      keep,
      release: () => keep(0),
    };
  }

  #refusal(): PublicError {
    const { refusal = 'Too many requests at once' } = this.limits;
    return new PublicError('too_many', refusal, [], { retryAfterSeconds: 1 });
  }

  /** @param own units that the asking request holds already */
  #fits(
    owner: Owner | undefined,
    units: number,
    {
      own = 0,
      perOwner = this.limits.perOwner ?? Infinity,
    }: { own?: number; perOwner?: number | undefined } = {},
  ): boolean {
    return this.#fitsCapacity(owner, units, own) && this.#fitsOwner(owner, units, own, perOwner);
  }

  #fitsCapacity(owner: Owner | undefined, units: number, own: number): boolean {
    const { capacity, reserve } = this.limits;
    const isFew = reserve !== undefined && owner !== undefined && this.heldBy(owner) < reserve.perOwner;
    return this.#held === own || this.#held + units <= capacity + (isFew ? reserve.units : 0);
  }

  #fitsOwner(owner: Owner | undefined, units: number, own: number, perOwner: number): boolean {
    if (owner === undefined || this.#held === own) return true;
    const { capacity, halves = false } = this.limits;
    const ofOwner = this.heldBy(owner);
    if (halves && this.#held + ofOwner + units > capacity) return false;
    return ofOwner === own || ofOwner + units <= perOwner;
  }

  #change(owner: Owner | undefined, units: number): void {
    this.#held += units;
    if (owner !== undefined) {
      const ofOwner = this.heldBy(owner) + units;
      if (ofOwner > 0) this.#heldBy.set(owner, ofOwner);
      else this.#heldBy.delete(owner);
    }
    if (units < 0) this.#serve();
  }

  /** Stops at the first request that the capacity does not hold, so that smaller ones do not starve it. */
  #serve(): void {
    this.#isBlocked = false;
    for (const [queue, { place, units, begin }] of this.#inOrder()) {
      const owner = queue === URGENT ? undefined : queue;
      this.#isBlocked = !this.#fitsCapacity(owner, units, 0);
      if (this.#isBlocked) return;
      if (!this.#fits(owner, units)) continue;
      this.#waiting.serve(queue);
      place.add(units);
      begin();
    }
  }

  *#inOrder(): IterableIterator<readonly [queue: Owner | undefined | typeof URGENT, waiting: Waiting]> {
    for (let urgent; (urgent = this.#waiting.first(URGENT));) yield [URGENT, urgent];
    yield* this.#waiting.firsts();
  }
}
