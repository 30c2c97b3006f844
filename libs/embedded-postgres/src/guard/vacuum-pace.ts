import type { OwnConnection } from '#lib/postgres';
import type { Clock } from '#lib/time';

/** Shortest time between two vacuum workers of a database, and longest: one that is busy waits for no more. */
const LEAST_SECONDS = 30;
const MOST_SECONDS = 300;
/** Default time between the workers of two databases: one that finds nothing to do takes 4 ms of CPU. */
const SECONDS_OF_DATABASE = 1;
const LOOK_MS = 60_000;
/** Share by which the number of databases changes before the setting does. */
const SLACK = 0.2;

/** A function alone, which takes no entry of the lock table. */
const COUNT = "SELECT count(*)::int AS databases FROM pg_ls_dir('base')";

export interface VacuumPaceOptions {
  /** Runs work in a session that is in no transaction. @returns whether it was done */
  readonly change: (work: (connection: OwnConnection) => Promise<void>) => Promise<boolean>;
  readonly clock: Clock;
  readonly secondsOfDatabase?: number;
}

/**
 * Starts vacuum workers in proportion to the work. Postgres starts one for each database within `autovacuum_naptime`, and
 * each deployment has a database: with 200 that slept, workers without work took 2.5 % of a core.
 */
export class VacuumPace {
  #seconds = 0;
  #lookedMs = -Infinity;

  constructor(private readonly options: VacuumPaceOptions) {}

  async look(connection: OwnConnection): Promise<void> {
    const { clock, change, secondsOfDatabase = SECONDS_OF_DATABASE } = this.options;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#lookedMs < LOOK_MS) return;
    this.#lookedMs = nowMs;
    const { rows } = await connection.query<{ databases: number }>(COUNT);
    const wanted = (rows[0]?.databases ?? 0) * secondsOfDatabase;
    const seconds = Math.min(MOST_SECONDS, Math.max(LEAST_SECONDS, wanted));
    if (Math.abs(seconds - this.#seconds) < this.#seconds * SLACK) return;
    const isDone = await change(async (own) => {
      await own.query(`ALTER SYSTEM SET autovacuum_naptime = '${seconds}s'`);
      await own.query('SELECT pg_reload_conf()');
    });
    if (isDone) this.#seconds = seconds;
  }
}
