import type { Socket } from 'node:net';
import type { Clock } from '#lib/time';
import { cutSocket } from './cut-socket.js';

/** At the limit, a connection may be closed whose request has got nothing of an answer for this long, */
const IDLE_MS = 60_000;
/** or that has had no request for this long: enough for its client to read the last answer. */
const UNASKED_MS = 5_000;
/** Above this share of connections without a request we assume a flood and close those before idle ones. */
const FLOOD_PART = 0.5;
/**
 * Pause between checks of all connections: a check takes time, and one that found nothing to close will
 * hardly find it at once.
 */
const LOOK_MS = 1_000;
/** Share of connections that one check closes, so that the next ones need no check. */
const CUT_PART = 0.01;
const REPORT_MS = 60_000;

/** Counts of a full limiter since its last report. */
export interface RoomReport {
  readonly open: number;
  readonly cut: number;
}

export interface RoomOptions {
  readonly clock: Clock;
  /** Connections that may be open at once. */
  readonly most: number;
  /** Milliseconds without a request after which a connection may be cut; default 5,000. */
  readonly unaskedMs?: number;
  /** Called once a minute at most. */
  readonly onFull: (report: RoomReport) => void;
}

interface Traffic {
  /** Socket that is closed: below TLS if the connection has it. */
  readonly socket: Socket;
  /** Stream whose bytes count. */
  stream: Socket;
  /** Requests on their way, or one that lasts as long as the connection. */
  requests: number;
  /** Bytes to the client at the last check. Bytes that a client sends show no use. */
  bytes: number;
  /** Time since which the bytes are unchanged. */
  sinceMs: number;
}

/**
 * Limiter of connections. At the limit, existing connections are closed for a new one, so that idle clients
 * cannot shut out the others: if most have not got to their first request (a handshake, headers), the oldest
 * of them; else the one that has been idle for longest; else the oldest without a request. When all are in
 * use, the new one is closed. A connection is in use if its request got a byte of an answer within a minute:
 * idle streams send a few.
 */
export class ConnectionRoom {
  readonly #clock: Clock;
  readonly #open = new Map<Socket, Traffic>();
  /** Connections by addresses and ports: a request of a connection with TLS names another socket. */
  readonly #byPeer = new Map<string, Traffic>();
  /** Connections without a request yet, the oldest first. */
  readonly #fresh = new Set<Traffic>();
  #cut = 0;
  #reportedMs = -Infinity;
  /** Time of the last check that found all connections in use. */
  #fullMs = -Infinity;

  constructor(private readonly options: RoomOptions) {
    this.#clock = options.clock;
  }

  /** True when the connection may stay; else it is closed. */
  admit(socket: Socket): boolean {
    if (this.#open.size >= this.options.most) {
      const hasRoom = this.#makeRoom();
      this.#report();
      if (!hasRoom) {
        cutSocket(socket);
        return false;
      }
    }
    const traffic: Traffic = {
      socket,
      stream: socket,
      requests: 0,
      bytes: 0,
      sinceMs: this.#clock.monotonicMs(),
    };
    const peer = peerOf(socket);
    this.#open.set(socket, traffic);
    this.#byPeer.set(peer, traffic);
    this.#fresh.add(traffic);
    socket.once('close', () => {
      this.#forget(traffic);
      if (this.#byPeer.get(peer) === traffic) this.#byPeer.delete(peer);
    });
    return true;
  }

  /**
   * A request of the connection is on its way.
   * @param socket as the request names it
   * @returns to be called when its answer has ended
   */
  begin(socket: Socket): () => void {
    const traffic = this.#open.get(socket) ?? this.#byPeer.get(peerOf(socket));
    if (!traffic) return () => undefined;
    traffic.stream = socket;
    this.#fresh.delete(traffic);
    // more requests while one waits are no sign of an answer
    if (traffic.requests++ === 0) traffic.sinceMs = this.#clock.monotonicMs();
    return () => {
      traffic.requests--;
      Object.assign(traffic, { bytes: socket.bytesWritten, sinceMs: this.#clock.monotonicMs() });
    };
  }

  #report(): void {
    this.#cut++;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#reportedMs < REPORT_MS) return;
    this.options.onFull({ open: this.#open.size, cut: this.#cut });
    [this.#cut, this.#reportedMs] = [0, nowMs];
  }

  #makeRoom(): boolean {
    if (this.#fresh.size > this.options.most * FLOOD_PART) return this.#cutFresh();
    return this.#cutIdle() || this.#cutFresh();
  }

  #cutFresh(): boolean {
    for (const traffic of this.#fresh) {
      this.#end(traffic);
      return true;
    }
    return false;
  }

  #cutIdle(): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#fullMs < LOOK_MS) return false;
    const { most, unaskedMs = UNASKED_MS } = this.options;
    const idle: Traffic[] = [];
    for (const traffic of this.#open.values()) {
      const bytes = traffic.stream.bytesWritten;
      if (bytes !== traffic.bytes) [traffic.bytes, traffic.sinceMs] = [bytes, nowMs];
      if (nowMs - traffic.sinceMs >= (traffic.requests > 0 ? IDLE_MS : unaskedMs)) idle.push(traffic);
    }
    if (idle.length === 0) this.#fullMs = nowMs;
    const idlest = idle.sort((a, b) => a.sinceMs - b.sinceMs).slice(0, Math.max(1, most * CUT_PART));
    for (const traffic of idlest) this.#end(traffic);
    return idlest.length > 0;
  }

  #end(traffic: Traffic): void {
    this.#forget(traffic);
    if (traffic.stream !== traffic.socket) cutSocket(traffic.stream);
    cutSocket(traffic.socket);
  }

  #forget(traffic: Traffic): void {
    this.#open.delete(traffic.socket);
    this.#fresh.delete(traffic);
  }
}

function peerOf({ remoteAddress, remotePort, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localPort}`;
}
