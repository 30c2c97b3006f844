import type { Socket } from 'node:net';
import { cutSocket } from '#lib/http';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';

/** Whoever is on this machine may connect, without a key, and each connection takes one to a pod as well. */
const MAX_CONNECTIONS = 4_000;
/** Where there is no room, what has stood still for this long makes it. */
const IDLE_MS = 60_000;
/** Less than this in that time is standing still: a byte now and then keeps no place. */
const MIN_BYTES = 1_024;
const LOG_MS = 60_000;

export interface RoomOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly namespace: string;
  readonly most?: number;
}

interface Traffic {
  /** Bytes both ways when they were looked at last. */
  bytes: number;
  /** Since when they are that many. */
  sinceMs: number;
}

/**
 * The connections to the Services of one namespace. When there is no room for one more, the one that has stood still for
 * longest is cut, so that idle connections shut nobody out; when all are in use, the new one is cut. The log says so once
 * a minute.
 */
export class ConnectionRoom {
  readonly #options: RoomOptions;
  readonly #clock: Clock;
  readonly #most: number;
  readonly #open = new Map<Socket, Traffic>();
  #cut = 0;
  #loggedMs = -Infinity;

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
    this.#open.set(socket, { bytes: 0, sinceMs: this.#clock.monotonicMs() });
    socket.once('close', () => this.#open.delete(socket));
    return true;
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
    let idlest: [Socket, Traffic] | undefined;
    for (const [socket, traffic] of this.#open) {
      const bytes = socket.bytesRead + socket.bytesWritten;
      if (bytes - traffic.bytes >= MIN_BYTES)
        Object.assign(traffic, { bytes, sinceMs: nowMs } satisfies Traffic);
      if (!idlest || traffic.sinceMs < idlest[1].sinceMs) idlest = [socket, traffic];
    }
    if (!idlest || nowMs - idlest[1].sinceMs < IDLE_MS) return false;
    this.#open.delete(idlest[0]);
    cutSocket(idlest[0]);
    return true;
  }
}
