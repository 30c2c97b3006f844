import type { ServerResponse } from 'node:http';
import type { Clock } from '#lib/time';
import type { RunReader } from '../run/run-feed.js';
import type { RunEvent } from '../stream/run-event.js';
import { eventNamesOf, type StreamMode } from '../stream/stream-modes.js';
import type { UnsentAnswer, UnsentOutput } from './unsent-output.js';

/** Comments that keep proxies and stall watchdogs content. */
const HEARTBEAT_MS = 5_000;

/**
 * A reader with so many unread bytes gets no further event but is cut off: the run does not wait for it, and memory has
 * an end. What comes before an event counts, not the event itself: one of any size reaches a reader who reads.
 */
const MAX_UNREAD_BYTES = 32 * 1024 * 1024;

/** From this size on an event is sent as bytes even when it has one reader. */
const BYTES_FROM_CHARS = 32 * 1024;

/**
 * What is handed to the connection at once: more than the kernel takes in one turn of the event loop, since a busy graph
 * leaves few of them.
 */
const MAX_AT_CONNECTION_BYTES = 8 * 1024 * 1024;
const SLICE_BYTES = 1024 * 1024;

/** By event: all its readers are sent the same bytes instead of a copy each. */
const shared = new WeakMap<RunEvent, Buffer>();

function frameOf(event: RunEvent): string | Buffer {
  const { data, isShared } = event;
  if (data.length < BYTES_FROM_CHARS && !isShared) return textOf(event);
  let frame = shared.get(event);
  if (!frame) {
    frame = Buffer.from(textOf(event));
    shared.set(event, frame);
  }
  return frame;
}

function textOf({ id, event, data }: RunEvent): string {
  return `id: ${id}\nevent: ${event}\ndata: ${data}\n\n`;
}

export interface StreamParts {
  readonly clock: Clock;
  readonly unsent: UnsentOutput;
}

/** A run's output as server-sent events. What comes in one turn of the event loop leaves in one write. */
export class EventStream implements RunReader {
  readonly #names: ReadonlySet<string> | undefined;
  readonly #account: UnsentAnswer;
  #queue: (string | Buffer)[] = [];
  #bytesAtConnection = 0;
  /** Come in this turn of the event loop: no client could read them yet. */
  #newBytes = 0;
  #isFlushing = false;
  #isEnded = false;
  #isClosed = false;
  #cancelHeartbeat: () => void;

  constructor(
    private readonly response: ServerResponse,
    private readonly parts: StreamParts,
    /** Only events of these modes; undefined lets all through. */
    modes?: readonly StreamMode[],
  ) {
    this.#names = modes && new Set([...eventNamesOf(modes), 'metadata', 'error']);
    this.#account = parts.unsent.open(response);
    this.#cancelHeartbeat = this.#beatLater();
  }

  /** Everything there is to read is here; the client may not have it yet. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Sends the head. Before it, events wait. */
  begin(headers: Readonly<Record<string, string>>): void {
    if (this.response.destroyed) return this.#close();
    this.response.on('close', () => this.#close());
    this.response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      connection: 'keep-alive',
      'x-accel-buffering': 'no',
      ...headers,
    });
    this.response.flushHeaders();
    this.#flushSoon();
  }

  event(event: RunEvent): void {
    if (this.#isEnded || this.#isClosed) return;
    // The name stands before a namespace or a sub-event: `values|child`, `messages/partial`
    if (this.#names && !this.#names.has(event.event.split(/[|/]/, 1)[0] ?? '')) return;
    if (this.#account.bytes - this.#newBytes > MAX_UNREAD_BYTES) {
      this.parts.unsent.cut(this.#account, `${this.#account.bytes} bytes wait for this client`);
      return this.#close();
    }
    this.#append(frameOf(event));
  }

  ended(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#cancelHeartbeat();
    this.#flushSoon();
  }

  #append(part: string | Buffer): void {
    const last = this.#queue.at(-1);
    if (typeof part === 'string' && typeof last === 'string')
      this.#queue[this.#queue.length - 1] = last + part;
    else this.#queue.push(part);
    const bytes = Buffer.byteLength(part);
    this.#newBytes += bytes;
    this.#account.owe(bytes);
    this.#flushSoon();
  }

  #flushSoon(): void {
    if (this.#isFlushing || !this.response.headersSent) return;
    this.#isFlushing = true;
    setImmediate(() => this.#flush());
  }

  /** Writes what the connection may hold; the rest follows as the client reads. */
  #flush(): void {
    this.#isFlushing = false;
    this.#newBytes = 0;
    const { response } = this;
    if (response.destroyed || response.writableEnded) return;
    const isMany = this.#queue.length > 1;
    if (isMany) response.cork();
    while (this.#queue.length > 0 && this.#bytesAtConnection < MAX_AT_CONNECTION_BYTES) {
      const part = this.#takeSlice();
      const bytes = Buffer.byteLength(part);
      this.#bytesAtConnection += bytes;
      response.write(part, () => this.#written(bytes));
    }
    if (isMany) response.uncork();
    if (this.#isEnded && this.#queue.length === 0) response.end();
  }

  #takeSlice(): string | Buffer {
    const [part = ''] = this.#queue;
    if (typeof part === 'string' || part.length <= SLICE_BYTES) {
      this.#queue.shift();
      return part;
    }
    this.#queue[0] = part.subarray(SLICE_BYTES);
    return part.subarray(0, SLICE_BYTES);
  }

  #written(bytes: number): void {
    this.#bytesAtConnection -= bytes;
    this.#account.paid(bytes);
    if (this.#queue.length > 0) this.#flush();
  }

  #beatLater(): () => void {
    return this.parts.clock.after(HEARTBEAT_MS, () => {
      // no empty line after it: the client of the SDK would take that for the end of an event without data
      if (this.#account.bytes === 0) this.#append(': heartbeat\n');
      this.#cancelHeartbeat = this.#beatLater();
    });
  }

  #close(): void {
    this.#isClosed = true;
    this.#queue = [];
    this.#cancelHeartbeat();
  }
}
