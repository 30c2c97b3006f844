import { PublicError } from '#lib/errors';
import type { JsonObject } from '#lib/json';
import type { Clock } from '#lib/time';
import type { Assistants } from '../assistant/assistants.js';
import type { GraphRegistry } from '../graph/graph-registry.js';
import type { QueuedRun, Queueing } from '../store/row/queued-run.js';
import { hasEnded, type CancelAction, type RunRecord, type WireRun } from '../store/row/run-row.js';
import type { StoredRun } from '../store/row/stored-run.js';
import { cancelRun } from '../store/run/cancel-run.js';
import { findRun } from '../store/run/find-run.js';
import { findWebhook } from '../store/webhook/find-webhook.js';
import { submitRun } from '../store/run/submit-run.js';
import type { Scope } from '../store/scope.js';
import type { ServerIdentity } from '../store/server-identity.js';
import type { Sql } from '../store/sql.js';
import { kwargsOf } from './kwargs-of.js';
import type { RequestedRun } from './requested-run.js';
import { CANCELLED } from './run-execution.js';
import type { RunFeeds, RunReader, RunResult } from './run-feed.js';
import type { RunFollower } from './run-follower.js';
import { runResult } from './run-result.js';
import type { TemporaryRuns } from './temporary-runs.js';
import { uuid7 } from './uuid7.js';
import type { WebhookPolicy } from '../webhook/webhook-policy.js';
import type { Worker } from './worker.js';

/** Who asks for runs, and on which thread. */
export interface Asker {
  readonly scope: Scope;
  /** Undefined for a run without a thread. */
  readonly threadId: string | undefined;
  /** Headers and the caller, as graphs see them in `configurable`. */
  readonly fields: JsonObject;
}

export interface Submitted {
  readonly run: WireRun;
  readonly isTemporary: boolean;
  /** Stops the reading; nothing when no reader was given. */
  readonly stopReading: () => void;
}

export interface RunServiceParts {
  readonly sql: Sql;
  readonly server: ServerIdentity;
  readonly assistants: Assistants;
  readonly graphs: GraphRegistry;
  readonly temporary: TemporaryRuns;
  readonly feeds: RunFeeds;
  readonly follower: RunFollower;
  readonly worker: Worker;
  readonly webhooks: WebhookPolicy;
  readonly clock: Clock;
}

/** Timers cannot wait longer; polling finds runs that are delayed for weeks. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

const NOTHING = (): void => undefined;

/** Runs, as requests see them. Every method speaks for a caller. */
export class RunService {
  constructor(private readonly parts: RunServiceParts) {}

  /**
   * Makes a run and begins it here when a place is free.
   * @param reader gets all its output, from the first event
   * @throws PublicError `not_found` (assistant, thread), `conflict` (strategy `reject`), `forbidden` (scope), `invalid`
   *   (webhook)
   */
  async submit(asker: Asker, request: RequestedRun, reader?: RunReader): Promise<Submitted> {
    const { feeds, worker } = this.parts;
    const run = await this.#storedRun(asker, request);
    const queueing = this.#queueing(asker, request, reader !== undefined);
    const stopReading = reader ? feeds.open(run.runId).read(reader) : NOTHING;
    try {
      const queued = await this.#queue(asker.scope, run, queueing);
      if (queued.status === 'running') worker.startReserved(asClaimed(run));
      else this.#waitForTurn(run.runId, queueing);
      return { run: onWire(run, queueing, queued), isTemporary: run.isTemporary, stopReading };
    } catch (error) {
      if (queueing.startsHere) worker.release();
      stopReading();
      feeds.close(run.runId);
      throw error;
    }
  }

