import type { Clock } from '#lib/time';
import type { LoadPlace } from '../graph/load-progress.js';
import type { LoadOrder, ThreadReport } from '../protocol/messages.js';

/** Last report of a host about the graph that it loads, with the time since that graph was begun. */
export class LoadView {
  #place: LoadPlace | undefined;
  #hang: string | undefined;
  #sinceMs = 0;

  constructor(
    private readonly order: Pick<LoadOrder, 'folder' | 'module'>,
    private readonly clock: Clock,
  ) {}

  see(place: LoadPlace): void {
    if (place.graphId !== this.#place?.graphId) this.#sinceMs = this.clock.monotonicMs();
    this.#place = place;
    this.#hang = undefined;
  }

  /** The host executes this and nothing else. */
  seeHang(at: string): void {
    this.#hang = at;
  }

  /** Files by their names in the agent's folder, as their author knows them. */
  inFolder(text: string): string {
    const { folder } = this.order;
    return text.replaceAll(`file://${folder}/`, '').replaceAll(`${folder}/`, '');
  }

  describe(): string {
    if (!this.#place) return 'starting';
    const { graphId, file, waitsFor } = this.#place;
    const seconds = Math.floor((this.clock.monotonicMs() - this.#sinceMs) / 1000);
    const waits = waitsFor.length === 0 ? '' : `, which waits for ${waitsFor.join(' and ')}`;
    const hangs = this.#hang === undefined ? waits : `, which executes ${this.#hang}`;
    return this.inFolder(
      `${this.order.module ? '' : 'graph '}"${graphId}" has been loading for ${seconds} s; it is in ${file}${hangs}`,
    );
  }
}

/** Waiting time after which the threads are assumed not to come back. */
const LONG_MS = 30_000;

/**
 * Use of the threads of plain functions in a Python process, as it reports it. A thread cannot be ended: a
 * call that its caller gave up holds one until its function returns, which without a time limit may be never.
 */
export class ThreadView {
  #last: ThreadReport | undefined;
  #stuckFromMs: number | undefined;
  #waitsFromMs: number | undefined;
  #seenAtMs = 0;
  #starvedFromMs: number | undefined;

  constructor(private readonly clock: Clock) {}

  see(report: ThreadReport): void {
    const { most, waiting, givenUp } = report;
    const nowMs = this.clock.monotonicMs();
    this.#last = report;
    this.#seenAtMs = nowMs;
    this.#waitsFromMs = waiting > 0 ? (this.#waitsFromMs ?? nowMs) : undefined;
    if (givenUp >= most) this.#stuckFromMs ??= nowMs;
    // one that ends now and then does not help: the next call may take its place
    else if (givenUp < most / 2) this.#stuckFromMs = undefined;
    if (givenUp < most) this.#starvedFromMs = undefined;
    // waiters that left were not served: the time continues
    else if (waiting > 0) this.#starvedFromMs ??= nowMs;
  }

  /** Milliseconds since calls that were given up held all threads; 0 once they hold less than half of them. */
  get stuckMs(): number {
    return this.#stuckFromMs === undefined ? 0 : this.clock.monotonicMs() - this.#stuckFromMs;
  }

  /**
   * Milliseconds, up to the last report, since a call came to wait while calls that were given up held all threads, as
   * they do still; undefined otherwise.
   */
  get starvedMs(): number | undefined {
    return this.#starvedFromMs === undefined ? undefined : this.#seenAtMs - this.#starvedFromMs;
  }

  /** Message when calls whose callers gave up hold half of the threads or more. */
  describeStuck(what: string): string | undefined {
    if (!this.#last || this.#last.givenUp < this.#last.most / 2) return undefined;
    const { most, givenUp } = this.#last;
    return `${givenUp} of ${most} threads hold ${what} that did not end in time; set a time limit for what they call`;
  }

  /** Message when calls have waited for a thread for half a minute, whichever calls they were. */
  describeWaiting(what: string): string | undefined {
    if (!this.#last || this.#waitsFromMs === undefined) return undefined;
    const waitsMs = this.clock.monotonicMs() - this.#waitsFromMs;
    if (waitsMs < LONG_MS) return undefined;
    const { most, waiting, givenUp } = this.#last;
    const ended = givenUp > 0 ? `, ${givenUp} of which belong to runs that ended` : '';
    return `${waiting} ${what} wait for one of ${most} threads, for ${Math.floor(waitsMs / 1000)} s now; all threads are held by others${ended}; make them async or set a time limit for what they call`;
  }
}
