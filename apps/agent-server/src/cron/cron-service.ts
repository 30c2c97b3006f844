import { PublicError } from '#lib/errors';
import type { JsonObject, MutableJsonObject } from '#lib/json';
import type { Clock } from '#lib/time';
import type { Assistants } from '../assistant/assistants.js';
import { requireDepth, type RequestedRun, uuid7 } from '../run/requested-run.js';
import { changeCron, createCron, findCron, removeCron, databaseTime } from '../store/statement/crons.js';
import { cronNotFound, type CronTiming, type WireCron } from '../store/row/cron-row.js';
import type { Scope } from '../store/scope.js';
import type { Sql } from '../store/sql.js';
import { getThreadHead } from '../store/statement/threads.js';
import { WORKER } from '../store/worker-scope.js';
import type { WebhookPolicy } from '../webhook/webhook-policy.js';
import { findTimingProblem, nextFire } from './cron-schedule.js';
import { parseChangedCron, parseNewCron } from './requested-cron.js';

export interface CronServiceParts {
  readonly sql: Sql;
  readonly assistants: Assistants;
  readonly webhooks: WebhookPolicy;
  readonly limits: {
    readonly maxCrons: number;
    readonly maxCronsOfCaller: number;
    readonly minIntervalSeconds: number;
    readonly maxRecursionLimit: number;
  };
  readonly clock: Clock;
}

/** Client that makes a cron, and the thread of its runs. */
export interface CronMaker {
  readonly scope: Scope;
  /** Undefined: each run has a thread of its own. */
  readonly threadId: string | undefined;
  /** Headers and the caller, as graphs see them in `configurable`. */
  readonly fields: JsonObject;
  /** The scope for runs on the thread; by default that of the cron. */
  readonly threadScope?: Scope | undefined;
  /** The scope for an assistant that a caller made; by default that of the cron. */
  readonly assistantScope?: (assistantId: string) => Promise<Scope>;
  /** The scope for threads that its runs make and leave; undefined without handlers. */
  readonly newThreadScope?: ((thread: MutableJsonObject) => Promise<Scope>) | undefined;
}

/** Client that changes a cron. */
export interface CronChanger extends Pick<
  CronMaker,
  'scope' | 'fields' | 'assistantScope' | 'newThreadScope'
> {
  /** The scope for runs on its thread; by default that of the cron. */
  readonly threadScope?: (threadId: string) => Promise<Scope>;
}

function refused(field: string, why: string): PublicError {
  return new PublicError('invalid', `${field}: ${why}`, [
    { loc: ['body', field], msg: why, type: 'value_error' },
  ]);
}

/** Crons, as requests see them. Every method speaks for a caller. */
export class CronService {
  constructor(private readonly parts: CronServiceParts) {}

  /** @throws PublicError `invalid`, `not_found` (assistant, thread), `forbidden` (scope), `conflict` (too many) */
  async create(maker: CronMaker, body: unknown): Promise<WireCron> {
    const { scope, threadId, fields, threadScope, assistantScope } = maker;
    const { sql, assistants, clock, limits } = this.parts;
    const asked = parseNewCron(body);
    requireThread(asked.thread_id, threadId ?? null);
    requireDepth(asked.run.config?.recursion_limit, limits.maxRecursionLimit);
    const assistant = await assistants.forRun(asked.run.assistant_id, assistantScope ?? (() => scope));
    if (threadId !== undefined) await getThreadHead(threadScope ?? scope, sql, threadId);
    const isEnabled = asked.enabled ?? true;
    const onRunCompleted = asked.on_run_completed ?? (threadId === undefined ? 'delete' : 'keep');
    const metadata = asked.metadata ?? {};
    if (threadId === undefined && onRunCompleted === 'keep') await this.#requireThreads(maker, metadata);
    const timing = timingOf(asked.schedule, asked);
    const nextRunDate = await this.#firstFire(timing);
    return createCron(
      scope,
      sql,
      {
        ...timing,
        cronId: uuid7(clock.now()),
        assistantId: assistant.assistant_id,
        threadId,
        onRunCompleted,
        isEnabled,
        payload: await this.#payload({ ...asked.run, assistant_id: assistant.assistant_id }),
        caller: fields,
        userId: userIdOf(fields),
        metadata,
        nextRunDate: isEnabled ? nextRunDate : undefined,
      },
      { maxCrons: limits.maxCrons, maxOfCaller: limits.maxCronsOfCaller },
    );
  }

  /** @throws PublicError `not_found` */
  async get(scope: Scope, cronId: string): Promise<WireCron> {
    const found = await findCron(scope, this.parts.sql, cronId);
    if (!found) throw cronNotFound(cronId);
    return found;
  }

