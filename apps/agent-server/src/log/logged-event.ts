import type { EncodedEvent, RunEvent } from '../stream/run-event.js';
import { positionText, type Position } from './position.js';

/** What an event costs beside its bytes, about. */
const OVERHEAD_BYTES = 200;

/** An event as every reader is sent it: its bytes are made once. */
export class LoggedEvent {
  /** As a server-sent event. */
  readonly frame: Buffer;
  readonly event: string;
  readonly #dataAt: number;

  constructor(
    { event, data }: RunEvent | EncodedEvent,
    readonly position: Position,
    /** As readers are sent it. Empty: one that comes back cannot begin after it. */
    id = positionText(position),
  ) {
    const head = `${id === '' ? '' : `id: ${id}\n`}event: ${event}\ndata: `;
    this.event = event;
    this.#dataAt = Buffer.byteLength(head);
    this.frame =
      typeof data === 'string' ? Buffer.from(`${head}${data}\n\n`) : frameOf(head, this.#dataAt, data);
  }

  /** JSON text. */
  get data(): string {
    return this.frame.toString('utf8', this.#dataAt, this.frame.length - 2);
  }

  get bytes(): number {
    return this.frame.length + OVERHEAD_BYTES;
  }
}

const END = '\n\n';

function frameOf(head: string, headBytes: number, data: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(headBytes + data.length + END.length);
  frame.write(head, 'utf8');
  data.copy(frame, headBytes);
  frame.write(END, headBytes + data.length, 'latin1');
  return frame;
}
