import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process';
import type { Stream } from 'node:stream';
import { Admission } from '#lib/admission';
import type { ListenAddress } from './claim-address.js';
import { listenAndDeposit } from './listen-and-deposit.js';
import { HELD_SOCKETS, parseSocketMessage } from './socket-message.js';

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
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
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
