import { PublicError } from '#lib/errors';
import { inTurns, isJsonObject, type JsonObject, type MutableJsonObject } from '#lib/json';
import type { Clock } from '#lib/time';
import type { Assistants } from '../assistant/assistants.js';
import { requireRunMetadata } from '../store/json-text.js';
import { type ClaimedRun, RunInput, type ServerIdentity } from '../store/row/claimed-run.js';
import {
  type QueuedRun,
  type Queueing,
  RUN_FIELDS,
  runText,
  shownKwargs,
  type CancelAction,
  type WireRun,
  type StoredRun,
} from '../store/row/run-row.js';
import { cancelRun } from '../store/statement/finish-run.js';
import { findObstacle, type RunLimits } from '../store/statement/claim-runs.js';
import { findRun, type RunHead } from '../store/statement/runs.js';
import { withMembers } from '../wire/wire-value.js';
import { requireAdmitted } from '../store/statement/change-thread.js';
import { findThreadHead } from '../store/statement/threads.js';
import { findWebhook } from '../store/statement/webhooks.js';
import { submitRun } from '../store/statement/submit-run.js';
import { leftOf, type Scope } from '../store/scope.js';
import type { Sql } from '../store/sql.js';
import { configOfRun, kwargsOf, type Submitter, type RequestedRun, uuid7 } from './requested-run.js';
import { getRunHead, runNotFound } from './run-result.js';
import { CANCELLED } from '../protocol/execution.js';
import type { RunFollower } from './run-follower.js';
import type { RunLogs } from './run-logs.js';
import type { RunOutputs } from './run-outputs.js';
import type { RunPriorities } from './run-priorities.js';
import type { RunReader } from './run-reading.js';
import type { TemporaryRuns, ThreadRuns } from './thread-runs.js';
import type { ThreadWatch } from './thread-watch.js';
import type { WebhookPolicy } from '../webhook/webhook-policy.js';
import type { Worker } from './worker.js';

/** Client that asks for runs, and the thread of these. */
export interface Asker {
  readonly scope: Scope;
  /** Undefined for a run without a thread. */
  readonly threadId: string | undefined;
  /** Headers and the caller, as graphs see them in `configurable`. */
  readonly fields: JsonObject;
  /** The scope for an assistant that a caller made; by default that of the run. */
  readonly assistantScope?: (assistantId: string) => Promise<Scope>;
  /**
   * Scope for a thread that the run makes, whose metadata the handler may change; undefined without a
   * handler.
   */
  readonly newThreadScope?: ((thread: MutableJsonObject) => Promise<Scope>) | undefined;
}

export interface Submitted {
  readonly run: WireRun;
  readonly isTemporary: boolean;
  /** Stops the reading; nothing when no reader was given. */
  readonly stopReading: () => void;
}

/** One of several runs that are requested together. */
export interface RunOrder {
  /** Client, without a thread. */
  readonly asker: Asker;
  readonly request: RequestedRun;
}

/** A run on its way into the database. */
interface Submission {
  readonly scope: Scope;
  readonly run: StoredRun;
  readonly queueing: Queueing;
}

export interface RunServiceParts {
  readonly sql: Sql;
  readonly server: ServerIdentity;
  readonly assistants: Assistants;
  /** Ids of the graphs of this revision. */
  readonly graphs: ReadonlySet<string>;
  readonly temporary: TemporaryRuns;
  readonly onThreads: ThreadRuns;
  readonly logs: RunLogs;
  readonly outputs: Pick<RunOutputs, 'attach'>;
  readonly follower: RunFollower;
  readonly worker: Worker;
  readonly watch: Pick<ThreadWatch, 'follows' | 'announce'>;
  readonly webhooks: WebhookPolicy;
  readonly maxRecursionLimit: number;
  readonly limits: RunLimits;
  /** Undefined when the agent ranks no runs. */
  readonly priorities: RunPriorities | undefined;
  readonly clock: Clock;
}

