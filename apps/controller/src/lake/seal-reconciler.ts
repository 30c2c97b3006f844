import { type EventRecorder, type Informer, isAlreadyExists, type KubeClient } from '#lib/kube';
import { buildSealJob, buildSealSecret, type PlatformSettings, SEAL_JOB } from '#lib/manifests';
import { after, done, type Result } from '#lib/reconcile';
import { type BulkExportRun, EVENT, type Job, JOBS, type ObjectKey, SECRETS } from '#lib/resources';
import { type Logger, metrics } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { Lake } from '#lib/trace-store';
import { isFinished } from '../bulk-export/export-phase.js';
import { decideSeal, type SealWorld } from './decide-seal.js';

/** Dependencies of the reconciler. */
export interface SealTools {
  /** Undefined where no days are sealed. */
  readonly lake: Pick<Lake, 'look' | 'hasGarbage'> | undefined;
  readonly client: Pick<KubeClient, 'create' | 'delete' | 'find'>;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly runs: Pick<Informer<BulkExportRun>, 'list'>;
  readonly settings: PlatformSettings;
  readonly systemNamespace: string;
  readonly databaseUri: string;
  /** Keys of the lake's store, by variable. */
  readonly lakeKeys: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly log: Logger;
}

const LOOK_MS = 60_000;
/** Least time between two workers that have nothing to seal: what one could not delete, the next cannot either. */
const TIDY_MS = 300_000;
/** A worker that has ended leaves days behind where ten minutes were too short. */
const NEXT_MS = 1_000;

/**
 * Makes the Job of a worker that seals days while some are due, one at a time: the Job has one name, so the API server
 * refuses a second. Job and Secret go when it has ended; a failed Job stays for ten minutes, for its log.
 */
export class SealReconciler {
  readonly #tools: SealTools;
  #heldSinceMs: number | undefined;
  /** Time from which files alone are a reason for a worker. */
  #nextTidyMs = 0;
  /** Uid of the failed Job that was reported last. */
  #reported: string | undefined;

  constructor(tools: SealTools) {
    this.#tools = tools;
  }

  /** Called at every change of the Job, and each minute. */
  async reconcile(): Promise<Result> {
    const { lake } = this.#tools;
    if (!lake) return done();
    const world = await this.#observe(lake);
    const decision = decideSeal(world);
    switch (decision.kind) {
      case 'make':
        await this.#make();
        this.#nextTidyMs = this.#tools.clock.monotonicMs() + TIDY_MS;
        return after(LOOK_MS);
      case 'remove':
        if (decision.outcome === 'completed') metrics.lakeWorkers.add(1, { outcome: 'completed' });
        await this.#tools.client.delete(SECRETS, this.#key());
        await this.#tools.client.delete(JOBS, this.#key());
        return after(NEXT_MS);
      case 'keep-failed':
        if (world.job) await this.#report(world.job, decision.message);
        return after(Math.min(LOOK_MS, decision.removeInMs));
      case 'wait':
        return after(LOOK_MS);
      default:
        return decision satisfies never;
    }
  }

  async #observe(lake: Pick<Lake, 'look' | 'hasGarbage'>): Promise<SealWorld> {
    const { client, clock } = this.#tools;
    const due = await lake.look();
    const hasGarbage = clock.monotonicMs() >= this.#nextTidyMs && (await lake.hasGarbage());
    metrics.lakeDaysDue.set(due);
    // the server is asked: a cache that lags would show no Job
    return {
      job: await client.find(JOBS, this.#key()),
      due,
      hasGarbage,
      heldMs: this.#heldMs(),
      now: clock.now(),
    };
  }

  #heldMs(): number | undefined {
    const { runs, clock } = this.#tools;
    const doesWait = runs.list().some((run) => !isFinished(run) && (run.status?.attempt ?? 0) === 0);
    this.#heldSinceMs = doesWait ? (this.#heldSinceMs ?? clock.monotonicMs()) : undefined;
    return this.#heldSinceMs === undefined ? undefined : clock.monotonicMs() - this.#heldSinceMs;
  }

  /** A Secret without a Job is left by a controller that died in between; it may hold former credentials. */
  async #make(): Promise<void> {
    const { client, databaseUri, lakeKeys, settings, systemNamespace, log } = this.#tools;
    const credentials = { databaseUri, lakeKeys, trustedCa: settings.trustedCa };
    await client.delete(SECRETS, this.#key());
    await client.create(SECRETS, buildSealSecret(systemNamespace, credentials));
    try {
      await client.create(JOBS, buildSealJob(systemNamespace, settings));
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    log.info({ job: SEAL_JOB }, 'started a worker that seals days');
  }

  async #report(job: Job, why: string): Promise<void> {
    const { client, events, log } = this.#tools;
    const { uid } = job.metadata;
    if (this.#reported === uid) return;
    this.#reported = uid;
    const message = `sealing days failed: ${why}; the log of the Job's pod and "agentplane lake status" say more`;
    metrics.lakeWorkers.add(1, { outcome: 'failed' });
    log.error({ job: SEAL_JOB, why }, 'sealing days failed');
    events.record(JOBS, job, { type: 'Warning', reason: EVENT.sealingFailed, message });
    await client.delete(SECRETS, this.#key());
  }

  #key(): ObjectKey & { readonly namespace: string } {
    return { namespace: this.#tools.systemNamespace, name: SEAL_JOB };
  }
}
