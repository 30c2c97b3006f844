import type { EncodedEvent, RunEvent } from '../stream/run-event.js';
import { type Position, positionText } from './position.js';

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

const END = '\n\n';

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
      typeof data === 'string' ? Buffer.from(head + data + END) : frameOf(head, this.#dataAt, data);
  }

  /** JSON text. */
  get data(): string {
    return this.frame.toString('utf8', this.#dataAt, this.frame.length - END.length);
  }

  /** The same as bytes, which are those of the frame. */
  get dataBytes(): Buffer {
    return this.frame.subarray(this.#dataAt, this.frame.length - END.length);
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
  const frame = Buffer.allocUnsafe(headBytes + data.length + END.length);
  frame.write(head, 'utf8');
  data.copy(frame, headBytes);
  frame.write(END, headBytes + data.length, 'latin1');
  return frame;
}
