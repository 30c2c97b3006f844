import type { Server } from 'node:net';
import { inheritedEnvironment } from '#lib/config';
import { HELD_SOCKETS, type SocketMessage } from './socket-message.js';

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** Argument for `listen` of every kind of server. */
export type ClaimedAddress = ListenAddress | { readonly host: string; readonly fd: number };

/** Descriptors that no server of this process has taken yet, by port. */
let unclaimed: Map<number, number[]> | undefined;

function inherited(): Map<number, number[]> {
  const sockets = new Map<number, number[]>();
  const named = inheritedEnvironment([HELD_SOCKETS])[HELD_SOCKETS] ?? '';
  for (const [, port, descriptor] of named.matchAll(/(\d+):(\d+)/g))
    sockets.set(Number(port), [...(sockets.get(Number(port)) ?? []), Number(descriptor)]);
  return sockets;
}

/**
 * Argument for `server.listen`: the socket that the parent holds for this port, else the address itself. A
 * server that closes closes its descriptor, so that each is given once.
 */
export function claimAddress({ host, port }: ListenAddress): ClaimedAddress {
  unclaimed ??= inherited();
  const fd = unclaimed.get(port)?.shift();
  return fd === undefined ? { host, port } : { host, fd };
}

/** Wraps of adopted sockets: one that is collected would close its descriptor, which a server has by then. */
const adopted: unknown[] = [];

/** Takes a listening socket that the parent sent, as if it were inherited. */
export function adoptSocket(port: number, handle: unknown): void {
  const fd = typeof handle === 'object' && handle !== null && 'fd' in handle ? Number(handle.fd) : -1;
  if (fd < 0) return;
  unclaimed ??= inherited();
  unclaimed.set(port, [...(unclaimed.get(port) ?? []), fd]);
  adopted.push(handle);
}

/** Net's own wrap of a listening socket; the one thing that a process can hand over without giving it up. */
function handleOf(server: Server): unknown {
  return (server as Server & { readonly _handle?: unknown })._handle;
}

/** Has the parent hold the socket of a server that listens, so that the next process of this program is given it. */
export function depositSocket(server: Server): void {
  const address = server.address();
  if (!process.send || typeof address !== 'object' || !address) return;
  const message: SocketMessage = { kind: 'socket-held', port: address.port };
  process.send(message, handleOf(server) as Server, {}, () => undefined);
}

/** The parent need not hold the socket of this port any longer. */
export function withdrawSocket(port: number): void {
  const message: SocketMessage = { kind: 'socket-released', port };
  process.send?.(message, undefined, {}, () => undefined);
}
