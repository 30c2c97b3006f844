/** Runs that any host is given at once: the smallest machine bears as many, whatever the graphs do. */
const FIRST = 10;

/** Answer time of a quick host: it has begun its runs and waits for something else. */
const QUICK_MS = 100;

/** Timers that are later on average: the host computes. */
const BUSY_LAG_MS = 50;
const OVERLOADED_LAG_MS = 200;

/** Used parts of the heap: no more runs, fewer runs. */
const TIGHT_HEAP = 0.7;
const FULL_HEAP = 0.85;

/** Places count as used from this part on: more of them would change something. */
const IN_USE = 0.75;

export interface HostLoad {
  /** Average delay of its timers. */
  readonly lagMs: number;
  /** Used part of its heap. */
  readonly heapShare: number;
}

/**
 * Number of runs that may be in progress at once. Agents mostly wait for models, hundreds of them in one
 * process; a graph that computes would be slower with each that is beside it. This shows only once the runs
 * are in progress, so runs are given in portions: ten, and twice as many each time that the host answers a
 * question within 100 ms while all places are used. Late timers and a full heap take places away, down to
 * those ten; places that stayed unused for a while are given anew in the same way.
 */
export class RunCapacity {
  #places: number;
  #load: HostLoad = { lagMs: 0, heapShare: 0 };

  constructor(private readonly most: number) {
    this.#places = Math.min(FIRST, most);
  }

  get places(): number {
    return this.#places;
  }

  /** Takes the answer of a host that was given runs. @returns true when there are more places now */
  answered(afterMs: number, used: number): boolean {
    if (afterMs > QUICK_MS || !this.#isFree || used < this.#places * IN_USE) return false;
    return this.#set(this.#places * 2);
  }

  /**
   * Takes the report that a host sends a few times a second: it may be older than the runs that the host was
   * given, and adds none.
   */
  reported(load: HostLoad, used: number): void {
    this.#load = load;
    if (load.lagMs > OVERLOADED_LAG_MS || load.heapShare > FULL_HEAP)
      this.#set(Math.min(this.#places, used) * 0.75);
    else if (used < this.#places / 2) this.#set(this.#places * 0.9);
  }

  get #isFree(): boolean {
    return this.#load.lagMs <= BUSY_LAG_MS && this.#load.heapShare <= TIGHT_HEAP;
  }

  #set(places: number): boolean {
    const before = this.#places;
    this.#places = Math.min(this.most, Math.max(Math.min(FIRST, this.most), Math.floor(places)));
    return this.#places > before;
  }
}
