import { type LoggedEvent, isAfter, type Position } from './logged-event.js';

/** Start of a reader. */
export type ReadFrom =
  | { readonly kind: 'now' } // output from now on, after the opening of the attempt
  | { readonly kind: 'kept' } // everything that is still kept
  | { readonly kind: 'after'; readonly position: Position };

/**
 * `waiting`: more may come; `behind`: the next event is no longer here; `ended`: everything was taken.
 */
export type CursorState = 'waiting' | 'behind' | 'ended';

/** Log as a cursor sees it. */
export interface CursorLog {
  /** Index of the first event that is here, counted from the beginning of the log. */
  readonly firstIndex: number;
  at(index: number): LoggedEvent | undefined;
  /** Position after which every event is here; undefined when the start of the log is not known. */
  readonly before: Position | undefined;
  /** Position of the newest event; undefined when the start of the log is not known. */
  readonly last: Position | undefined;
  /** Present once the log has ended. */
  readonly result: object | undefined;
  /**
   * Event that a reader which begins after `position` gets first, so that it knows the run and the attempt.
   */
  openingAt(position: Position | undefined): LoggedEvent | undefined;
  /** Undefined without patience. */
  readonly nowMs: number | undefined;
  close(cursor: LogCursor): void;
}

/** Position of one reader. */
export class LogCursor {
  /** Time at which it took an event last, or began to lag. */
  tookMs: number | undefined;
  #index: number;
  #position: Position | undefined;
  #opening: LoggedEvent | undefined;
  /** True while the start of the log is not known: it gets an opening before the first event. */
  #awaitsOpening = false;

  constructor(
    private readonly log: CursorLog,
    from: ReadFrom,
    readonly onMore: () => void,
  ) {
    this.#index = log.firstIndex;
    this.tookMs = log.nowMs;
    if (from.kind === 'after') {
      this.#position = from.position;
      return;
    }
    this.#position = from.kind === 'kept' ? log.before : log.last;
    // one that begins with the opening of an attempt gets it anyway
    if (from.kind === 'now' || log.at(this.#index)?.position.n !== 0)
      this.#opening = log.openingAt(this.#position);
    this.#awaitsOpening = from.kind === 'now' && !this.#position && !this.#opening;
  }

  /** Number of the next event to take, counted from the beginning of the log. */
  get index(): number {
    return this.#index;
  }

  /** The last position taken; undefined when the start of the log is not known. */
  get position(): Position | undefined {
    return this.#position;
  }

  /** Continues after a position that was read elsewhere. */
  moveTo(position: Position): void {
    this.#position = position;
  }

  get state(): CursorState {
    if (this.#isBehind) return 'behind';
    if (this.log.result && !this.#opening && !this.#next()) return 'ended';
    return 'waiting';
  }

  /** The next event; without one, `state` says why. */
  take(): LoggedEvent | undefined {
    if (this.#opening) {
      const opening = this.#opening;
      this.#opening = undefined;
      return opening;
    }
    if (this.#isBehind) return undefined;
    const next = this.#next();
    if (next && this.#awaitsOpening) {
      this.#awaitsOpening = false;
      const { attempt, n } = next.position;
      const late = n > 0 && this.log.openingAt({ attempt, n: n - 1 });
      if (late) return late;
    }
    if (next) {
      this.#index++;
      this.#position = next.position;
      this.tookMs = this.log.nowMs;
    }
    return next;
  }

  close(): void {
    this.log.close(this);
  }

  get #isBehind(): boolean {
    const { before } = this.log;
    return before !== undefined && this.#position !== undefined && isAfter(before, this.#position);
  }

  #next(): LoggedEvent | undefined {
    this.#index = Math.max(this.#index, this.log.firstIndex);
    for (;;) {
      const event = this.log.at(this.#index);
      if (!event || !this.#position || isAfter(event.position, this.#position)) return event;
      this.#index++;
    }
  }
}
