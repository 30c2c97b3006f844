import { errorText, PublicError } from '#lib/errors';
import { mayPass } from '#lib/postgres';
import { metrics, type Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { type Assistants, nameBasedId } from '../assistant/assistants.js';
import { configOfRun, kwargsOf, parseRequestedRun } from '../run/requested-run.js';
import type { RunPriorities } from '../run/run-priorities.js';
import type { ThreadWatch } from '../run/thread-watch.js';
import { claimCron, type CronResult, type DueCron, settleCron } from '../store/statement/crons.js';
import type { WireAssistant } from '../store/row/assistant-row.js';
import { type Queueing, TemporaryRow, type StoredRun } from '../store/row/run-row.js';
import { submitRun, submitTemporaryRuns } from '../store/statement/submit-run.js';
import type { ServerIdentity } from '../store/row/claimed-run.js';
import type { Sql } from '../store/sql.js';
import { createThread } from '../store/statement/change-thread.js';
import { WORKER } from '../store/worker-scope.js';
import { nextFire } from './cron-schedule.js';

/** Milliseconds between two looks. */
const POLL_MS = 1_000;

/** Namespace of the ids of runs and threads that crons make. */
const CRON_NAMESPACE = '3d0b1e7c-52d5-4c36-9d0a-6f2f6f0f4d55';

export interface CronTickerParts {
  readonly sql: Sql;
  readonly server: ServerIdentity;
  readonly assistants: Assistants;
  readonly watch: Pick<ThreadWatch, 'announce'>;
  readonly maxRecursionLimit: number;
  /** Undefined when the agent ranks no runs. */
  readonly priorities: RunPriorities | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Fires crons: one transaction locks a cron that is due by the database's time, makes its run and sets its
 * next moment. So a fire makes one run whatever servers do or die of, and moments that all of them missed
 * make one run together, since the next moment is one after now. The ids of the run and its thread follow
 * from the cron and the moment.
 */
export class CronTicker {
  #cancelPoll: (() => void) | undefined;
  #isStopped = false;
  #looking: Promise<void> = Promise.resolve();

  constructor(private readonly parts: CronTickerParts) {}

  start(): void {
    this.#looking = this.#fireAll().finally(() => {
      if (!this.#isStopped) this.#cancelPoll = this.parts.clock.after(POLL_MS, () => this.start());
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelPoll?.();
    await this.#looking;
  }

  async #fireAll(): Promise<void> {
    try {
      const busy = new Set<string>();
      while (!this.#isStopped && (await this.#fireOne(busy)));
    } catch (error) {
      this.parts.log.warn({ error: errorText(error) }, 'firing crons failed');
    }
  }

  /**
   * @param busy crons whose threads are being changed, which wait for the next pass
   * @returns true when a cron was due
   */
  async #fireOne(busy: Set<string>): Promise<boolean> {
    const { sql, server, watch } = this.parts;
    let due: DueCron | undefined;
    try {
      const fired = await sql.transaction(WORKER, async (inside) => {
        due = await claimCron(WORKER, inside, server.graphIds, [...busy]);
        if (due?.hasBusyThread) busy.add(due.cronId);
        else if (due) await this.#fire(inside, due);
        return due;
      });
      if (fired?.threadId !== undefined) watch.announce(fired.threadId); // others have no readers yet
      return fired !== undefined;
    } catch (error) {
      if (!due || mayPass(error)) throw error;
      await this.#skip(sql, due, errorText(error)); // it must not delay those behind it
      return true;
    }
  }

  async #fire(inside: Sql, due: DueCron): Promise<void> {
    const { assistants, maxRecursionLimit, log, priorities } = this.parts;
    const { cronId, assistantId, timing, dueAt, now } = due;
    const assistant = await assistants.find(WORKER, assistantId);
    if (!assistant) {
      const disabledReason = `Assistant ${assistantId} not found; it was removed`;
      log.warn({ cronId, reason: disabledReason }, 'disabled a cron');
      return settleCron(WORKER, inside, due, { nextRunDate: undefined, disabledReason });
    }
    // a fire that was missed past the end is one no longer
    if (timing.endTime && now > timing.endTime)
      return settleCron(WORKER, inside, due, { nextRunDate: undefined });
    const runId = idOf(due, 'run');
    try {
      const run = runOf(due, assistant, runId, maxRecursionLimit);
      const unranked = { run, assistant, threadId: due.threadId, newThread: due.metadata, cronId };
      await this.#submit(inside, due, (await priorities?.ranked(WORKER, inside, unranked)) ?? run);
    } catch (error) {
      if (!(error instanceof PublicError)) throw error;
      return this.#skip(inside, due, error.message);
    }
    metrics.agentCronFires.add(1, { outcome: 'run' });
    log.info({ cronId, runId, lateMs: now.getTime() - dueAt.getTime() }, 'cron fired');
    await settleCron(WORKER, inside, due, { runId, nextRunDate: nextFire(timing, now) });
  }

  async #skip(sql: Sql, due: DueCron, error: string): Promise<void> {
    metrics.agentCronFires.add(1, { outcome: 'failed' });
    this.parts.log.warn({ cronId: due.cronId, error }, 'a fire of a cron made no run');
    await settleCron(WORKER, sql, due, { error, ...nextOf(due) });
  }

  async #submit(inside: Sql, due: DueCron, run: StoredRun): Promise<void> {
    const { server } = this.parts;
    const request = parseRequestedRun(due.payload);
    const queueing: Queueing = {
      strategy: request.multitask_strategy ?? 'enqueue',
      delayMs: 0,
      startsHere: false,
      isWatched: false,
      newThread: undefined,
    };
    if (run.isTemporary) {
      await submitTemporaryRuns(WORKER, inside, server, [new TemporaryRow({ scope: WORKER, run, queueing })]);
      return;
    }
    if (due.threadId === undefined)
      await createThread(WORKER, inside, run.threadId, due.metadata, 'do_nothing');
    await submitRun(WORKER, inside, server, run, queueing);
  }
}

/** A schedule that this version cannot read, as after a change of time zones, disables its cron: others wait behind it. */
function nextOf({ timing, now }: DueCron): Pick<CronResult, 'nextRunDate' | 'disabledReason'> {
  try {
    return { nextRunDate: nextFire(timing, now) };
  } catch (error) {
    const disabledReason = `its schedule or time zone cannot be read: ${errorText(error)}; change them`;
    return { nextRunDate: undefined, disabledReason };
  }
}

function idOf({ cronId, dueAt }: DueCron, kind: 'run' | 'thread'): string {
  return nameBasedId(CRON_NAMESPACE, `${kind} ${cronId} ${dueAt.toISOString()}`);
}

function runOf(due: DueCron, assistant: WireAssistant, runId: string, maxRecursionLimit: number): StoredRun {
  const request = parseRequestedRun(due.payload);
  const config = configOfRun(request, assistant, maxRecursionLimit);
  return {
    runId,
    threadId: due.threadId ?? idOf(due, 'thread'),
    isTemporary: due.threadId === undefined && !due.keepsThread,
    assistantId: assistant.assistant_id,
    graphId: assistant.graph_id,
    metadata: { ...assistant.metadata, ...config.metadata, ...due.metadata, cron_id: due.cronId },
    kwargs: kwargsOf(request, {
      assistant,
      config,
      caller: due.caller,
      webhook: request.webhook ?? undefined,
      isStreamed: request.stream_resumable ?? false,
    }),
  };
}
