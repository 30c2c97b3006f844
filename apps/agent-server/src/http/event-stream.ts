import type { ServerResponse } from 'node:http';
import type { Clock } from '#lib/time';
import type { RunEvent, RunReader } from '../run/run-feed.js';

/** Comments that keep proxies and stall watchdogs content. */
const HEARTBEAT_MS = 5_000;

/** A reader that lets so many bytes pile up is cut off: the run does not wait for it, and memory has an end. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;

/** A run's output as server-sent events. What comes in one turn of the event loop leaves in one write. */
export class EventStream implements RunReader {
  readonly #modes: ReadonlySet<string> | undefined;
  #pending = '';
  #isFlushing = false;
  #isOver = false;
  #cancelHeartbeat: () => void;

  constructor(
    private readonly response: ServerResponse,
    private readonly clock: Clock,
    /** Only events of these modes; undefined lets all through. */
    modes?: readonly string[],
  ) {
    this.#modes =
      modes &&
      new Set([...modes.map((mode) => (mode === 'messages-tuple' ? 'messages' : mode)), 'metadata', 'error']);
    this.#cancelHeartbeat = this.#beatLater();
  }

  /** Sends the head. Before it, events wait. */
  begin(headers: Readonly<Record<string, string>>): void {
    this.response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      connection: 'keep-alive',
      'x-accel-buffering': 'no',
      ...headers,
    });
    this.response.flushHeaders();
    this.response.on('close', () => this.#close());
    this.#flushSoon();
  }

  event({ id, event, data }: RunEvent): void {
    if (this.#isOver) return;
    // The mode is what stands before a namespace or a sub-event: `values|child`, `messages/partial`
    if (this.#modes && !this.#modes.has(event.split(/[|/]/, 1)[0] ?? '')) return;
    this.#pending += `id: ${id}\nevent: ${event}\ndata: ${data}\n\n`;
    this.#flushSoon();
  }

  ended(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelHeartbeat();
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
    if (this.#pending !== '') {
      this.response.write(this.#pending);
      this.#pending = '';
    }
    if (this.#isOver) this.response.end();
    else if (this.response.writableLength > MAX_UNREAD_BYTES) this.response.destroy();
  }

  #beatLater(): () => void {
    return this.clock.after(HEARTBEAT_MS, () => {
      this.#pending += ': heartbeat\n\n';
      this.#flushSoon();
      this.#cancelHeartbeat = this.#beatLater();
    });
  }

  #close(): void {
    this.#isOver = true;
    this.#pending = '';
    this.#cancelHeartbeat();
  }
}