  async #storedRun({ scope, threadId, fields }: Asker, request: RequestedRun): Promise<StoredRun> {
    const { assistants, graphs, webhooks, clock } = this.parts;
    const assistant = await assistants.get(scope, request.assistant_id);
    if (!graphs.has(assistant.graph_id))
      throw new PublicError('not_found', `Graph "${assistant.graph_id}" is not part of this deployment`);
    const webhook = request.webhook ? await webhooks.admit(request.webhook) : undefined;
    const now = clock.now();
    return {
      runId: uuid7(now),
      threadId: threadId ?? uuid7(now),
      isTemporary: threadId === undefined && request.on_completion !== 'keep',
      assistantId: assistant.assistant_id,
      graphId: assistant.graph_id,
      metadata: { ...assistant.metadata, ...request.config?.metadata, ...request.metadata },
      kwargs: kwargsOf(request, { assistant, caller: fields, webhook }),
    };
  }

  /** Promises a place of the worker where the run may start at once. */
  #queueing({ threadId }: Asker, request: RequestedRun, isWatched: boolean): Queueing {
    const delayMs = Math.round((request.after_seconds ?? 0) * 1000);
    return {
      strategy: request.multitask_strategy ?? 'enqueue',
      delayMs,
      startsHere: delayMs === 0 && this.parts.worker.reserve(),
      isWatched,
      createsThread: threadId === undefined || request.if_not_exists === 'create',
    };
  }

  #queue(scope: Scope, run: StoredRun, queueing: Queueing): Promise<QueuedRun> {
    const { sql, server, temporary } = this.parts;
    return run.isTemporary
      ? temporary.submit({ scope, run, queueing })
      : submitRun(scope, sql, server, run, queueing);
  }

  #waitForTurn(runId: string, { startsHere, delayMs, isWatched }: Queueing): void {
    const { clock, follower, worker } = this.parts;
    if (startsHere) worker.release();
    if (delayMs > 0) clock.after(Math.min(delayMs, LONGEST_TIMER_MS), () => worker.wake());
    else worker.wake();
    if (isWatched) follower.follow(runId, true);
  }

  /** @throws PublicError `not_found` */
  async get(scope: Scope, runId: string, threadId?: string): Promise<RunRecord> {
    const record = await findRun(scope, this.parts.sql, runId, threadId);
    if (!record) throw new PublicError('not_found', `Run ${runId} not found`);
    return record;
  }

  /** A run on the wire, with how far its webhook is once it has ended. @throws PublicError `not_found` */
  async describe(scope: Scope, runId: string, threadId?: string): Promise<object> {
    const { wire } = await this.get(scope, runId, threadId);
    const webhook = await findWebhook(scope, this.parts.sql, runId);
    return webhook ? { ...wire, webhook } : wire;
  }

  /** @throws PublicError `invalid` for an address that must not be called */
  async admitWebhook(webhook: string): Promise<void> {
    await this.parts.webhooks.admit(webhook);
  }

  /**
   * Reads a run's output from now on; one that has ended ends the reader at once.
   * @throws PublicError `not_found`
   */
  async read(
    scope: Scope,
    runId: string,
    threadId: string | undefined,
    reader: RunReader,
  ): Promise<() => void> {
    const { sql, feeds, follower, worker } = this.parts;
    // Taken hold of before the row is read: a feed that ends meanwhile still has the result
    const feedHere = worker.find(runId) && feeds.open(runId);
    const record = await this.get(scope, runId, threadId);
    if (feedHere) return feedHere.read(reader);
    if (hasEnded(record)) {
      reader.ended(await runResult(scope, sql, record));
      return NOTHING;
    }
    const feed = feeds.open(runId);
    if (record.wire.status === 'running') feed.open(record.attempt);
    const stopReading = feed.read(reader);
    if (!worker.find(runId)) follower.follow(runId);
    return stopReading;
  }

  /**
   * Begins to wait for a run's end.
   * @returns once the waiting has begun, so that the end of the run is not missed; `ended` is the end
   * @throws PublicError `not_found`
   */
  async wait(scope: Scope, runId: string, threadId: string): Promise<{ ended: Promise<RunResult> }> {
    const { promise, resolve } = Promise.withResolvers<RunResult>();
    await this.read(scope, runId, threadId, { event: NOTHING, ended: resolve });
    return { ended: promise };
  }

  /** Asks for a run's end; one that has ended already is what was asked for. @throws PublicError `not_found` */
  async cancel(scope: Scope, runId: string, threadId: string, action: CancelAction): Promise<void> {
    const outcome = await cancelRun(scope, this.parts.sql, runId, threadId, action);
    switch (outcome) {
      case 'no_run':
        throw new PublicError('not_found', `Run ${runId} not found`);
      case 'ended':
        return undefined;
      case 'done':
        return this.#endUnbegun(runId);
      case 'asked':
        return this.parts.worker.find(runId)?.stop({ kind: 'cancelled', action });
      default:
        outcome satisfies never;
    }
  }

  /** Readers here of a run that will never begin end at once instead of at the next look at its row. */
  #endUnbegun(runId: string): void {
    const { feeds, follower } = this.parts;
    follower.unfollow(runId);
    feeds.find(runId)?.publish({ event: 'error', data: JSON.stringify(CANCELLED) });
    feeds.end(runId, { body: JSON.stringify({ __error__: CANCELLED }) });
  }
}

/** A run that began where it was made. */
function asClaimed(run: StoredRun) {
  return { ...run, attempt: 1, cancel: undefined, watchers: [] };
}

function onWire(run: StoredRun, { strategy }: Queueing, { status, createdAt }: QueuedRun): WireRun {
  const at = createdAt.toISOString();
  return {
    run_id: run.runId,
    thread_id: run.threadId,
    assistant_id: run.assistantId,
    created_at: at,
    updated_at: at,
    status,
    metadata: run.metadata,
    kwargs: run.kwargs,
    multitask_strategy: strategy,
  };
}
