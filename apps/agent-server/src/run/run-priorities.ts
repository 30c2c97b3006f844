import { z } from 'zod';
import { isJsonObject, parseShort } from '#lib/json';
import type { Clock } from '#lib/time';
import type { PriorityQuestion } from '../protocol/questions.js';
import type { WireAssistant } from '../store/row/assistant-row.js';
import type { RunPriority, StoredRun } from '../store/row/run-row.js';
import { findThreadPriority } from '../store/statement/threads.js';
import type { Scope } from '../store/scope.js';
import type { Sql } from '../store/sql.js';
import { text } from './requested-run.js';

/** Time for the function of the agent, for which a request waits. */
const LIMIT_MS = 10_000;
const MAX_ANSWER_CHARS = 10_000;

/** Answer of the function: the words of `PrioritySettings` of LangGraph's SDK. */
const settings = z
  .strictObject({ priority: z.int().min(-5).max(5).nullish(), fairness_group: text.max(256).nullish() })
  .nullable();

export interface RunPrioritiesParts {
  /** Asks the agent's function; the answer is JSON. */
  readonly ask: (question: PriorityQuestion, signal: AbortSignal) => Promise<string>;
  readonly clock: Clock;
}

/** A run before its priority is known. */
export interface UnrankedRun {
  readonly run: StoredRun;
  readonly assistant: WireAssistant;
  /** Undefined when the run makes its thread without being given an id. */
  readonly threadId: string | undefined;
  /** Metadata of a thread that does not exist yet. */
  readonly newThread?: PriorityQuestion['thread_metadata'] | undefined;
  readonly cronId?: string;
}

/** Priorities of runs by the agent's own function (`priority.path`). A thread keeps that of its first run. */
export class RunPriorities {
  constructor(private readonly parts: RunPrioritiesParts) {}

  /**
   * The run with its priority, which its metadata and those of its trace show.
   * @throws Error when the function fails, or answers what is no priority
   */
  async ranked(scope: Scope, sql: Sql, unranked: UnrankedRun): Promise<StoredRun> {
    const { run, threadId } = unranked;
    const thread = threadId === undefined ? undefined : await findThreadPriority(scope, sql, threadId);
    const priority = thread?.priority ?? (await this.#assign(unranked, thread?.metadata));
    const isKept = threadId !== undefined && thread?.priority === null;
    const kept = isKept ? await findThreadPriority(scope, sql, threadId, priority) : undefined;
    return withPriority(run, kept?.priority ?? priority);
  }

  async #assign(
    { run, assistant, threadId, newThread, cronId }: UnrankedRun,
    metadata: PriorityQuestion['thread_metadata'] | undefined,
  ): Promise<RunPriority> {
    const { langgraph_auth_user: user, langgraph_auth_permissions: permissions } = run.kwargs.caller;
    const late = new AbortController();
    const cancel = this.parts.clock.after(LIMIT_MS, () =>
      late.abort(new Error(`"priority.path" of langgraph.json: no answer within ${LIMIT_MS / 1000} s`)),
    );
    try {
      const question: PriorityQuestion = {
        user: isJsonObject(user) ? user : { identity: '' },
        permissions: Array.isArray(permissions) ? permissions : [],
        thread_id: threadId ?? null,
        thread_metadata: metadata ?? newThread ?? {},
        assistant_id: run.assistantId,
        graph_id: run.graphId,
        assistant_metadata: assistant.metadata,
        run_metadata: run.metadata,
        cron_id: cronId ?? null,
      };
      return parsePriority(parseShort(await this.parts.ask(question, late.signal), MAX_ANSWER_CHARS));
    } finally {
      cancel();
    }
  }
}

function parsePriority(answer: unknown): RunPriority {
  const parsed = settings.safeParse(answer);
  if (!parsed.success)
    throw new Error(
      `"priority.path" of langgraph.json: its answer is no priority: ${z.prettifyError(parsed.error).replaceAll('\n', ' ')}`,
    );
  const { priority, fairness_group: group } = parsed.data ?? {};
  return { priority: priority ?? 0, ...(group ? { fairness_group: group } : {}) };
}

/** A default priority is not shown. */
function withPriority(run: StoredRun, priority: RunPriority): StoredRun {
  if (priority.priority === 0 && priority.fairness_group === undefined) return run;
  const { priority: run_priority, ...group } = priority;
  return { ...run, priority, metadata: { ...run.metadata, run_priority, ...group } };
}
