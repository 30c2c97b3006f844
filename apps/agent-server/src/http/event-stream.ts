import type { ServerResponse } from 'node:http';
import type { Clock } from '#lib/time';
import type { RunReader } from '../run/run-feed.js';
import type { RunEvent } from '../stream/run-event.js';
import { eventNamesOf, type StreamMode } from '../stream/stream-modes.js';

/** Comments that keep proxies and stall watchdogs content. */
const HEARTBEAT_MS = 5_000;

/**
 * A reader with so many unread bytes gets no further event but is cut off: the run does not wait for it, and memory has
 * an end. What comes before an event counts, not the event itself: one of any size reaches a reader who reads.
 */
const MAX_UNREAD_BYTES = 32 * 1024 * 1024;

/** From this size on, all readers of an event are sent the same bytes instead of a copy each. */
const SHARED_FROM_CHARS = 32 * 1024;

const shared = new WeakMap<RunEvent, Buffer>();

function frameOf(event: RunEvent): string | Buffer {
  const { data } = event;
  if (data.length < SHARED_FROM_CHARS) return `id: ${event.id}\nevent: ${event.event}\ndata: ${data}\n\n`;
  let frame = shared.get(event);
  if (!frame) {
    frame = Buffer.from(`id: ${event.id}\nevent: ${event.event}\ndata: ${data}\n\n`);
    shared.set(event, frame);
  }
  return frame;
}

/** A run's output as server-sent events. What comes in one turn of the event loop leaves in one write. */
export class EventStream implements RunReader {
  readonly #names: ReadonlySet<string> | undefined;
  #pending: (string | Buffer)[] = [];
  #isFlushing = false;
  #isOver = false;
  #cancelHeartbeat: () => void;

  constructor(
    private readonly response: ServerResponse,
    private readonly clock: Clock,
    /** Only events of these modes; undefined lets all through. */
    modes?: readonly StreamMode[],
  ) {
    this.#names = modes && new Set([...eventNamesOf(modes), 'metadata', 'error']);
    this.#cancelHeartbeat = this.#beatLater();
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
    if (this.#isOver) return;
    // The name stands before a namespace or a sub-event: `values|child`, `messages/partial`
    if (this.#names && !this.#names.has(event.event.split(/[|/]/, 1)[0] ?? '')) return;
    if (this.response.writableLength > MAX_UNREAD_BYTES) {
      this.response.destroy();
      return this.#close();
    }
    this.#append(frameOf(event));
  }

  ended(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelHeartbeat();
    this.#flushSoon();
  }

  #append(part: string | Buffer): void {
    const last = this.#pending.at(-1);
    if (typeof part === 'string' && typeof last === 'string')
      this.#pending[this.#pending.length - 1] = last + part;
    else this.#pending.push(part);
    this.#flushSoon();
  }

  #flushSoon(): void {
    if (this.#isFlushing || !this.response.headersSent) return;
    this.#isFlushing = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#isFlushing = false;
    if (this.response.destroyed || this.response.writableEnded) return;
    const parts = this.#pending;
    this.#pending = [];
    if (parts.length > 1) this.response.cork();
    for (const part of parts) this.response.write(part);
    if (parts.length > 1) this.response.uncork();
    if (this.#isOver) this.response.end();
  }

  #beatLater(): () => void {
    return this.clock.after(HEARTBEAT_MS, () => {
      // no empty line after it: the client of the SDK would take that for the end of an event without data
      this.#append(': heartbeat\n');
      this.#cancelHeartbeat = this.#beatLater();
    });
  }

  #close(): void {
    this.#isOver = true;
    this.#pending = [];
    this.#cancelHeartbeat();
  }
}