/** Timers cannot wait longer; polling finds runs that are delayed for weeks. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Runs, as requests see them. Every method speaks for a caller. */
export class RunService {
  constructor(private readonly parts: RunServiceParts) {}

  /**
   * Makes a run and begins it here when a place is free.
   * @param reader gets all its output, from the first event
   * @param protocol of the output; readers of its thread need `v2`
   * @throws PublicError `not_found` (assistant, thread), `conflict` (strategy `reject`), `forbidden` (scope), `invalid`
   *   (webhook)
   */
  async submit(asker: Asker, request: RequestedRun, reader?: RunReader, protocol?: 'v2'): Promise<Submitted> {
    const { logs, outputs, webhooks, worker, watch } = this.parts;
    const output = { isStreamed: reader?.kind === 'output', protocol };
    const found = await this.#findFor(asker, request);
    const webhook = request.webhook ? await webhooks.admit(request.webhook) : undefined;
    const asked = this.#storedRun(asker, request, { ...output, ...found, webhook });
    const newThread = await this.#newThread(asker, request, asked);
    const run = await this.#ranked(asker, asked, found, newThread);
    const queueing = this.#queueing(request, newThread, reader !== undefined);
    const stopReading = reader
      ? outputs.attach(logs.open(run.runId), reader, { kind: 'now' })
      : () => undefined;
    if (watch.follows(run.threadId)) logs.record(logs.open(run.runId));
    try {
      const queued = await this.#queue(asker.scope, run, queueing);
      const begun = this.#begun({ run, queueing }, queued);
      if (asker.threadId !== undefined) watch.announce(asker.threadId);
      return { run: begun, isTemporary: run.isTemporary, stopReading };
    } catch (error) {
      if (queueing.startsHere) worker.release();
      stopReading();
      logs.release(logs.open(run.runId));
      throw error;
    }
  }

  /**
   * Makes runs that name no thread: all of them, or none.
   * @throws PublicError as of {@link submit}, for the first that is refused
   */
  async submitAll(orders: readonly RunOrder[]): Promise<WireRun[]> {
    const { sql, webhooks, worker } = this.parts;
    const [first] = orders;
    if (!first) return [];
    const called = orders.flatMap(({ request: { webhook } }) => (webhook ? [webhook] : []));
    const admitted = await webhooks.admitAll(called);
    const urls = new Map(called.map((given, at) => [given, admitted[at]]));
    const asked = await Promise.all(
      orders.map(async (order) => ({
        ...order,
        found: await this.#findFor(order.asker, order.request),
      })),
    );
    const stored = await Promise.all(
      asked.map(async ({ asker, request, found }) => {
        const webhook = request.webhook ? urls.get(request.webhook) : undefined;
        const run = this.#storedRun(asker, request, { ...found, webhook, isStreamed: false });
        const newThread = await this.#newThread(asker, request, run);
        return { asker, request, run: await this.#ranked(asker, run, found, newThread), newThread };
      }),
    );
    const submissions = stored.map(({ asker, request, run, newThread }): Submission => ({
      scope: asker.scope,
      run,
      queueing: this.#queueing(request, newThread, false),
    }));
    let queued: readonly (readonly [Submission, QueuedRun])[];
    try {
      queued = await sql.transaction(first.asker.scope, (inside) => this.#queueAll(inside, submissions));
    } catch (error) {
      for (const { queueing } of submissions) if (queueing.startsHere) worker.release();
      throw error;
    }
    return queued.map(([submission, outcome]) => this.#begun(submission, outcome));
  }

  async #queueAll(
    inside: Sql,
    submissions: readonly Submission[],
  ): Promise<(readonly [Submission, QueuedRun])[]> {
    const { server, temporary } = this.parts;
    const passing = await temporary.submitAll(
      inside,
      submissions.filter(({ run }) => run.isTemporary),
    );
    const queued: [Submission, QueuedRun][] = [];
    for (const submission of submissions) {
      const { scope, run, queueing } = submission;
      const outcome = passing.get(run.runId) ?? (await submitRun(scope, inside, server, run, queueing));
      queued.push([submission, outcome]);
    }
    return queued;
  }

  /** Begins or queues a run whose row is written. */
  #begun({ run, queueing }: Omit<Submission, 'scope'>, queued: QueuedRun): WireRun {
    if (queued.status === 'running') this.parts.worker.startReserved(asClaimed(run, queued));
    else this.#waitForTurn(run.runId, queueing);
    return onWire(run, queueing, queued);
  }

  /** @throws PublicError `not_found`, `invalid` (recursion limit) */
  async #findFor(
    { scope, assistantScope }: Asker,
    request: RequestedRun,
  ): Promise<Pick<Submitter, 'assistant' | 'config'>> {
    const { assistants, graphs } = this.parts;
    const assistant = await assistants.forRun(request.assistant_id, assistantScope ?? (() => scope));
    if (!graphs.has(assistant.graph_id))
      throw new PublicError('not_found', `Graph "${assistant.graph_id}" is not part of this deployment`);
    return { assistant, config: configOfRun(request, assistant, this.parts.maxRecursionLimit) };
  }

