import { readdirSync, readFileSync } from 'node:fs';
import type { RunLoad, IdleAnswer } from '#lib/lifecycle';
import { statFields } from '#lib/process-identity';
import type { Clock } from '#lib/time';
import { countRunLoad, findNextWork, type NextWork } from '../store/statement/runs.js';
import type { ServerIdentity } from '../store/row/claimed-run.js';
import type { Sql } from '../store/sql.js';
import { WORKER } from '../store/worker-scope.js';

/** Unit of times in `stat`: the kernel has the same value on every Linux. */
const TICKS_PER_SECOND = 100;
/** Shortest interval: a shorter one gives no meaningful average. */
const SHORTEST_MS = 900;

/**
 * Cores that this program used, including its child processes and their children: graphs run in separate
 * processes. Only Linux reports that; elsewhere it is this process alone.
 */
export class CoreUse {
  #before: { readonly atMs: number; readonly seconds: number } | undefined;
  #last: number | undefined;

  constructor(private readonly clock: Pick<Clock, 'monotonicMs'>) {}

  /** Average since the last call; undefined the first time. */
  read(): number | undefined {
    const now = { atMs: this.clock.monotonicMs(), seconds: secondsUsed() };
    const before = this.#before;
    if (before && now.atMs - before.atMs < SHORTEST_MS) return this.#last;
    this.#before = now;
    // the use of a process that ended is lost
    if (before) this.#last = Math.max(0, (now.seconds - before.seconds) / ((now.atMs - before.atMs) / 1_000));
    return this.#last;
  }
}

function secondsUsed(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6 + descendantsOf(process.pid).reduce((sum, pid) => sum + secondsOf(pid), 0);
}

function descendantsOf(pid: number): readonly number[] {
  const children = threadsOf(pid).flatMap((thread) =>
    read(`/proc/${pid}/task/${thread}/children`).split(' ').filter(Boolean).map(Number),
  );
  return children.flatMap((child) => [child, ...descendantsOf(child)]);
}

function threadsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

/** State, eleven more, user and system time. */
function secondsOf(pid: number): number {
  const fields = statFields(read(`/proc/${pid}/stat`));
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / TICKS_PER_SECOND;
}

/** Empty for a process that has ended. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Age up to which an answer is reused: any client may ask, as often as it likes. */
const FRESH_MS = 1_000;

export interface RunLoadParts {
  readonly sql: Sql;
  readonly server: ServerIdentity;
  readonly worker: { readonly places: number };
  readonly clock: Clock;
}

/** Amount of work, for the autoscaler of the servers. */
export class RunLoads {
  #read: { readonly atMs: number; readonly load: Promise<RunLoad> } | undefined;

  readonly #cores: CoreUse;

  constructor(private readonly parts: RunLoadParts) {
    this.#cores = new CoreUse(parts.clock);
  }

  read(): Promise<RunLoad> {
    const atMs = this.parts.clock.monotonicMs();
    if (!this.#read || atMs - this.#read.atMs >= FRESH_MS) this.#read = { atMs, load: this.#count() };
    return this.#read.load;
  }

  async #count(): Promise<RunLoad> {
    const { sql, server, worker } = this.parts;
    const cores = this.#cores.read();
    const runs = await countRunLoad(WORKER, sql, server);
    return { ...runs, places: worker.places, ...(cores === undefined ? {} : { cores }) };
  }
}

/** Work that is due sooner keeps the server: to stop and to start again takes as long. */
const SHORTEST_STOP_MS = 10_000;

/** Least time between two wake-ups of a deployment for upkeep that may be late. */
const UPKEEP_MS = 3_600_000;

export interface IdleCheckParts {
  readonly sql: Sql;
  readonly server: ServerIdentity;
  readonly activity: {
    readonly idleMs: number;
    readonly isClosed: boolean;
    touch(): void;
    close(): void;
    reopen(): void;
  };
  /** Runs in progress at this server. */
  readonly worker: { readonly runs: readonly unknown[] };
  /** True when traces are erased at the platform. */
  readonly erases: boolean;
}

/**
 * Checks whether this server, and with it its deployment, is idle, for the listener that stops it then. The
 * server is closed before the database is read, so that no request in between stores work that would never be
 * done.
 */
export class IdleCheck {
  constructor(private readonly parts: IdleCheckParts) {}

  /** @param close refuse requests from now on, if there is no work; ends by itself after a minute */
  async ask(close: boolean): Promise<IdleAnswer> {
    const { activity } = this.parts;
    // asked again: its earlier answer holds no longer
    activity.reopen();
    if (close && activity.idleMs > 0) activity.close();
    try {
      const work = await this.#look();
      if (work.isBusy) activity.reopen();
      return { ...work, idleMs: activity.idleMs, isClosed: activity.isClosed };
    } catch (error) {
      activity.reopen();
      throw error;
    }
  }

  async #look(): Promise<Pick<IdleAnswer, 'isBusy' | 'workInMs'>> {
    const { sql, server, worker, activity, erases } = this.parts;
    const work = await findNextWork(WORKER, sql, server, erases);
    const isWorking = work.isAtWork || worker.runs.length > 0;
    const isBusy = isWorking || (work.dueInMs !== undefined && work.dueInMs < SHORTEST_STOP_MS);
    if (isWorking) activity.touch();
    return { isBusy, workInMs: workInMs(work) };
  }
}

function workInMs({ dueInMs, upkeepInMs }: NextWork): number | undefined {
  const upkeepMs = upkeepInMs === undefined ? Infinity : Math.max(UPKEEP_MS, upkeepInMs);
  const nextMs = Math.min(dueInMs ?? Infinity, upkeepMs);
  return Number.isFinite(nextMs) ? Math.max(0, nextMs) : undefined;
}
