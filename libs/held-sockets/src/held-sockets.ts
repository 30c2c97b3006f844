import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process';
import type { Server } from 'node:net';
import type { Stream } from 'node:stream';
import { Admission } from '#lib/admission';
import { inheritedEnvironment } from '#lib/config';

/** Names the descriptors of a child process's sockets, as `PORT:DESCRIPTOR` with commas between. */
const HELD_SOCKETS = 'AGENTPLANE_HELD_SOCKETS';

/** Message of a child to its parent about a socket. `held` comes with the handle. */
interface SocketMessage {
  readonly kind: 'socket-held' | 'socket-released' | 'socket-failed';
  readonly port: number;
  /** Error code of a socket that failed. */
  readonly code?: string;
}

/** @returns undefined for a message about something else */
function parseSocketMessage(message: unknown): SocketMessage | undefined {
  if (typeof message !== 'object' || message === null) return undefined;
  const { kind, port, code } = message as Partial<SocketMessage>;
  if (kind !== 'socket-held' && kind !== 'socket-released' && kind !== 'socket-failed') return undefined;
  return typeof port === 'number' ? { kind, port, ...(code === undefined ? {} : { code }) } : undefined;
}

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

/**
 * Listens on the addresses of its first argument and hands the sockets to its parent. Run as a process of its
 * own from its text, so that it uses nothing of this file, and no function in it has a name, which a bundle
 * keeps by a function of its own: the event loop of a process that listens would accept connections, while a
 * socket that arrives from another process is only stored.
 */
function listenAndDeposit(): void {
  const { createServer } = process.getBuiltinModule('node:net');
  // a channel that waits for a parent that ended never closes, and the servers would keep their ports
  process.stdin.once('end', () => process.exit()).resume();
  process.stdin.unref();
  const addresses = JSON.parse(process.argv[1] ?? '[]') as { host: string; port: number }[];
  let left = addresses.length;
  for (const { host, port } of addresses) {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) =>
      process.send?.(
        { kind: 'socket-failed', port, code: error.code ?? error.message },
        undefined,
        {},
        () => {
          if (--left === 0) process.disconnect();
        },
      ),
    );
    server.listen({ host, port, backlog: 1024 }, () => {
      const { _handle } = server as typeof server & { _handle: typeof server };
      process.send?.({ kind: 'socket-held', port }, _handle, { keepOpen: false }, () => {
        server.close();
        if (--left === 0) process.disconnect();
      });
    });
  }
}

/**
 * Net's own wrap of a listening socket that came from another process; this one accepts nothing on it. Typed as what
 * `stdio` takes: Node takes wraps there, which its types do not know.
 */
type Handle = Stream & { close(): void };

function isHandle(value: unknown): value is Handle {
  return typeof value === 'object' && value !== null && 'close' in value && typeof value.close === 'function';
}

/** Parts of a child's start that give it sockets. */
export interface Inheritance {
  /** Entries to append to its `stdio`. */
  readonly stdio: Exclude<StdioOptions, string>;
  readonly environment: Readonly<Record<string, string>>;
}

/** Owner of a process that listens. */
export interface Holder {
  /** Owners are served in rotation. */
  readonly owner?: number | undefined;
  /** Aborted by one who does not wait any longer. */
  readonly left?: AbortSignal;
}

/**
 * Listening sockets that this process holds for its children. Between two processes of a child the port stays taken:
 * no other program can listen on it and be taken for the child, and clients that connect meanwhile are served by the next.
 */
export class HeldSockets {
  readonly #handles = new Map<number, Handle>();
  readonly #admission = new Admission<number>({ capacity: 1 });

  /**
   * Listens on these addresses, by a process of its own for those that are not held. One runs at a time: hundreds of
   * containers of a pod ask at once, often for the same port.
   * @returns the code of the error by port, for those that cannot be listened on (`EADDRINUSE`)
   * @throws Error when the process that listens could not run; the reason of `left` when that is aborted before
   */
  async hold(
    addresses: readonly ListenAddress[],
    { owner, left }: Holder = {},
  ): Promise<ReadonlyMap<number, string>> {
    left?.throwIfAborted();
    if (addresses.every(({ port }) => this.#handles.has(port))) return new Map();
    return this.#admission.run(owner, () => this.#holdMissing(addresses), { signal: left });
  }

  async #holdMissing(addresses: readonly ListenAddress[]): Promise<ReadonlyMap<number, string>> {
    const failed = new Map<number, string>();
    const missing = addresses.filter(({ port }) => !this.#handles.has(port));
    if (missing.length === 0) return failed;
    const child = spawn(process.execPath, ['-e', `(${listenAndDeposit})()`, JSON.stringify(missing)], {
      stdio: ['pipe', 'ignore', 'ignore', 'ipc'],
      env: {},
    });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    child.once('error', reject);
    child.once('close', () => resolve());
    this.follow(child, (port, code) => failed.set(port, code));
    await promise;
    for (const { port } of missing)
      if (!this.#handles.has(port) && !failed.has(port))
        throw new Error(
          `holding port ${port} failed: the process that listens on it ended with ${child.exitCode ?? child.signalCode}`,
        );
    return failed;
  }

  /** Keeps what the child deposits, until it withdraws it. */
  follow(child: ChildProcess, onFailed?: (port: number, code: string) => void): void {
    child.on('message', (message, handle) => {
      const said = parseSocketMessage(message);
      switch (said?.kind) {
        case 'socket-held':
          return this.#keep(said.port, handle);
        case 'socket-released':
          return this.release(said.port);
        case 'socket-failed':
          return onFailed?.(said.port, said.code ?? 'unknown');
        case undefined:
          return undefined;
      }
    });
  }

  /** Moves these ports to an instance of their own. */
  split(ports: readonly number[]): HeldSockets {
    const part = new HeldSockets();
    for (const port of ports) {
      part.#keep(port, this.#handles.get(port));
      this.#handles.delete(port);
    }
    return part;
  }

  has(port: number): boolean {
    return this.#handles.has(port);
  }

  /**
   * Descriptors for a child that serves these ports; those that are not held are left out.
   * @param firstDescriptor number of preceding entries of its `stdio`
   * @param copies number of servers that, one after the other, listen on each
   */
  inheritance(ports: Iterable<number>, firstDescriptor: number, copies = 1): Inheritance {
    const held = [...ports].flatMap((port) => {
      const handle = this.#handles.get(port);
      return handle ? Array.from({ length: copies }, () => ({ port, handle })) : [];
    });
    if (held.length === 0) return { stdio: [], environment: {} };
    const named = held.map(({ port }, at) => `${port}:${firstDescriptor + at}`);
    return {
      stdio: held.map(({ handle }) => handle),
      environment: { [HELD_SOCKETS]: named.join(',') },
    };
  }

  get ports(): readonly number[] {
    return [...this.#handles.keys()];
  }

  /** Their ports are free from then on. */
  releaseAll(): void {
    for (const port of this.ports) this.release(port);
  }

  release(port: number): void {
    this.#handles.get(port)?.close();
    this.#handles.delete(port);
  }

  #keep(port: number, handle: unknown): void {
    if (!isHandle(handle)) return;
    this.release(port);
    this.#handles.set(port, handle);
  }
}