  /**
   * Changes the fields of the request. A cron that is switched on, or whose times change, fires next after
   * now. A client that changes the runs of a cron is the caller of those that follow: no client acts in the
   * name of another by a cron.
   * @throws PublicError `not_found` (also of its thread and assistant), `invalid`, `forbidden` (scope),
   *   `too_large`
   */
  async change(changer: CronChanger, cronId: string, body: unknown): Promise<WireCron> {
    const { scope, fields } = changer;
    const before = await this.get(scope, cronId);
    const changed = parseChangedCron(body, before.payload);
    const { run, changesRun, thread_id: threadId, on_run_completed: end } = changed;
    requireThread(threadId, before.thread_id);
    const leavesThreads = before.thread_id === null && (end ?? before.on_run_completed) === 'keep';
    if (leavesThreads && (changesRun || end === 'keep' || changed.metadata))
      await this.#requireThreads(changer, { ...before.metadata, ...changed.metadata });
    if (changesRun) {
      requireDepth(run.config?.recursion_limit, this.parts.limits.maxRecursionLimit);
      await this.#requireReach(changer, before);
    }
    const admitted = run.webhook === before.payload['webhook'] ? run : await this.#payload(run);
    return this.parts.sql.transaction(scope, async (inside) => {
      // later changes stay, except for the fields that the request names
      const kept = await findCron(scope, inside, cronId, true);
      if (!kept) throw cronNotFound(cronId);
      const asked = parseChangedCron(body, kept.payload);
      const isEnabled = asked.enabled ?? kept.enabled;
      const timing = timingOf(asked.schedule ?? kept.schedule, {
        timezone: asked.timezone ?? kept.timezone,
        end_time: asked.end_time === undefined ? dateOf(kept.end_time) : asked.end_time,
      });
      const isKept = kept.enabled && !asked.schedule && !asked.timezone && asked.end_time === undefined;
      const nextRunDate = isKept ? dateOf(kept.next_run_date) : await this.#firstFire(timing);
      return changeCron(scope, inside, cronId, {
        ...timing,
        onRunCompleted: asked.on_run_completed ?? kept.on_run_completed,
        isEnabled,
        payload: asked.run.webhook === run.webhook ? { ...asked.run, webhook: admitted.webhook } : asked.run,
        caller: changesRun ? fields : undefined,
        userId: userIdOf(fields),
        metadata: { ...kept.metadata, ...asked.metadata },
        nextRunDate: isEnabled ? nextRunDate : undefined,
      });
    });
  }

  /**
   * Requires that the client may make threads such as the runs of a cron leave: no handler is asked when it fires. The
   * threads have the metadata of the cron, as its own handler left them.
   * @throws errors of the handler of the agent
   */
  async #requireThreads(
    { newThreadScope }: Pick<CronMaker, 'newThreadScope'>,
    metadata: JsonObject,
  ): Promise<void> {
    await newThreadScope?.({ if_exists: 'do_nothing', metadata: structuredClone(metadata) });
  }

  /**
   * Requires that the client reaches the thread and the assistant of a cron whose runs it changes.
   * @throws PublicError `not_found`
   */
  async #requireReach(
    { scope, threadScope, assistantScope }: CronChanger,
    { thread_id: threadId, assistant_id: assistantId }: WireCron,
  ): Promise<void> {
    const { sql, assistants } = this.parts;
    await assistants.forRun(assistantId, assistantScope ?? (() => scope));
    if (threadId !== null) await getThreadHead((await threadScope?.(threadId)) ?? scope, sql, threadId);
  }

  /** @throws PublicError `not_found` */
  async remove(scope: Scope, cronId: string): Promise<void> {
    if (!(await removeCron(scope, this.parts.sql, cronId))) throw cronNotFound(cronId);
  }

  /** @throws PublicError `invalid` for a webhook that must not be called */
  async #payload(run: RequestedRun): Promise<RequestedRun> {
    return run.webhook ? { ...run, webhook: await this.parts.webhooks.admit(run.webhook) } : run;
  }

  /** @throws PublicError `invalid` for times that cannot be read, or lie too close, or are all over */
  async #firstFire(timing: CronTiming): Promise<Date> {
    const now = await databaseTime(WORKER, this.parts.sql);
    const problem = findTimingProblem(timing, now, this.parts.limits.minIntervalSeconds);
    if (problem) throw refused(problem.field, problem.message);
    const first = nextFire(timing, now);
    if (!first)
      throw refused('end_time', `nothing fires from now until ${timing.endTime?.toISOString() ?? 'then'}`);
    return first;
  }
}

/** @throws PublicError `invalid` for a thread in the body that is not that of the cron, which would go unheard */
function requireThread(named: unknown, threadId: string | null): void {
  if (named === undefined || named === null || named === threadId) return;
  const why =
    threadId === null
      ? 'this cron has no thread; create one on a thread by POST /threads/{thread_id}/runs/crons'
      : `this cron is on thread ${threadId}, and stays there; leave thread_id out`;
  throw refused('thread_id', why);
}

function userIdOf({ langgraph_auth_user_id: userId }: JsonObject): string | undefined {
  return typeof userId === 'string' ? userId : undefined;
}

function dateOf(text: string | null): Date | undefined {
  return text === null ? undefined : new Date(text);
}

function timingOf(
  schedule: string,
  {
    timezone,
    end_time,
  }: { readonly timezone?: string | null | undefined; readonly end_time?: Date | null | undefined },
): CronTiming {
  return { schedule, timezone: timezone ?? undefined, endTime: end_time ?? undefined };
}
