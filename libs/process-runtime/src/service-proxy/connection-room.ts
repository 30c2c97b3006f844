import type { Socket } from 'node:net';
import { cutSocket } from '#lib/http';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';

/** Whoever is on this machine may connect, without a key, and each connection takes one to a pod as well. */
const MAX_CONNECTIONS = 4_000;
/** Where there is no room, a connection makes it whose request has got nothing of an answer for this long, */
const IDLE_MS = 60_000;
/** or that has had no request for this long: enough for its client to read the last answer or to send the first request. */
const UNASKED_MS = 5_000;
/** A look at all connections takes time, and one that found no room will hardly find it at once. */
const LOOK_MS = 1_000;
const LOG_MS = 60_000;

export interface RoomOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly namespace: string;
  readonly most?: number;
}

interface Traffic {
  /** Requests on their way to a pod, or one that lasts as long as the connection. */
  requests: number;
  /** Bytes to the client when they were looked at last. What a client sends of itself shows no use. */
  bytes: number;
  /** Since when they are that many. */
  sinceMs: number;
}

/**
 * The connections to the Services of one namespace. When there is no room for one more, the one that has stood still for
 * longest is cut, so that idle connections shut nobody out; when all are in use, the new one is cut. In use is one whose
 * request got a byte of an answer within a minute: streams that wait send a few. The log says once a minute that there is
 * no room.
 */
export class ConnectionRoom {
  readonly #options: RoomOptions;
  readonly #clock: Clock;
  readonly #most: number;
  readonly #open = new Map<Socket, Traffic>();
  #cut = 0;
  #loggedMs = -Infinity;
  /** When it was seen last that all are in use. */
  #fullMs = -Infinity;

  constructor(options: RoomOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#most = options.most ?? MAX_CONNECTIONS;
  }

  /** Whether the connection may stay; else it is cut. */
  admit(socket: Socket): boolean {
    if (this.#open.size >= this.#most) {
      const hasRoom = this.#cutIdle();
      this.#report();
      if (!hasRoom) {
        cutSocket(socket);
        return false;
      }
    }
    this.#open.set(socket, { requests: 0, bytes: 0, sinceMs: this.#clock.monotonicMs() });
    socket.once('close', () => this.#open.delete(socket));
    return true;
  }

  /**
   * A request of the connection is on its way to a pod.
   * @returns to be called when its answer has ended
   */
  begin(socket: Socket): () => void {
    const traffic = this.#open.get(socket);
    if (!traffic) return () => undefined;
    // more requests while one waits are no sign of a pod
    if (traffic.requests++ === 0) traffic.sinceMs = this.#clock.monotonicMs();
    return () => {
      traffic.requests--;
      Object.assign(traffic, { bytes: socket.bytesWritten, sinceMs: this.#clock.monotonicMs() });
    };
  }

  #report(): void {
    this.#cut++;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#loggedMs < LOG_MS) return;
    const { log, namespace } = this.#options;
    log.warn(
      { namespace, open: this.#open.size, cut: this.#cut },
      'cut connections to the Services of a namespace: as many are open as may be; "ss -tnp" names the processes of this machine that hold them',
    );
    [this.#cut, this.#loggedMs] = [0, nowMs];
  }

  #cutIdle(): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#fullMs < LOOK_MS) return false;
    let idlest: [Socket, Traffic] | undefined;
    for (const [socket, traffic] of this.#open) {
      const bytes = socket.bytesWritten;
      if (bytes !== traffic.bytes) [traffic.bytes, traffic.sinceMs] = [bytes, nowMs];
      const isInUse = nowMs - traffic.sinceMs < (traffic.requests > 0 ? IDLE_MS : UNASKED_MS);
      if (!isInUse && (!idlest || traffic.sinceMs < idlest[1].sinceMs)) idlest = [socket, traffic];
    }
    if (!idlest) {
      this.#fullMs = nowMs;
      return false;
    }
    this.#open.delete(idlest[0]);
    cutSocket(idlest[0]);
    return true;
  }
}
