import type { IdleAnswer } from '#lib/lifecycle';
import { findNextWork, type NextWork } from '../store/run/run-load.js';
import type { ServerIdentity } from '../store/server-identity.js';
import type { Sql } from '../store/sql.js';
import { WORKER } from '../store/worker-scope.js';

/** Work that is due sooner keeps the server: to stop and to start again takes as long. */
const SHORTEST_MS = 10_000;

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
    const isBusy = isWorking || (work.dueInMs !== undefined && work.dueInMs < SHORTEST_MS);
    if (isWorking) activity.touch();
    return { isBusy, workInMs: workInMs(work) };
  }
}

function workInMs({ dueInMs, upkeepInMs }: NextWork): number | undefined {
  const upkeepMs = upkeepInMs === undefined ? Infinity : Math.max(UPKEEP_MS, upkeepInMs);
  const nextMs = Math.min(dueInMs ?? Infinity, upkeepMs);
  return Number.isFinite(nextMs) ? Math.max(0, nextMs) : undefined;
}
