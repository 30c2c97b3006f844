import type { ServerResponse } from 'node:http';
import type { RawData, WebSocket } from 'ws';
import type { Admission } from '#lib/admission';
import { takenBy } from '#lib/http';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { partsOf, sizeOf } from '../../log/logged-event.js';
import { LargeFrame } from '../event-stream.js';
import type { UnsentAnswer, UnsentOutput } from '../unsent-output.js';
import { eventMessage, type ThreadFeed } from './thread-feed.js';

/** Bytes that a connection is given at once, beside the kernel's own buffer. */
const MAX_AT_CONNECTION_BYTES = 64 * 1024;

/** Commands that wait for earlier ones; above this number the connection is not read. */
const MAX_WAITING = 16;
const MAX_WAITING_BYTES = 16 * 1024 * 1024;

/** Milliseconds between two pings, and how many may bring no sign of life. */
const PING_MS = 15_000;
const MAX_SILENT_PINGS = 2;

/** Pings while a message is incomplete: a slower sender holds memory that others need. */
const MAX_PINGS_OF_MESSAGE = 8;

/** Length of the head of a client's control frame. */
const CONTROL_HEAD_BYTES = 6;

/** Milliseconds that a client gets to answer the close of a connection. */
const CLOSE_MS = 2_000;

/** Causes for which a connection is closed: codes of RFC 6455. */
const CLOSE = {
  restart: [1012, 'The server is stopping; connect again'],
  binary: [1003, 'Commands are JSON in text messages'],
  busy: [1013, 'Too many large messages arrive at once; connect again later'],
  failed: [1011, 'The command could not be answered; connect again'],
  slow: [1008, 'A message did not arrive whole within 2 minutes; connect again and send smaller ones'],
  unauthorized: [
    1008,
    'The credentials of this connection are no longer accepted; connect again with valid ones',
  ],
} as const;

export interface SocketParts {
  /** Memory for incomplete and queued messages, of all connections. */
  readonly room: Admission;
  /** Owner of its messages; undefined without authentication. */
  readonly owner?: string | undefined;
  readonly unsent: UnsentOutput;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Answers a message with JSON text; undefined when its sender may give no commands any more. */
export type Answer = (message: Buffer) => Promise<string | undefined>;

/** One WebSocket of the thread stream protocol: commands and their answers, and the events of its subscriptions. */
export class ThreadSocket {
  readonly #account: UnsentAnswer;
  readonly #waiting: Buffer[] = [];
  readonly #held: ReturnType<Admission['open']>;
  #waitingBytes = 0;
  #arrivingBytes = 0;
  #isAnswering = false;
  #isFlushing = false;
  #isClosed = false;
  #bytesAtConnection = 0;
  #silentPings = 0;
  /** Pings since the incomplete message began. */
  #pingsOfMessage = 0;
  #onRoom: (() => void) | undefined;
  /** An event that leaves as several fragments of one message. */
  #large: LargeFrame | undefined;
  /** An answer waits for the end of it: no other begins before. */
  #isAnswerWaiting = false;
  #taken = 0;
  #cancelPing: () => void;

