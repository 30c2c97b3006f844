import type { EncodedEvent, RunEvent } from '../stream/run-event.js';

/**
 * Position of an event in the output of a run: the same at every server and for every reader, and never given
 * twice. `n` counts the events of one attempt from 0, which is its opening.
 */
export interface Position {
  readonly attempt: number;
  readonly n: number;
}

/** Position before all events. */
export const BEGINNING: Position = { attempt: 0, n: 0 };

export function isAfter(one: Position, other: Position): boolean {
  return one.attempt === other.attempt ? one.n > other.n : one.attempt > other.attempt;
}

export function earlier(one: Position, other: Position): Position {
  return isAfter(one, other) ? other : one;
}

/**
 * Returns true when no event can be missing between the two: the next of its attempt, or the opening of a
 * later one.
 */
export function isNext(position: Position, before: Position): boolean {
  return position.attempt === before.attempt
    ? position.n === before.n + 1
    : position.attempt > before.attempt && position.n === 0;
}

/** The id of an event on the wire; clients take it as it is. */
export function positionText({ attempt, n }: Position): string {
  return `${attempt}-${n}`;
}

export function parsePosition(text: string): Position | undefined {
  const [, attempt, n] = /^(\d{1,9})-(\d{1,9})$/.exec(text) ?? [];
  return attempt === undefined ? undefined : { attempt: Number(attempt), n: Number(n) };
}

/** Bytes that a log may hold. */
interface Keepable {
  /** A log holds them and counts them. */
  readonly isKept: boolean;
  /** Answers a function that stops the listening. */
  onceDropped(listener: () => void): () => void;
}

/**
 * Bytes that a reader is sent for one event: those made for it alone, around those that all readers share.
 */
export interface OutgoingFrame {
  readonly event: string;
  readonly head?: Buffer;
  readonly frame: Buffer;
  readonly tail?: Buffer;
  /** Holds `frame`; undefined: it was made for this reader. */
  readonly of?: Keepable | undefined;
}

/** Bytes of all of it. */
export function sizeOf({ head, frame, tail }: OutgoingFrame): number {
  return (head?.length ?? 0) + frame.length + (tail?.length ?? 0);
}

/** Parts of a frame in their order. */
export function partsOf({ head, frame, tail }: OutgoingFrame): Buffer[] {
  return [head, frame, tail].filter((part) => part !== undefined);
}

/** Approximate cost of an event beside its bytes. */
const OVERHEAD_BYTES = 200;

const FRAME_END = '\n\n';

/** An event as every reader is sent it: its bytes are made once. */
export class LoggedEvent implements OutgoingFrame {
  /** Bytes of the server-sent event. */
  readonly frame: Buffer;
  readonly event: string;
  readonly #dataAt: number;
  #isKept = false;
  #onDropped: Set<() => void> | undefined;

  constructor(
    { event, data }: RunEvent | EncodedEvent,
    readonly position: Position,
    /** Id that readers are sent. Empty: a reader that reconnects cannot begin after it. */
    id = positionText(position),
  ) {
    const head = `${id === '' ? '' : `id: ${id}\n`}event: ${event}\ndata: `;
    this.event = event;
    this.#dataAt = Buffer.byteLength(head);
    this.frame =
      typeof data === 'string' ? Buffer.from(head + data + FRAME_END) : frameOf(head, this.#dataAt, data);
  }

  /** JSON text. */
  get data(): string {
    return this.frame.toString('utf8', this.#dataAt, this.frame.length - FRAME_END.length);
  }

  /** The same as bytes, which are those of the frame. */
  get dataBytes(): Buffer {
    return this.frame.subarray(this.#dataAt, this.frame.length - FRAME_END.length);
  }

  get of(): this {
    return this;
  }

  get bytes(): number {
    return this.frame.length + OVERHEAD_BYTES;
  }

  /** A log holds it and counts it. */
  get isKept(): boolean {
    return this.#isKept;
  }

  /** A log holds it from now on. */
  keep(): void {
    this.#isKept = true;
  }

  /** No log holds it any more: only readers in the middle of it do. */
  drop(): void {
    this.#isKept = false;
    for (const listener of this.#onDropped ?? []) listener();
    this.#onDropped = undefined;
  }

  /** Answers a function that stops the listening. */
  onceDropped(listener: () => void): () => void {
    const listeners = (this.#onDropped ??= new Set());
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }
}

function frameOf(head: string, headBytes: number, data: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(headBytes + data.length + FRAME_END.length);
  frame.write(head, 'utf8');
  data.copy(frame, headBytes);
  frame.write(FRAME_END, headBytes + data.length, 'latin1');
  return frame;
}

/** An event on its way to readers at another server. */
export interface RelayedEvent {
  readonly runId: string;
  /** Position of the event; refused once the run has begun a newer attempt. */
  readonly position: Position;
  /** `mode|namespace…` as on the wire, or `END` with the result as data. */
  readonly event: string;
  /** JSON text. */
  readonly data: string;
  /** Sent for a reader that asked for missed events: not new for others. */
  readonly isRepeated: boolean;
}

export type StoredEvent = Omit<RelayedEvent, 'isRepeated'>;

/** Position of a reader in a run's events; undefined: it takes the next one there is. */
export interface Cursor {
  readonly runId: string;
  readonly after: Position | undefined;
}

/** Name of the event that carries the result of a run. */
export const END = '__end__';
