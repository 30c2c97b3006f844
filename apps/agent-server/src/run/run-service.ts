import { PublicError } from '#lib/errors';
import type { Clock } from '#lib/time';
import type { GraphRegistry } from '../graph/graph-registry.js';
import type { Assistants, WireAssistant } from '../store/assistants.js';
import type { NewRun, RunQueue } from '../store/run-queue.js';
import { ENDED, type RunRecord, type RunRecords } from '../store/run-records.js';
import type { CancelAction, ClaimedRun, WireRun } from '../store/run-row.js';
import type { Threads } from '../store/threads.js';
import { CANCELLED } from './run-execution.js';
import type { RunFeeds, RunReader, RunResult } from './run-feed.js';
import { resultOf, type RunFollower } from './run-follower.js';
import { kwargsOf, type RunRequest } from './run-request.js';
import { uuid7 } from './uuid7.js';
import type { Worker } from './worker.js';

/** Who makes a run, as graphs see it in `configurable`. */
export type CallerFields = Readonly<Record<string, unknown>>;

export interface Submitted {
  readonly run: WireRun;
  readonly isTemporary: boolean;
  /** Stops the reading; nothing when no reader was given. */
  readonly stopReading: () => void;
}

export interface RunServiceParts {
  readonly assistants: Assistants;
  readonly graphs: GraphRegistry;
  readonly queue: RunQueue;
  readonly records: RunRecords;
  readonly threads: Threads;
  readonly feeds: RunFeeds;
  readonly follower: RunFollower;
  readonly worker: Worker;
  readonly clock: Clock;
}

/** Timers cannot wait longer; polling finds runs that are delayed for weeks. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

const NOTHING = (): void => undefined;

/** Runs, as requests see them. */
export class RunService {
  constructor(private readonly parts: RunServiceParts) {}

  /**
   * Makes a run and begins it here when there is a place.
   * @param threadId undefined for a run without a thread
   * @param reader gets all its output, from the first event
   * @throws PublicError `not_found` (assistant, thread), `conflict` (strategy `reject`)
   */
  async submit(
    request: RunRequest,
    threadId: string | undefined,
    caller: CallerFields,
    reader?: RunReader,
  ): Promise<Submitted> {
    const { queue, feeds, follower, worker } = this.parts;
    const assistant = await this.#assistantFor(request);
    const isTemporary = threadId === undefined && request.on_completion !== 'keep';
    const run = this.#newRun(request, assistant, threadId, caller, reader !== undefined);
    const stopReading = reader ? feeds.open(run.runId).read(reader) : NOTHING;
    try {
      const createThread = threadId === undefined || request.if_not_exists === 'create';
      const made = isTemporary ? await queue.submitTemporary(run) : await queue.submit(run, createThread);
      if (made.status === 'running') worker.startReserved(claimed(run, isTemporary));
      else {
        if (run.startHere) worker.release();
        if (run.delayMs > 0)
          this.parts.clock.after(Math.min(run.delayMs, LONGEST_TIMER_MS), () => worker.wake());
        else worker.wake();
        if (reader) follower.follow(run.runId, true);
      }
      return { run: wire(run, made.status, made.createdAt), isTemporary, stopReading };
    } catch (error) {
      if (run.startHere) worker.release();
      stopReading();
      feeds.close(run.runId);
      throw error;
    }
  }

  /** @throws PublicError `not_found` */
  async get(runId: string, threadId?: string): Promise<RunRecord> {
    const record = await this.parts.records.find(runId, threadId);
    if (!record) throw new PublicError('not_found', `Run ${runId} not found`);
    return record;
  }

  /**
   * Reads a run's output from now on; one that has ended ends the reader at once.
   * @throws PublicError `not_found`
   */
  async read(runId: string, threadId: string | undefined, reader: RunReader): Promise<() => void> {
    const { feeds, follower, threads, worker } = this.parts;
    const here = worker.find(runId)?.run;
    if (here && (threadId === undefined || here.threadId === threadId)) return feeds.open(runId).read(reader);
    const record = await this.get(runId, threadId);
    if (ENDED.includes(record.wire.status)) {
      reader.ended(await resultOf(record, threads));
      return NOTHING;
    }
    const feed = feeds.open(runId);
    if (record.wire.status === 'running') feed.open(record.attempt);
    const stopReading = feed.read(reader);
    if (!worker.find(runId)) follower.follow(runId);
    return stopReading;
  }

  /** Waits for a run's end. @throws PublicError `not_found` */
  wait(runId: string, threadId: string): Promise<RunResult> {
    return new Promise((resolve, reject) => {
      this.read(runId, threadId, { event: NOTHING, ended: resolve }).catch(reject);
    });
  }

  /** Asks for a run's end. @throws PublicError `not_found`, `conflict` when it has ended */
  async cancel(runId: string, threadId: string, action: CancelAction): Promise<void> {
    const outcome = await this.parts.records.cancel(runId, threadId, action);
    if (outcome === 'no_run') throw new PublicError('not_found', `Run ${runId} not found`);
    if (outcome === 'ended') throw new PublicError('conflict', `Run ${runId} has ended already`);
    if (outcome === 'done') this.#endUnbegun(runId);
    if (outcome === 'asked') this.parts.worker.find(runId)?.stop({ kind: 'cancelled', action });
  }

  /** Readers here of a run that will never begin need not wait until its row tells them. */
  #endUnbegun(runId: string): void {
    const { feeds, follower } = this.parts;
    follower.unfollow(runId);
    feeds.find(runId)?.publish({ event: 'error', data: JSON.stringify(CANCELLED) });
    feeds.end(runId, { body: JSON.stringify({ __error__: CANCELLED }) });
  }

  async #assistantFor(request: RunRequest): Promise<WireAssistant> {
    const assistant = await this.parts.assistants.get(request.assistant_id);
    if (!this.parts.graphs.has(assistant.graph_id))
      throw new PublicError('not_found', `Graph "${assistant.graph_id}" is not part of this deployment`);
    return assistant;
  }

  #newRun(
    request: RunRequest,
    assistant: WireAssistant,
    threadId: string | undefined,
    caller: CallerFields,
    isWatched: boolean,
  ): NewRun {
    const now = this.parts.clock.now();
    const delayMs = Math.round((request.after_seconds ?? 0) * 1000);
    return {
      runId: uuid7(now),
      threadId: threadId ?? uuid7(now),
      assistantId: assistant.assistant_id,
      graphId: assistant.graph_id,
      metadata: { ...assistant.metadata, ...request.config?.metadata, ...request.metadata },
      kwargs: kwargsOf(request, caller),
      strategy: request.multitask_strategy ?? 'enqueue',
      delayMs,
      startHere: delayMs === 0 && this.parts.worker.reserve(),
      isWatched,
    };
  }
}

function claimed(run: NewRun, isTemporary: boolean): ClaimedRun {
  const { runId, threadId, assistantId, graphId, metadata, kwargs } = run;
  return {
    runId,
    threadId,
    assistantId,
    graphId,
    metadata,
    kwargs,
    isTemporary,
    attempt: 1,
    cancel: undefined,
    watchers: [],
  };
}

function wire(run: NewRun, status: WireRun['status'], createdAt: Date): WireRun {
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
    multitask_strategy: run.strategy,
  };
}
