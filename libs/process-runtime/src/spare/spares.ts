import { type ChildProcess } from 'node:child_process';
import type { Stream } from 'node:stream';
import { startVariables } from '#lib/config';
import { errorText } from '#lib/errors';
import { launchSpare, SPARE, spareReady, type SpareSocket } from '#lib/lifecycle';
import { sendSignal } from '#lib/process-identity';
import { type Logger, metrics } from '#lib/telemetry';
import { Backoff, type Clock } from '#lib/time';
import { type StartedProcess, startProcess } from './start-process.js';
import { ATTEMPT_MARKER, NODE_MARKER } from '../strays/process-status.js';
import type { Launch } from '../user/launch.js';
import { nodeUser } from '../user/pod-user.js';
import type { Tools } from '../user/spawn-request.js';

export interface SparesOptions {
  /** Spares of each namespace; 0 for none. */
  readonly count: number;
  readonly podsFolder: string;
  /** Variables of the machine that every process gets. */
  readonly environment: Readonly<Record<string, string>>;
  readonly tools: Tools;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Spare extends StartedProcess {
  isReady: boolean;
}

interface Pool {
  /** The program and its arguments: a spare has those with which it was started. */
  shape: Pick<Launch, 'command' | 'args'>;
  readonly spares: Set<Spare>;
  readonly backoff: Backoff;
  cancel: () => void;
}

/** A start under way comes first. */
const REFILL_MS = 500;
const PAUSES = { firstMs: 1_000, longestMs: 300_000 };
/** Time for a spare to load, and to become a container. */
const LOAD_MS = 60_000;
const CLAIM_MS = 2_000;
/** The name of the variable that tells an inherited socket; a spare is sent it instead. */
const HELD_SOCKETS = 'AGENTPLANE_HELD_SOCKETS';

/**
 * Processes that have loaded a program of the platform, and wait to become the container of a pod. A namespace has spares
 * from its first start of such a program on, with the arguments of its newest start, until it is forgotten.
 *
 * - **loading**: started as the user of the node, with nothing but the markers and what it reads at its start → ready
 * - **ready**: waits → claimed; one that ends is replaced after a pause that grows
 * - **claimed**: was told folder, variables, sockets and user; no other claim gets it → a container, once it has said that it
 *   is that; killed with all that it started where it says nothing within two seconds, and the container starts as usual
 */
export class Spares {
  readonly #options: SparesOptions;
  readonly #pools = new Map<string, Pool>();
  readonly #endReading: () => void;
  #isStopped = false;

  constructor(options: SparesOptions) {
    this.#options = options;
    this.#endReading = metrics.nodeSpares.read(() => {
      const all = [...this.#pools.values()].flatMap(({ spares }) => [...spares]);
      return all.filter(({ isReady }) => isReady).length;
    });
  }

