import type { EncodedEvent, RunEvent } from '../stream/run-event.js';
import { type CursorLog, LogCursor, type ReadFrom } from './log-cursor.js';
import { LoggedEvent, BEGINNING, isAfter, type Position } from './logged-event.js';

/** Number of taken items below which the rest is not copied. */
const MIN_TAKEN = 1024;

/** Queue taken off at the front: in constant time for any length, unlike `Array.shift`. */
class FrontQueue<T> {
  #items: (T | undefined)[] = [];
  #taken = 0;

  get length(): number {
    return this.#items.length - this.#taken;
  }

  at(index: number): T | undefined {
    return index < 0 ? undefined : this.#items[this.#taken + index];
  }

  push(item: T): void {
    this.#items.push(item);
  }

  takeFirst(): T | undefined {
    if (this.length === 0) return undefined;
    const first = this.#items[this.#taken];
    this.#items[this.#taken++] = undefined;
    // each item is copied once for each time that the same number was taken off
    if (this.#taken >= MIN_TAKEN && this.#taken * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#taken);
      this.#taken = 0;
    }
    return first;
  }

  /**
   * Index of the first item for which the predicate is true; it is true of all after it. The length if of
   * none.
   */
  firstWhere(isTrue: (item: T) => boolean): number {
    let from = 0;
    let to = this.length;
    while (from < to) {
      const middle = (from + to) >>> 1;
      const item = this.at(middle);
      if (item !== undefined && isTrue(item)) to = middle;
      else from = middle + 1;
    }
    return from;
  }
}

/** End of a run, for those who wait. */
export interface RunResult {
  /** JSON text: the last values, or `{"__error__": {error, message}}`. */
  readonly body: string;
  /** The end is known, but not all output before it: it was made at a server that is gone. */
  readonly lacksOutput?: true;
}

export interface EventLogOptions {
  /** Bytes above which the oldest events are dropped, unless a reader is about to take them. */
  readonly maxBytes: number;
  /**
   * Patience with readers: events of a reader that took something a moment ago are kept above the limit too.
   * Without it, no reader's are.
   */
  readonly patience?: Patience;
  /** Learns of every change of its size. */
  readonly onChange?: (change: number) => void;
  /** Learns that output is kept or waited for now, or no more. */
  readonly onWanted?: () => void;
}

/** Result for a waiter that joined while the log was forgotten. */
const FORGOTTEN = JSON.stringify({
  __error__: {
    error: 'OutputLost',
    message: 'The result of this run is no longer kept; read the state of its thread',
  },
});

/** Time for which a reader that lags counts as active. */
export interface Patience {
  readonly ms: number;
  readonly nowMs: () => number;
}

/**
 * The newest output of one run: appended by the process that performs or follows the run, read by any number
 * of cursors. A slow reader costs its position; events that it has not taken when the log is full are gone
 * for it, and it learns that: at once when it takes nothing, later when it reads and only lags. The newest
 * event stays whatever its size, so that an event of any size reaches an active reader.
 *
 * The essential methods are `append`, `read(from)` and `end(result)`; the rest reports the state of the log.
 */
export class EventLog implements CursorLog {
  #events = new FrontQueue<LoggedEvent>();
  /** Number of events that were dropped: the index of the first one that is here. */
  #dropped = 0;
  #bytes = 0;
  /**
   * Position after which every event that this log got is here. Undefined: the start of the log is not known
   * yet.
   */
  #before: Position | undefined = BEGINNING;
  #last: Position | undefined = BEGINNING;
  #opening: RunEvent | undefined;
  #result: RunResult | undefined;
  /** Bytes of the result, which may be as large as all output. */
  #resultBytes = 0;
  #isRecording = false;
  /** Events of this iteration of the event loop are kept: no reader could take them yet. */
  #firstOfTurn: number | undefined;
  readonly #cursors = new Set<LogCursor>();
  readonly #waiters = new Set<(result: RunResult) => void>();

