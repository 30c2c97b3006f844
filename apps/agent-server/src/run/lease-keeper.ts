import { errorText } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { sweepRunEvents } from '../store/statement/run-events.js';
import { type ClaimedRun, FencedError, serverLost, type ServerIdentity } from '../store/row/claimed-run.js';
import { listWornOutRuns, renewLeases, takeOverRuns } from '../store/statement/claim-runs.js';
import { finishRun } from '../store/statement/finish-run.js';
import type { Sql } from '../store/sql.js';
import { WORKER } from '../store/worker-scope.js';
import type { LogLimits } from './run-logs.js';
import type { RunRelay } from './run-relay.js';
import type { TemporaryRuns } from './thread-runs.js';
import type { Worker } from './worker.js';
import { runLogFields } from '../wire/run-log-fields.js';

/** Heartbeats in the time of one lease. */
const BEATS_PER_LEASE = 4;

/** Beats between two sweeps of the output that was kept for readers. */
const SWEEP_EVERY = 16;

export interface LeaseKeeperParts {
  readonly sql: Sql;
  /** Sql on a separate connection. */
  readonly renewals: Sql;
  readonly server: ServerIdentity;
  readonly temporary: TemporaryRuns;
  readonly relay: RunRelay;
  readonly worker: Worker;
  /** Times for which output is kept for readers that come back. */
  readonly kept: Pick<LogLimits, 'keptMs' | 'resumableMs'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Keeps our runs ours and takes over those of servers that fell silent.
 *
 * After a sleep of the machine, the leases of all its servers have run out at once. So a keeper that was
 * itself silent for longer than a lease renews its own and then takes nothing over until a whole lease has
 * passed: by then every server that is alive has renewed.
 */
export class LeaseKeeper {
  #cancel: (() => void) | undefined;
  #isStopped = false;
  #lastBeat: { wallMs: number; monotonicMs: number };
  #takesOverFrom = 0;
  #beats = 0;
  #beating: Promise<void> = Promise.resolve();
  /** Work beside the beats; undefined while there is none. */
  #upkeep: Promise<void> | undefined;

  constructor(private readonly parts: LeaseKeeperParts) {
    this.#lastBeat = this.#now();
  }

  start(): void {
    this.#lastBeat = this.#now();
    this.#schedule();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    await this.#beating;
    await this.#upkeep;
  }

  #now(): { wallMs: number; monotonicMs: number } {
    const { clock } = this.parts;
    return { wallMs: clock.now().getTime(), monotonicMs: clock.monotonicMs() };
  }

  #schedule(): void {
    if (this.#isStopped) return;
    this.#cancel = this.parts.clock.after(this.parts.server.leaseMs / BEATS_PER_LEASE, () => {
      this.#beating = this.#beat().finally(() => this.#schedule());
    });
  }

  async #beat(): Promise<void> {
    const { clock, log } = this.parts;
    const { leaseMs } = this.parts.server;
    const now = this.#now();
    // One of the two clocks stops while a machine sleeps; which one depends on the system.
    const silentMs = Math.max(
      now.wallMs - this.#lastBeat.wallMs,
      now.monotonicMs - this.#lastBeat.monotonicMs,
    );
    if (silentMs > leaseMs) {
      log.warn({ silentMs: Math.round(silentMs) }, 'this server was suspended for longer than a lease');
      this.#takesOverFrom = now.monotonicMs + leaseMs;
    }
    this.#lastBeat = now;
    try {
      await this.#renew();
      if (clock.monotonicMs() >= this.#takesOverFrom) await this.#takeOver();
    } catch (error) {
      log.warn({ error: errorText(error) }, 'renewing leases failed');
    }
    const sweeps = this.#beats++ % SWEEP_EVERY === 0;
    // these statements wait for connections and rows that others hold: the next beat does not wait for them
    this.#upkeep ??= this.#keepUp(sweeps)
      .catch((error: unknown) => log.warn({ error: errorText(error) }, 'cleaning up after runs failed'))
      .finally(() => (this.#upkeep = undefined));
  }

  async #keepUp(sweeps: boolean): Promise<void> {
    const { clock, kept, server, sql } = this.parts;
    if (clock.monotonicMs() >= this.#takesOverFrom)
      for (const run of await listWornOutRuns(WORKER, sql, server)) await this.#giveUp(run);
    if (sweeps) await sweepRunEvents(WORKER, sql, kept);
  }

  async #renew(): Promise<void> {
    const { clock, renewals, server, worker } = this.parts;
    const runs = worker.runs;
    if (runs.length === 0) return;
    const askedAtMs = clock.monotonicMs();
    const rows = await renewLeases(WORKER, renewals, server, worker.workedRuns);
    const renewed = new Map(rows.map((row) => [row.runId, row]));
    for (const run of runs) {
      const execution = worker.find(run.runId);
      if (execution?.run !== run) continue; // ended in the meantime
      const found = renewed.get(run.runId);
      if (!found) {
        execution.stop({ kind: 'lost', error: new FencedError(run.runId, run.attempt) });
        continue;
      }
      if (found.isRenewed) worker.renewed(run, askedAtMs);
      if (found.cancel) execution.stop({ kind: 'cancelled', ...found.cancel });
      const watchers = found.watchers.filter((watcher) => watcher !== server.serverId);
      if (watchers.length > 0) worker.relay(run.runId, watchers);
    }
  }

  async #takeOver(): Promise<void> {
    const { renewals, server, worker, log } = this.parts;
    const places = worker.freePlaces;
    if (places > 0)
      for (const run of await takeOverRuns(WORKER, renewals, server, places)) {
        log.info({ ...runLogFields(run), attempt: run.attempt }, 'took over a run of a silent server');
        worker.begin(run);
      }
  }

  async #giveUp(run: ClaimedRun): Promise<void> {
    const { sql, temporary, relay, log } = this.parts;
    const error = serverLost(run.attempt);
    const end = { status: 'error', threadStatus: 'error', error } as const;
    if (run.isTemporary) await temporary.end({ run, end, isRead: run.isStreamed, isRepeated: false });
    else await finishRun(WORKER, sql, run, end);
    if (run.watchers.length > 0 || run.isStreamed) {
      const body = JSON.stringify({ __error__: error });
      await relay.endAt(run.runId, { attempt: run.attempt + 1, n: 0 }, body);
    }
    log.error({ ...runLogFields(run), attempt: run.attempt }, 'failed a run that lost its server too often');
  }
}