  /**
   * Makes a spare of the namespace the process of this launch; undefined where none fits, or where it failed: nothing of
   * the container has run then.
   */
  async claim(namespace: string, launch: Launch): Promise<StartedProcess | undefined> {
    if (this.#options.count === 0 || this.#isStopped || !this.#fits(launch)) return undefined;
    const pool = this.#poolOf(namespace, launch);
    const spare = [...pool.spares].find(({ isReady }) => isReady);
    if (spare) pool.spares.delete(spare);
    const isClaimed = spare !== undefined && (await this.#launch(spare, launch));
    this.#refill(namespace, pool, REFILL_MS);
    metrics.nodeSpareClaims.add(1, { outcome: isClaimed ? 'claimed' : spare ? 'failed' : 'missed' });
    return isClaimed ? spare : undefined;
  }

  /** Ends the spares of a namespace, which has no program of theirs any more. */
  forget(namespace: string): void {
    const pool = this.#pools.get(namespace);
    if (!pool) return;
    this.#pools.delete(namespace);
    pool.cancel();
    for (const spare of pool.spares) end(spare.child);
    pool.spares.clear();
  }

  stop(): void {
    this.#isStopped = true;
    this.#endReading();
    for (const namespace of [...this.#pools.keys()]) this.forget(namespace);
  }

  /** A spare has neither mounts nor other rights than a start would have given, and read its variables at its start. */
  #fits(launch: Launch): boolean {
    const isRestricted = launch.user.isOwn || launch.noNewPrivileges;
    return (
      launch.isSparable === true &&
      launch.mounts === undefined &&
      isRestricted &&
      sameTexts(startVariables(launch.environment), startVariables(this.#options.environment))
    );
  }

  #poolOf(namespace: string, { command, args }: Launch): Pool {
    const shape = { command, args };
    const known = this.#pools.get(namespace);
    if (known && JSON.stringify(known.shape) === JSON.stringify(shape)) return known;
    this.forget(namespace);
    const { clock } = this.#options;
    const pool = {
      shape,
      spares: new Set<Spare>(),
      backoff: new Backoff(clock, PAUSES),
      cancel: () => undefined,
    };
    this.#pools.set(namespace, pool);
    return pool;
  }

  #refill(namespace: string, pool: Pool, afterMs: number): void {
    pool.cancel();
    pool.cancel = this.#options.clock.after(afterMs, () => {
      while (this.#pools.get(namespace) === pool && pool.spares.size < this.#options.count)
        if (!this.#start(namespace, pool)) return;
    });
  }

  /** @returns false when the machine has no memory or descriptors for one */
  #start(namespace: string, pool: Pool): boolean {
    const { environment, podsFolder, tools, clock, log } = this.#options;
    const { command, args } = pool.shape;
    const ended = (error: unknown): void => {
      if (!pool.spares.delete(spare)) return;
      end(spare.child);
      log.warn({ namespace, problem: errorText(error) }, 'a spare process ended; another is started');
      this.#refill(namespace, pool, pool.backoff.nextMs());
    };
    let spare: Spare;
    try {
      spare = {
        ...startProcess(
          {
            command,
            args: [...args, SPARE],
            folder: '/',
            isFolderNamed: false,
            environment: { ...startVariables(environment), [NODE_MARKER]: podsFolder },
            user: nodeUser(),
            noNewPrivileges: true,
            sockets: ['ipc'],
            isSparable: false,
          },
          tools,
        ),
        isReady: false,
      };
    } catch (error) {
      log.warn({ namespace, problem: errorText(error) }, 'starting a spare process failed');
      this.#refill(namespace, pool, pool.backoff.nextMs());
      return false;
    }
    pool.spares.add(spare);
    const { child } = spare;
    child.once('exit', (code, signal) => ended(new Error(`ended with ${code ?? signal ?? 'nothing'}`)));
    const cancel = clock.after(LOAD_MS, () => end(child));
    void spareReady(child)
      .then(() => {
        spare.isReady = true;
        pool.backoff.reset();
      }, ended)
      .finally(cancel);
    return true;
  }

  async #launch({ child, attempt }: Spare, launch: Launch): Promise<boolean> {
    const { clock, log } = this.#options;
    const { [HELD_SOCKETS]: named = '', ...environment } = launch.environment;
    const { uid, gid, isOwn } = launch.user;
    const cancel = clock.after(CLAIM_MS, () => end(child));
    try {
      await launchSpare(
        child,
        {
          environment: { ...environment, [ATTEMPT_MARKER]: attempt },
          folder: launch.folder,
          ...(isOwn ? { user: { uid, gid } } : {}),
        },
        socketsOf(named, launch.sockets),
      );
      return true;
    } catch (error) {
      end(child);
      log.warn(
        { problem: errorText(error) },
        'a spare process did not become a container, which starts as usual',
      );
      return false;
    } finally {
      cancel();
    }
  }
}

/** Kills a spare and all that it started, which are of its group. */
function end({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) sendSignal(pid, 'SIGKILL', true);
  } catch {
    // it has ended already
  }
}

/** @param named `PORT:DESCRIPTOR,…`, in the order of the sockets */
function socketsOf(named: string, sockets: Launch['sockets']): readonly SpareSocket[] {
  const ports = [...named.matchAll(/(\d+):\d+/g)].map(([, port]) => Number(port));
  return ports.flatMap((port, at) => {
    const handle = sockets[at];
    return isHandle(handle) ? [{ port, handle }] : [];
  });
}

function isHandle(entry: unknown): entry is SpareSocket['handle'] & Stream {
  return typeof entry === 'object' && entry !== null;
}

function sameTexts(one: Readonly<Record<string, string>>, other: Readonly<Record<string, string>>): boolean {
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name]);
}