  #storedRun(
    { threadId, fields }: Asker,
    request: RequestedRun,
    given: Omit<Submitter, 'caller'>,
  ): StoredRun {
    const { assistant, config } = given;
    const now = this.parts.clock.now();
    const metadata = { ...assistant.metadata, ...config.metadata, ...request.metadata };
    requireRunMetadata(metadata);
    return {
      runId: uuid7(now),
      threadId: threadId ?? uuid7(now),
      isTemporary: threadId === undefined && request.on_completion !== 'keep',
      assistantId: assistant.assistant_id,
      graphId: assistant.graph_id,
      metadata,
      kwargs: kwargsOf(request, { ...given, caller: fields }),
    };
  }

  async #ranked(
    { scope, threadId }: Asker,
    run: StoredRun,
    { assistant }: Pick<Submitter, 'assistant'>,
    newThread: JsonObject | undefined,
  ): Promise<StoredRun> {
    const { priorities, sql } = this.parts;
    return priorities?.ranked(scope, sql, { run, assistant, threadId, newThread }) ?? run;
  }

  /** Promises a place of the worker where the run may start at once. */
  #queueing(request: RequestedRun, newThread: JsonObject | undefined, isWatched: boolean): Queueing {
    const delayMs = Math.round((request.after_seconds ?? 0) * 1000);
    return {
      strategy: request.multitask_strategy ?? 'enqueue',
      delayMs,
      startsHere: delayMs === 0 && this.parts.worker.reserve(),
      isWatched,
      newThread,
    };
  }

  /**
   * Metadata of the thread that a run makes when it has none; undefined for a run that makes none.
   * @throws errors of the handler of the agent, PublicError `forbidden`
   */
  async #newThread(
    { scope, threadId, newThreadScope }: Asker,
    request: RequestedRun,
    run: StoredRun,
  ): Promise<JsonObject | undefined> {
    if (threadId !== undefined && request.if_not_exists !== 'create') return undefined;
    const metadata = request.metadata ?? {};
    if (!newThreadScope || run.isTemporary) return metadata;
    const { sql } = this.parts;
    if (threadId !== undefined && (await findThreadHead(scope, sql, threadId))) return metadata;
    const asked: MutableJsonObject = {
      thread_id: threadId,
      if_exists: 'do_nothing',
      metadata: structuredClone(metadata),
    };
    const created = await newThreadScope(asked);
    const left = isJsonObject(asked['metadata']) ? asked['metadata'] : {};
    await requireAdmitted(created, sql, left, `Thread ${run.threadId}`);
    return left;
  }

  #queue(scope: Scope, run: StoredRun, queueing: Queueing): Promise<QueuedRun> {
    const { temporary, onThreads } = this.parts;
    return run.isTemporary
      ? temporary.submit({ scope, run, queueing })
      : onThreads.submit(scope, run, queueing);
  }

  #waitForTurn(runId: string, { startsHere, delayMs, isWatched }: Queueing): void {
    const { clock, follower, logs, worker } = this.parts;
    if (startsHere) worker.release();
    if (delayMs > 0) clock.after(Math.min(delayMs, LONGEST_TIMER_MS), () => worker.wake());
    else worker.wake();
    if (isWatched) follower.follow(logs.open(runId), { isMarked: true });
  }

  /** @throws PublicError `not_found` */
  get(scope: Scope, runId: string, threadId?: string): Promise<RunHead> {
    return getRunHead(scope, this.parts.sql, runId, threadId);
  }

  /**
   * A run on the wire as JSON text, with the reason for which it waits, and the delivery state of its webhook
   * once it has ended.
   * @throws PublicError `not_found`
   */
  async describe(scope: Scope, runId: string, threadId?: string): Promise<string> {
    const { sql, limits } = this.parts;
    const { status, text } = await sql.lookIfSmall(scope, async (mayBeLarge) => {
      const row = await findRun(scope, sql, { runId, threadId }, mayBeLarge);
      if (!row) throw runNotFound(runId);
      if (row.kwargs === null) return 'large';
      return { status: row.status, text: await inTurns(runText(row, RUN_FIELDS), leftOf(scope)) };
    });
    const more =
      status === 'pending'
        ? { waiting_for: await findObstacle(scope, sql, runId, limits) }
        : { webhook: await findWebhook(scope, sql, runId) };
    return withMembers(text, more);
  }

  /**
   * Requests the end of a run; one that has ended already is left as it is.
   * @param reason shown with the run
   * @throws PublicError `not_found`
   */
  async cancel(
    scope: Scope,
    runId: string,
    threadId: string,
    action: CancelAction,
    reason?: string,
  ): Promise<void> {
    const outcome = await cancelRun(scope, this.parts.sql, runId, threadId, action, reason);
    switch (outcome) {
      case 'no_run':
        throw runNotFound(runId);
      case 'ended':
        return undefined;
      case 'done':
        return this.#endUnbegun(runId);
      case 'asked':
        return this.parts.worker.find(runId)?.stop({ kind: 'cancelled', action, why: reason });
      default:
        outcome satisfies never;
    }
  }

  /** Readers here of a run that will never begin end at once instead of at the next poll of its row. */
  #endUnbegun(runId: string): void {
    const { logs, follower } = this.parts;
    follower.unfollow(runId);
    logs.find(runId)?.events.append({ event: 'error', data: JSON.stringify(CANCELLED) });
    logs.end(runId, { body: JSON.stringify({ __error__: CANCELLED }) });
  }
}

/** Reason of runs that end with the clients who read them. */
export const CLIENT_LEFT = 'The client disconnected';

/** A longer input is read when its attempt begins, which may have to wait. */
const MAX_HELD_CHARS = 1024 * 1024;

/** A run that began where it was made. */
function asClaimed(run: StoredRun, { isThreadEmpty }: QueuedRun): ClaimedRun {
  const { runId, threadId, isTemporary, assistantId, graphId, metadata, kwargs } = run;
  const { streamed, resumable, webhook, feedback_keys: feedbackKeys } = kwargs;
  const input = JSON.stringify({ metadata, kwargs });
  return {
    runId,
    threadId,
    isTemporary,
    assistantId,
    graphId,
    webhook,
    feedbackKeys,
    input: new RunInput(input.length > MAX_HELD_CHARS ? undefined : input),
    isResumable: resumable ?? false,
    attempt: 1,
    ranMs: 0,
    cancel: undefined,
    watchers: [],
    isStreamed: streamed || resumable || false,
    ...(isThreadEmpty && { isThreadEmpty }),
  };
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
    kwargs: shownKwargs(run.kwargs),
    multitask_strategy: strategy,
    cancel_reason: null,
  };
}
