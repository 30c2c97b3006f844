import type { ServerResponse } from 'node:http';
import type { Clock } from '#lib/time';
import { type OutgoingFrame, partsOf, sizeOf } from '../log/logged-event.js';
import { OUTPUT_LOST, type OutputReader } from '../run/run-reading.js';
import { eventNamesOf, type StreamMode } from '../stream/stream-modes.js';
import type { UnsentAnswer, UnsentOutput } from './unsent-output.js';

/**
 * A large frame that is sent in pieces as its client takes them. While the log holds the event, a reader in
 * the middle of it costs only a position; a frame that the log has dropped is owed to this client alone.
 * Pieces are copies: one of 64 KB at a connection would keep megabytes alive.
 */
export class LargeFrame {
  readonly #parts: Buffer[];
  readonly #size: number;
  readonly #stopListening: (() => void) | undefined;
  #owed = 0;
  #offset = 0;

  constructor(
    frame: OutgoingFrame,
    private readonly account: UnsentAnswer,
  ) {
    this.#parts = partsOf(frame);
    this.#size = sizeOf(frame);
    if (frame.of?.isKept) this.#stopListening = frame.of.onceDropped(() => this.#owe());
    else this.#owe();
  }

  /** All of it was taken. */
  get isDone(): boolean {
    return this.#parts.length === 0;
  }

  /** The next bytes, up to a maximum. */
  take(maxBytes: number): Buffer {
    const pieces: Buffer[] = [];
    let left = maxBytes;
    while (left > 0) {
      const [part] = this.#parts;
      if (!part) break;
      const piece = part.subarray(this.#offset, this.#offset + left);
      pieces.push(piece);
      left -= piece.length;
      this.#offset += piece.length;
      if (this.#offset < part.length) break;
      this.#parts.shift();
      this.#offset = 0;
    }
    if (this.isDone) this.close();
    return Buffer.concat(pieces);
  }

  /** Nothing more of it is sent. */
  close(): void {
    this.#stopListening?.();
    this.#parts.length = 0;
    this.account.paid(this.#owed);
    this.#owed = 0;
  }

  #owe(): void {
    this.#owed = this.#size;
    this.account.owe(this.#size);
  }
}

/**
 * Bytes that a connection is given at once; the rest stays in the log of the run, which all readers share.
 */
const MAX_RPC_AT_CONNECTION_BYTES = 256 * 1024;

/** JSON texts as server-sent events without names. */
export class RpcEventStream {
  readonly #account: UnsentAnswer;
  #cancelHeartbeat: () => void = () => undefined;
  #isEnded = false;

  constructor(
    private readonly response: ServerResponse,
    private readonly parts: StreamParts,
    /** Called when the client has taken something. */
    private readonly onRoom: () => void,
  ) {
    this.#account = parts.unsent.open(response);
    response.once('close', () => this.#cancelHeartbeat());
  }

  get hasRoom(): boolean {
    return this.#account.bytes < MAX_RPC_AT_CONNECTION_BYTES;
  }

  /** True when everything was sent; the client may not have it yet. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Sends the head. */
  begin(): void {
    if (this.response.destroyed) return;
    this.response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    });
    this.response.flushHeaders();
    this.#beatLater();
  }

  send(json: string): void {
    if (this.response.destroyed || this.#isEnded) return;
    this.#write(`data: ${json}\n\n`);
  }

  end(): void {
    this.#isEnded = true;
    this.#cancelHeartbeat();
    if (!this.response.destroyed) this.response.end();
  }

  #write(text: string): void {
    const bytes = Buffer.byteLength(text);
    this.#account.owe(bytes);
    this.response.write(text, () => {
      this.#account.paid(bytes);
      this.onRoom();
    });
  }

  #beatLater(): void {
    this.#cancelHeartbeat = this.parts.clock.after(HEARTBEAT_MS, () => {
      if (this.response.destroyed || this.#isEnded) return;
      if (this.#account.bytes === 0) this.#write(': heartbeat\n\n');
      this.#beatLater();
    });
  }
}

/** Comments that keep proxies and stall watchdogs content. */
const HEARTBEAT_MS = 5_000;

/**
 * Bytes that a connection is given at once, beside the kernel's own buffer. The rest stays in the log of the
 * run, which all readers share.
 */
const MAX_AT_CONNECTION_BYTES = 64 * 1024;

/** Events are put together up to this size: each write costs as much as some kilobytes. */
const GATHER_BYTES = 32 * 1024;

const LOST = Buffer.from(`event: ${OUTPUT_LOST.event}\ndata: ${OUTPUT_LOST.data}\n\n`);

export interface StreamParts {
  readonly clock: Clock;
  readonly unsent: UnsentOutput;
}

/** Source of the events of a stream. */
export interface FrameSource {
  /** The next event; without one, `state` says why. */
  take(): OutgoingFrame | undefined;
  readonly state: 'waiting' | 'ended' | 'lost';
  /** True when the source has ended: the remaining events are here. */
  readonly hasEnd: boolean;
  close(): void;
}

/** A run's output as server-sent events, taken from its log as fast as the client reads. */
export class EventStream implements OutputReader {
  readonly kind = 'output';
  readonly #names: ReadonlySet<string> | undefined;
  readonly #account: UnsentAnswer;
  #reading: FrameSource | undefined;
  /** Frame that this reader is in the middle of. */
  #large: LargeFrame | undefined;
  #bytesAtConnection = 0;
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

