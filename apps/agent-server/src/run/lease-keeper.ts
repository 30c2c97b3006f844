import { errorText } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { RunEnds } from '../store/run-ends.js';
import { END, type RunEvents } from '../store/run-events.js';
import type { RunLeases } from '../store/run-leases.js';
import { FencedError } from '../store/run-row.js';
import type { Worker } from './worker.js';

/** Heartbeats in the time of one lease. */
const BEATS_PER_LEASE = 4;

/** Beats between two sweeps of old relayed events. */
const SWEEP_EVERY = 100;

export interface LeaseKeeperParts {
  readonly leases: RunLeases;
  readonly ends: RunEnds;
  readonly events: RunEvents;
  readonly worker: Worker;
  readonly serverId: string;
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Keeps our runs ours and takes over those of servers that fell silent.
 *
 * A machine that slept lets the leases of everybody on it run out at once. So a keeper that notices that it was itself
 * silent for longer than a lease renews its own and then judges nobody until a whole lease has passed: by then
 * everybody who lives has renewed.
 */
export class LeaseKeeper {
  #cancel: (() => void) | undefined;
  #isStopped = false;
  #lastBeat: { wallMs: number; monotonicMs: number };
  #judgesFrom = 0;
  #beats = 0;
  #beating: Promise<void> = Promise.resolve();

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
  }

  #now(): { wallMs: number; monotonicMs: number } {
    const { clock } = this.parts;
    return { wallMs: clock.now().getTime(), monotonicMs: clock.monotonicMs() };
  }

  #schedule(): void {
    if (this.#isStopped) return;
    this.#cancel = this.parts.clock.after(this.parts.leaseMs / BEATS_PER_LEASE, () => {
      this.#beating = this.#beat().finally(() => this.#schedule());
    });
  }

  async #beat(): Promise<void> {
    const { clock, leaseMs, log } = this.parts;
    const now = this.#now();
    // One of the two clocks stands still while a machine sleeps; which one depends on the system.
    const silentMs = Math.max(
      now.wallMs - this.#lastBeat.wallMs,
      now.monotonicMs - this.#lastBeat.monotonicMs,
    );
    if (silentMs > leaseMs) {
      log.warn({ silentMs: Math.round(silentMs) }, 'this server was asleep for longer than a lease');
      this.#judgesFrom = now.monotonicMs + leaseMs;
    }
    this.#lastBeat = now;
    try {
      await this.#renew();
      if (clock.monotonicMs() >= this.#judgesFrom) await this.#takeOver();
      if (this.#beats++ % SWEEP_EVERY === 0) await this.parts.events.sweep();
    } catch (error) {
      log.warn({ error: errorText(error) }, 'leases could not be renewed');
    }
  }

  async #renew(): Promise<void> {
    const { clock, leases, worker, serverId } = this.parts;
    const runs = worker.runs;
    if (runs.length === 0) return;
    const askedAtMs = clock.monotonicMs();
    const renewed = new Map((await leases.renew(runs)).map((run) => [run.runId, run]));
    for (const run of runs) {
      const execution = worker.find(run.runId);
      if (execution?.run !== run) continue; // ended meanwhile
      const found = renewed.get(run.runId);
      if (!found) {
        execution.stop({ kind: 'lost', error: new FencedError(run.runId, run.attempt) });
        continue;
      }
      worker.renewed(run, askedAtMs);
      if (found.cancel) execution.stop({ kind: 'cancelled', action: found.cancel });
      if (found.watchers.some((watcher) => watcher !== serverId)) worker.relay(run.runId);
    }
  }

  async #takeOver(): Promise<void> {
    const { leases, ends, worker, log } = this.parts;
    const places = worker.freePlaces;
    if (places > 0)
      for (const run of await leases.takeOver(places)) {
        log.info({ runId: run.runId, attempt: run.attempt }, 'took over a run of a silent server');
        worker.begin(run);
      }
    for (const run of await leases.listWornOut()) {
      const error = {
        error: 'ServerLost',
        message: `The run ended its server ${run.attempt} times and was given up`,
      };
      await ends.finish(run, { status: 'error', threadStatus: 'error', error });
      const body = JSON.stringify({ __error__: error });
      if (run.watchers.length > 0)
        await this.parts.events.append({ runId: run.runId, attempt: run.attempt, event: END, data: body });
      log.error({ runId: run.runId, attempt: run.attempt }, 'a run was given up');
    }
  }
}