  constructor(
    readonly name: string,
    private readonly options: EventLogOptions,
  ) {}

  /** Events are kept from now on; before, they are counted only. */
  record(): void {
    if (this.#isRecording) return;
    this.#isRecording = true;
    this.options.onWanted?.();
  }

  /** Keeps no output any more. */
  stopRecording(): void {
    this.#isRecording = false;
    this.options.onWanted?.();
    this.clear();
  }

  /**
   * Keeps no output any more. Readers that have not taken everything are behind. The result is left to the
   * holders of this log, such as a reader that joins at this moment: it is not counted any more.
   */
  forget(): void {
    this.#grow(-this.#resultBytes);
    this.#resultBytes = 0;
    this.stopRecording();
  }

  /** Forgets the result too, though readers hold this log: they take nothing. */
  forgetResult(): void {
    if (this.#result) this.#result = { ...this.#result, body: FORGOTTEN };
  }

  get isRecording(): boolean {
    return this.#isRecording;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Position of the newest event; undefined when the start of the log is not known. */
  get last(): Position | undefined {
    return this.#last;
  }

  /** Everything after this position is here. */
  get before(): Position | undefined {
    return this.#before;
  }

  get result(): RunResult | undefined {
    return this.#result;
  }

  get readers(): number {
    return this.#cursors.size;
  }

  /** True when a reader took an event a moment ago. */
  get isRead(): boolean {
    const { patience } = this.options;
    if (!patience) return this.#cursors.size > 0;
    const sinceMs = patience.nowMs() - patience.ms;
    for (const { tookMs } of this.#cursors) if (tookMs !== undefined && tookMs >= sinceMs) return true;
    return false;
  }

  get isAwaited(): boolean {
    return this.#waiters.size > 0;
  }

  /** Opens an attempt; its opening is also the first event that later readers get. */
  open(attempt: number, opening: RunEvent): LoggedEvent | undefined {
    this.#opening = opening;
    return this.#add(opening, { attempt, n: 0 });
  }

  /** Sets the event that readers of an attempt elsewhere get first. */
  describe(opening: RunEvent): void {
    this.#opening = opening;
  }

  /**
   * Appends the next event.
   * @param position its position, when another server made it; the next one by default
   * @returns undefined when nothing is recorded
   */
  append(event: RunEvent | EncodedEvent, position?: Position): LoggedEvent | undefined {
    if (this.#result || (!position && !this.#isRecording)) return undefined;
    const { attempt, n } = this.#last ?? BEGINNING;
    return this.#add(event, position ?? { attempt, n: n + 1 });
  }

  #add(event: RunEvent | EncodedEvent, position: Position): LoggedEvent | undefined {
    if (this.#result) return undefined;
    this.#last = position;
    if (!this.#isRecording) {
      this.#before = position;
      return undefined;
    }
    this.#before ??= { ...position, n: position.n - 1 };
    this.#noteWhoLags();
    const logged = new LoggedEvent(event, position);
    this.#events.push(logged);
    logged.keep();
    this.#grow(logged.bytes);
    this.#trim();
    for (const cursor of this.#cursors) cursor.onMore();
    return logged;
  }

  /** The rest is everything: readers end once they have taken it. */
  end(result: RunResult): void {
    if (this.#result) return;
    this.#result = result;
    this.#resultBytes = Buffer.byteLength(result.body);
    this.#grow(this.#resultBytes);
    for (const cursor of this.#cursors) cursor.onMore();
    for (const waiter of this.#waiters) waiter(result);
    this.#waiters.clear();
  }

  /** Answers a function that stops the waiting. */
  whenEnded(waiter: (result: RunResult) => void): () => void {
    if (this.#result) waiter(this.#result);
    else this.#waiters.add(waiter);
    this.options.onWanted?.();
    return () => {
      if (this.#waiters.delete(waiter)) this.options.onWanted?.();
    };
  }

  /** Reads from a place on; `onMore` is called when there may be more to take. */
  read(from: ReadFrom, onMore: () => void): LogCursor {
    this.record();
    const cursor = new LogCursor(this, from, onMore);
    this.#cursors.add(cursor);
    return cursor;
  }

  close(cursor: LogCursor): void {
    this.#cursors.delete(cursor);
  }

  /**
   * Event that a reader which begins after `position` gets first, so that it knows the run and the attempt.
   */
  openingAt(position: Position | undefined): LoggedEvent | undefined {
    return this.#opening && new LoggedEvent(this.#opening, position ?? BEGINNING, position ? undefined : '');
  }

  /** The events that are here and come after a position: all of them, or the first up to some bytes, one at least. */
  after(position: Position, maxBytes = Infinity): readonly LoggedEvent[] {
    const found: LoggedEvent[] = [];
    let bytes = 0;
    for (let at = this.#events.firstWhere((event) => isAfter(event.position, position)); ; at++) {
      const event = this.#events.at(at);
      if (!event || ((bytes += event.bytes) > maxBytes && found.length > 0)) return found;
      found.push(event);
    }
  }

  /** Undefined without patience. */
  get nowMs(): number | undefined {
    return this.options.patience?.nowMs();
  }

  get firstIndex(): number {
    return this.#dropped;
  }

  at(index: number): LoggedEvent | undefined {
    return this.#events.at(index - this.#dropped);
  }

  /** Forgets its events and begins after `position`; undefined: with the next event there is. */
  restart(position: Position | undefined): void {
    this.clear();
    this.#before = position;
    this.#last = position;
    // a reader at an earlier position has events to find elsewhere
    for (const cursor of this.#cursors) cursor.onMore();
  }

  /** Drops its events; readers that have not taken them are behind. */
  clear(): void {
    const events = this.#events;
    this.#dropped += events.length;
    this.#events = new FrontQueue();
    this.#before = this.#last;
    this.#grow(this.#resultBytes - this.#bytes);
    for (let event = events.takeFirst(); event; event = events.takeFirst()) event.drop();
  }

  /**
   * Drops the oldest event, unless it is the newest or of this iteration of the event loop. Answers whether
   * it did.
   */
  dropOldest(): boolean {
    const oldest = this.#events.at(0);
    if (!oldest || this.#events.length === 1 || this.#dropped >= (this.#firstOfTurn ?? Infinity))
      return false;
    this.#events.takeFirst();
    this.#dropped++;
    this.#before = oldest.position;
    this.#grow(-oldest.bytes);
    oldest.drop();
    return true;
  }

  /** Readers that have taken everything begin to lag with the next event. */
  #noteWhoLags(): void {
    const { patience } = this.options;
    if (!patience || this.#cursors.size === 0) return;
    const nowMs = patience.nowMs();
    const end = this.#dropped + this.#events.length;
    for (const cursor of this.#cursors) if (cursor.index >= end) cursor.tookMs = nowMs;
  }

  /** A reader that takes one event after the other comes to the oldest soon. */
  get #isOldestAwaited(): boolean {
    const { patience } = this.options;
    if (!patience) return false;
    const sinceMs = patience.nowMs() - patience.ms;
    for (const { index, tookMs } of this.#cursors)
      if (index <= this.#dropped && tookMs !== undefined && tookMs >= sinceMs) return true;
    return false;
  }

  #trim(): void {
    if (this.#firstOfTurn === undefined) {
      this.#firstOfTurn = this.#dropped + this.#events.length - 1;
      setImmediate(() => (this.#firstOfTurn = undefined));
    }
    while (this.#bytes > this.options.maxBytes && !this.#isOldestAwaited && this.dropOldest());
  }

  #grow(change: number): void {
    if (change === 0) return;
    this.#bytes += change;
    this.options.onChange?.(change);
  }
}