  attach(reading: FrameSource): void {
    this.#reading = reading;
  }

  more(): void {
    this.#flushSoon();
  }

  /** True when the run has ended; the client may not have everything yet. */
  get isEnded(): boolean {
    return this.#isEnded || (this.#reading?.hasEnd ?? false);
  }

  /** Sends the head. Before it, events wait. */
  begin(headers: Readonly<Record<string, string>>): void {
    if (this.response.destroyed) return this.abandon();
    this.response.on('close', () => this.abandon());
    // one write for the head and the first events. Not the answer itself: one that ends while it is corked
    // sends its end before what was written
    const { socket } = this.response;
    socket?.cork();
    this.response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
      ...headers,
    });
    this.response.flushHeaders();
    this.#flushSoon();
    setImmediate(() => socket?.uncork());
  }

  /** Stops the answer: nothing is sent any more. */
  abandon(): void {
    this.#isClosed = true;
    this.#large?.close();
    this.#large = undefined;
    this.#cancelHeartbeat();
    this.#reading?.close();
  }

  /** Sends the events of one iteration of the event loop in one write. */
  #flushSoon(): void {
    if (this.#isFlushing || this.#isClosed || !this.response.headersSent) return;
    this.#isFlushing = true;
    setImmediate(() => this.#flush());
  }

  /** Writes as much as the connection may hold; the rest follows as the client reads. */
  #flush(): void {
    this.#isFlushing = false;
    if (this.#isClosed || this.#isEnded || this.response.destroyed) return;
    while (this.#bytesAtConnection < MAX_AT_CONNECTION_BYTES) {
      const part = this.#nextPart();
      if (!part) break;
      this.#write(part);
    }
    if (this.#large || this.#bytesAtConnection >= MAX_AT_CONNECTION_BYTES) return;
    const state = this.#reading?.state;
    if (state === 'lost') this.#write(LOST);
    if (state === 'lost' || state === 'ended') this.#end();
  }

  #end(): void {
    this.#isEnded = true;
    this.#cancelHeartbeat();
    this.#reading?.close();
    this.response.end();
  }

  /** Some events, or a part of a large one. */
  #nextPart(): Buffer | undefined {
    if (this.#large) return this.#nextOf(this.#large);
    const parts: Buffer[] = [];
    let bytes = 0;
    while (bytes < GATHER_BYTES) {
      const next = this.#nextFrame();
      if (!next) break;
      const size = sizeOf(next);
      if (size >= GATHER_BYTES) {
        this.#large = new LargeFrame(next, this.#account);
        break;
      }
      parts.push(...partsOf(next));
      bytes += size;
    }
    const [first] = parts;
    if (first) return parts.length === 1 ? first : Buffer.concat(parts, bytes);
    return this.#large && this.#nextOf(this.#large);
  }

  #nextOf(large: LargeFrame): Buffer {
    const part = large.take(MAX_AT_CONNECTION_BYTES);
    if (large.isDone) this.#large = undefined;
    return part;
  }

  #nextFrame(): OutgoingFrame | undefined {
    for (;;) {
      const next = this.#reading?.take();
      if (!next) return undefined;
      // The name comes before a namespace or a sub-event: `values|child`, `messages/partial`
      if (!this.#names || this.#names.has(next.event.split(/[|/]/, 1)[0] ?? '')) return next;
    }
  }

  #write(part: Buffer): void {
    const bytes = part.length;
    this.#bytesAtConnection += bytes;
    this.#account.owe(bytes);
    this.response.write(part, () => {
      this.#bytesAtConnection -= bytes;
      this.#account.paid(bytes);
      if (!this.#isFlushing) this.#flush();
    });
  }

  #beatLater(): () => void {
    return this.parts.clock.after(HEARTBEAT_MS, () => {
      // no empty line after it: the client of the SDK would take that for the end of an event without data
      if (this.#bytesAtConnection === 0 && !this.#large && this.response.headersSent && !this.#isClosed)
        this.response.write(': heartbeat\n');
      this.#cancelHeartbeat = this.#beatLater();
    });
  }
}
