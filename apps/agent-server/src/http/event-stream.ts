import type { ServerResponse } from 'node:http';
import type { Clock } from '#lib/time';
import { OUTPUT_LOST, type OutputReader } from '../run/run-reader.js';
import { eventNamesOf, type StreamMode } from '../stream/stream-modes.js';
import type { UnsentAnswer, UnsentOutput } from './unsent-output.js';

/** Comments that keep proxies and stall watchdogs content. */
const HEARTBEAT_MS = 5_000;

/**
 * What a connection is given at once, beside what the kernel holds for it. The rest stays in the log of the run, which
 * is there once for all readers.
 */
const MAX_AT_CONNECTION_BYTES = 256 * 1024;

/** Events are put together up to this size: each write costs as much as some kilobytes. */
const GATHER_BYTES = 64 * 1024;

const LOST = Buffer.from(`event: ${OUTPUT_LOST.event}\ndata: ${OUTPUT_LOST.data}\n\n`);

/** What is written at once, and what is held in memory no longer once that has been taken. */
interface Part {
  readonly bytes: Buffer;
  readonly holds: number;
}

export interface StreamParts {
  readonly clock: Clock;
  readonly unsent: UnsentOutput;
}

/** Where the events come from. */
export interface FrameSource {
  /** The next event; without one, `state` says why. */
  take(): { readonly frame: Buffer; readonly event: string } | undefined;
  readonly state: 'waiting' | 'ended' | 'lost';
  /** Nothing more comes: what there is to take is here. */
  readonly hasEnd: boolean;
  close(): void;
}

/** A run's output as server-sent events, taken from its log as fast as the client reads. */
export class EventStream implements OutputReader {
  readonly kind = 'output';
  readonly #names: ReadonlySet<string> | undefined;
  readonly #account: UnsentAnswer;
  #reading: FrameSource | undefined;
  /** Rest of a large frame, all of which is held until the last of it has been taken. */
  #rest: Buffer | undefined;
  #restHolds = 0;
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

  /** Nothing more comes from the run; the client may not have everything yet. */
  get isEnded(): boolean {
    return this.#isEnded || (this.#reading?.hasEnd ?? false);
  }

  /** Sends the head. Before it, events wait. */
  begin(headers: Readonly<Record<string, string>>): void {
    if (this.response.destroyed) return this.abandon();
    this.response.on('close', () => this.abandon());
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

  /** Nothing is sent any more. */
  abandon(): void {
    this.#isClosed = true;
    this.#rest = undefined;
    this.#cancelHeartbeat();
    this.#reading?.close();
  }

  /** What comes in one turn of the event loop leaves in one write. */
  #flushSoon(): void {
    if (this.#isFlushing || this.#isClosed || !this.response.headersSent) return;
    this.#isFlushing = true;
    setImmediate(() => this.#flush());
  }

  /** Writes what the connection may hold; the rest follows as the client reads. */
  #flush(): void {
    this.#isFlushing = false;
    if (this.#isClosed || this.#isEnded || this.response.destroyed) return;
    while (this.#bytesAtConnection < MAX_AT_CONNECTION_BYTES) {
      const part = this.#nextPart();
      if (!part) break;
      this.#write(part.bytes, part.holds);
    }
    if (this.#rest || this.#bytesAtConnection >= MAX_AT_CONNECTION_BYTES) return;
    const state = this.#reading?.state;
    if (state === 'lost') this.#write(LOST, 0);
    if (state === 'lost' || state === 'ended') this.#end();
  }

  #end(): void {
    this.#isEnded = true;
    this.#cancelHeartbeat();
    this.#reading?.close();
    this.response.end();
  }

  /** Some events, or a part of a large one. */
  #nextPart(): Part | undefined {
    if (this.#rest) return this.#slice(this.#rest);
    const frames: Buffer[] = [];
    let bytes = 0;
    while (bytes < GATHER_BYTES) {
      const frame = this.#nextFrame();
      if (!frame) break;
      if (frame.length >= GATHER_BYTES) {
        this.#rest = frame;
        this.#restHolds = frame.length;
        break;
      }
      frames.push(frame);
      bytes += frame.length;
    }
    const [first] = frames;
    if (first) return { bytes: frames.length === 1 ? first : Buffer.concat(frames, bytes), holds: bytes };
    return this.#rest && this.#slice(this.#rest);
  }

  #slice(frame: Buffer): Part {
    const isLast = frame.length <= MAX_AT_CONNECTION_BYTES;
    this.#rest = isLast ? undefined : frame.subarray(MAX_AT_CONNECTION_BYTES);
    return { bytes: frame.subarray(0, MAX_AT_CONNECTION_BYTES), holds: isLast ? this.#restHolds : 0 };
  }

  #nextFrame(): Buffer | undefined {
    for (;;) {
      const next = this.#reading?.take();
      if (!next) return undefined;
      // The name stands before a namespace or a sub-event: `values|child`, `messages/partial`
      if (this.#names && !this.#names.has(next.event.split(/[|/]/, 1)[0] ?? '')) continue;
      this.#account.owe(next.frame.length);
      return next.frame;
    }
  }

  #write(part: Buffer, holds: number): void {
    const bytes = part.length;
    this.#bytesAtConnection += bytes;
    this.response.write(part, () => {
      this.#bytesAtConnection -= bytes;
      this.#account.paid(holds);
      if (!this.#isFlushing) this.#flush();
    });
  }

  #beatLater(): () => void {
    return this.parts.clock.after(HEARTBEAT_MS, () => {
      // no empty line after it: the client of the SDK would take that for the end of an event without data
      if (this.#bytesAtConnection === 0 && !this.#rest && this.response.headersSent && !this.#isClosed)
        this.response.write(': heartbeat\n');
      this.#cancelHeartbeat = this.#beatLater();
    });
  }
}