  constructor(
    private readonly socket: WebSocket,
    private readonly response: ServerResponse,
    private readonly feed: ThreadFeed,
    private readonly answer: Answer,
    private readonly parts: SocketParts,
  ) {
    this.#account = parts.unsent.open(response);
    this.#held = parts.room.open(parts.owner);
    // before the socket makes messages of it
    response.socket?.prependListener('data', (bytes: Buffer) => this.#arrived(bytes.length));
    this.#cancelPing = this.#pingLater();
    socket.on('message', (data, isBinary) => this.#received(data, isBinary));
    socket.on('ping', (data) => this.#controlled(data));
    socket.on('pong', (data) => {
      this.#silentPings = 0;
      this.#controlled(data);
    });
    socket.on('error', () => undefined); // it is closed next, with the code of the cause
    socket.on('close', () => this.#left());
  }

  /** Called when there may be more events to take. */
  more(): void {
    if (this.#isFlushing || this.#isClosed) return;
    this.#isFlushing = true;
    setImmediate(() => this.#flush());
  }

  /** Ends it because its credentials are no longer accepted. */
  refuse(): void {
    this.#close('unauthorized');
  }

  /** Ends it because the server stops. */
  stop(): void {
    this.#close('restart');
  }

  #close(reason: keyof typeof CLOSE): void {
    if (this.#isClosed) return;
    this.#left();
    const [code, words] = CLOSE[reason];
    this.socket.close(code, words);
    this.parts.clock.after(CLOSE_MS, () => this.socket.terminate());
  }

  #left(): void {
    this.#isClosed = true;
    this.#waiting.length = 0;
    this.#held.keep(0);
    this.#cancelPing();
    this.#large?.close();
    this.#large = undefined;
    this.#onRoom?.();
    this.feed.close();
  }

  #arrived(bytes: number): void {
    if (this.#isClosed) return;
    this.#arrivingBytes += bytes;
    try {
      this.#held.hold(bytes);
    } catch {
      this.#close('busy');
    }
  }

  /** Bytes that were no part of a message. */
  #controlled(data: Buffer): void {
    if (this.#isClosed) return;
    this.#arrivingBytes = Math.max(0, this.#arrivingBytes - CONTROL_HEAD_BYTES - data.length);
    this.#held.keep(this.#waitingBytes + this.#arrivingBytes);
  }

  #received(data: RawData, isBinary: boolean): void {
    if (this.#isClosed) return;
    if (isBinary) return this.#close('binary');
    const message = bytesOf(data);
    this.#waiting.push(message);
    this.#waitingBytes += message.length;
    this.#arrivingBytes = 0;
    this.#pingsOfMessage = 0;
    this.#held.keep(this.#waitingBytes);
    if (this.#isFull) this.socket.pause();
    this.#answerAll().catch((error: unknown) => {
      this.parts.log.error({ err: error }, 'answering a command of a thread failed');
      this.#close('failed');
    });
  }

  get #isFull(): boolean {
    return this.#waiting.length >= MAX_WAITING || this.#waitingBytes >= MAX_WAITING_BYTES;
  }

  /** Answers commands in the order in which they came, as fast as the client reads the answers. */
  async #answerAll(): Promise<void> {
    if (this.#isAnswering) return;
    this.#isAnswering = true;
    for (let message = this.#waiting.shift(); message; message = this.#waiting.shift()) {
      if (this.#bytesAtConnection >= MAX_AT_CONNECTION_BYTES) await this.#room();
      if (this.#isClosed) break;
      const answer = await this.answer(message);
      // a message is answered between messages
      this.#isAnswerWaiting = true;
      while (this.#large && !this.#isClosed) await this.#room();
      this.#isAnswerWaiting = false;
      if (this.#isClosed) break;
      if (answer === undefined) this.#close('unauthorized');
      else this.#send(Buffer.from(answer));
      this.#waitingBytes -= message.length;
      this.#held.keep(this.#waitingBytes + this.#arrivingBytes);
      if (this.socket.isPaused && !this.#isFull) this.socket.resume();
      this.more();
    }
    this.#isAnswering = false;
  }

  #room(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onRoom = resolve;
    return promise;
  }

  #flush(): void {
    this.#isFlushing = false;
    while (!this.#isClosed && this.#bytesAtConnection < MAX_AT_CONNECTION_BYTES) {
      if (this.#large) {
        this.#sendPartOf(this.#large);
        continue;
      }
      const event = this.#isAnswerWaiting ? undefined : this.feed.take();
      if (!event) return;
      const message = eventMessage(event);
      if (sizeOf(message) > MAX_AT_CONNECTION_BYTES) this.#large = new LargeFrame(message, this.#account);
      else this.#send(Buffer.concat(partsOf(message)));
    }
  }

  #sendPartOf(large: LargeFrame): void {
    const part = large.take(MAX_AT_CONNECTION_BYTES);
    if (large.isDone) this.#large = undefined;
    this.#send(part, large.isDone);
  }

  #send(bytes: Buffer, isLast = true): void {
    this.#bytesAtConnection += bytes.length;
    this.#account.owe(bytes.length);
    this.socket.send(bytes, { binary: false, fin: isLast }, () => {
      this.#bytesAtConnection -= bytes.length;
      this.#account.paid(bytes.length);
      if (this.#bytesAtConnection >= MAX_AT_CONNECTION_BYTES) return;
      this.#onRoom?.();
      this.more();
    });
  }

  #pingLater(): () => void {
    return this.parts.clock.after(PING_MS, () => {
      if (this.#isClosed) return;
      const { socket } = this.response;
      const taken = socket ? takenBy(socket) : 0;
      // a slow reader answers no ping before it has read the bytes before it
      if (taken !== this.#taken && this.#bytesAtConnection > 0) this.#silentPings = 0;
      this.#taken = taken;
      if (this.#silentPings++ >= MAX_SILENT_PINGS)
        return this.parts.unsent.cut(this.#account, 'no answer to a ping, and nothing read, for 30 s');
      const isArriving = this.#arrivingBytes > 0 && !this.socket.isPaused;
      if (isArriving && this.#pingsOfMessage++ >= MAX_PINGS_OF_MESSAGE) return this.#close('slow');
      if (this.#arrivingBytes === 0) this.#pingsOfMessage = 0;
      this.socket.ping();
      this.#cancelPing = this.#pingLater();
    });
  }
}

function bytesOf(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}
