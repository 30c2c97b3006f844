import { PublicError } from '#lib/errors';
import { inTurns, isJsonObject, type JsonObject } from '#lib/json';
import type { Clock } from '#lib/time';
import type { Assistants } from '../assistant/assistants.js';
import { configurableOf } from '../graph/runnable-graph.js';
import {
  keysOf,
  parseUpdated,
  type Questions,
  selectedState,
  type StatePlace,
  type StateSelection,
  type UpdateQuestion,
} from '../protocol/questions.js';
import type { WireAssistant } from '../store/row/assistant-row.js';
import type { ThreadText } from '../store/row/thread-row.js';
import { hasActiveRun } from '../store/statement/runs.js';
import { leftOf, type Scope } from '../store/scope.js';
import type { Sql } from '../store/sql.js';
import {
  findThreadHead,
  findValues,
  getThread,
  getThreadHead,
  type ThreadHead,
} from '../store/statement/threads.js';
import { lockThread, removeThread, setThreadState } from '../store/statement/change-thread.js';
import { chosenMembers } from '../wire/wire-value.js';

/** A thread that a caller asks for. */
export interface AskedThread {
  readonly scope: Scope;
  readonly threadId: string;
}

export interface HistoryQuery {
  readonly limit: number;
  readonly before: JsonObject | undefined;
  readonly metadata: JsonObject | undefined;
  readonly checkpoint: JsonObject | undefined;
  readonly select?: StateSelection | undefined;
}

/** A question about a state. */
export interface StateQuery {
  readonly checkpoint?: JsonObject | undefined;
  readonly subgraphs?: boolean;
  readonly select?: StateSelection | undefined;
}

export interface StateUpdate {
  readonly values: unknown;
  readonly asNode: string | undefined;
  readonly checkpoint: JsonObject | undefined;
}

/** State without values. */
const EMPTY_STATE = {
  next: [],
  tasks: [],
  metadata: {},
  created_at: null,
  checkpoint: null,
  parent_checkpoint: null,
  interrupts: [],
};

/** Source of the answers about states. */
export interface StateSource {
  /**
   * @param signal takes the question back, with its reason
   * @returns JSON text
   */
  ask<K extends 'state' | 'values' | 'history' | 'update'>(
    kind: K,
    question: Questions[K],
    signal?: AbortSignal,
  ): Promise<string>;
}

export interface ThreadStateParts {
  readonly sql: Sql;
  readonly assistants: Assistants;
  /** Ids of the graphs of this revision. */
  readonly graphs: ReadonlySet<string>;
  readonly hosts: StateSource;
  readonly clock: Clock;
}

/** Limit below the minute after which a deployment's database ends an idle transaction. */
const CHANGE_MS = 50_000;

/** States of threads: read and changed through the graph that made them. Answers are JSON texts. */
export class ThreadState {
  constructor(private readonly parts: ThreadStateParts) {}

  /** @throws PublicError `not_found` */
  async get(asked: AskedThread, { checkpoint, subgraphs = false, select }: StateQuery): Promise<string> {
    const thread = await getThreadHead(asked.scope, this.parts.sql, asked.threadId);
    const place = await this.#placeOf(asked.scope, thread, checkpoint);
    if (!place) return this.#storedState(asked, select);
    return this.#ask(asked, 'state', { ...place, subgraphs, select });
  }

  /**
   * History, newest first. It ends early when it would become too long; the rest is `before` the last.
   * @throws PublicError `not_found`
   */
  async history(asked: AskedThread, { checkpoint, ...query }: HistoryQuery): Promise<string> {
    const thread = await getThreadHead(asked.scope, this.parts.sql, asked.threadId);
    const place = await this.#placeOf(asked.scope, thread, checkpoint);
    return place ? this.#ask(asked, 'history', { ...place, ...query }) : '[]';
  }

  /**
   * Changes a state from outside, while no run can begin.
   * @throws PublicError `not_found`, `conflict` while a run is active, `bad_request` when no graph has used the thread
   */
  async update({ scope, threadId }: AskedThread, update: StateUpdate): Promise<unknown> {
    return this.#inLong(scope, threadId, async (inside) => {
      await lockThread(scope, inside, threadId);
      if (await hasActiveRun(scope, inside, threadId))
        throw new PublicError('conflict', `Thread ${threadId} has an active run`);
      const thread = await getThreadHead(scope, inside, threadId);
      const place = await this.#placeOf(scope, thread, update.checkpoint);
      if (!place)
        throw new PublicError('bad_request', `Thread ${threadId} belongs to no graph yet; start a run first`);
      const { values, asNode } = update;
      return { checkpoint: await this.#change(scope, inside, place, [[{ values, asNode }]]) };
    });
  }

  /**
   * Makes a thread with the state that these steps lead to, or no thread. One that exists already stays as it is: a
   * request that is sent again changes nothing.
   * @param write creates the thread
   * @throws PublicError `bad_request` for steps that the graph does not take, and without a graph
   */
  async create(
    { scope, threadId }: AskedThread,
    steps: UpdateQuestion['steps'],
    write: (inside: Sql) => Promise<ThreadText>,
  ): Promise<ThreadText> {
    let failure: { readonly error: unknown } | undefined;
    const made = await this.#inLong(scope, threadId, async (inside) => {
      const existing = await findThreadHead(scope, inside, threadId);
      const thread = await write(inside);
      if (existing) return thread;
      try {
        const head = await getThreadHead(scope, inside, threadId);
        const place = await this.#placeOf(scope, head, undefined);
        if (!place)
          throw new PublicError(
            'bad_request',
            'supersteps need a graph of this deployment; name it as graph_id in the metadata of the thread',
          );
        await this.#change(scope, inside, place, steps);
        return await getThread(scope, inside, threadId);
      } catch (error) {
        failure = { error };
        // the graph may have written steps before the failure; they are removed with the thread
        await removeThread(scope, inside, threadId);
        return thread;
      }
    });
    if (failure) throw failure.error;
    return made;
  }

  /**
   * The values of a thread by the command of the thread stream protocol, with the place of their checkpoint.
   * @param keys some of them; undefined for all
   * @throws PublicError `not_found`
   */
  async values(asked: AskedThread, keys: readonly string[] | undefined): Promise<string> {
    const { scope, threadId } = asked;
    const thread = await getThreadHead(scope, this.parts.sql, threadId);
    const place = await this.#placeOf(scope, thread, undefined);
    if (place) return this.#ask(asked, 'values', { ...place, keys });
    return this.parts.sql.lookInto(scope, async () => {
      const values = await this.#storedValues(asked);
      return `{"values":${keys ? await this.#chosen(asked, values, keys) : values}}`;
    });
  }

  #ask<K extends 'state' | 'history' | 'values'>(
    { scope }: AskedThread,
    kind: K,
    question: Questions[K],
  ): Promise<string> {
    return this.parts.sql.askAboutState(scope, () => this.parts.hosts.ask(kind, question));
  }

  /** The values of a graph that this revision has no more. */
  async #storedState(asked: AskedThread, select: StateSelection = []): Promise<string> {
    const { values: _, ...others } = selectedState({ values: null, ...EMPTY_STATE }, select);
    const rest = JSON.stringify(others).slice(1);
    const keys = keysOf(select);
    const isWhole = select.length === 0 || select.includes('values');
    if (!isWhole && keys.length === 0) return `{${rest}`;
    return this.parts.sql.lookInto(asked.scope, async () => {
      const found = await this.#storedValues(asked);
      const values = isWhole ? found : await this.#chosen(asked, found, keys);
      return `{"values":${values}${rest === '}' ? '' : ','}${rest}`;
    });
  }

  async #storedValues({ scope, threadId }: AskedThread): Promise<string> {
    const found = await findValues(scope, this.parts.sql, threadId);
    return found === undefined || found === 'null' ? '{}' : found;
  }

  #chosen({ scope }: AskedThread, values: string, keys: readonly string[]): Promise<string> {
    const wanted = new Set(keys);
    return inTurns(
      chosenMembers(values, (name) => wanted.has(name)),
      leftOf(scope),
    );
  }

  #inLong<T>(scope: Scope, threadId: string, work: (inside: Sql) => Promise<T>): Promise<T> {
    return this.parts.sql.transaction(scope, work, { locks: threadId, isLong: true });
  }

  /** The graph reads and writes outside of the transaction. */
  async #change(
    scope: Scope,
    inside: Sql,
    place: StatePlace,
    steps: UpdateQuestion['steps'],
  ): Promise<JsonObject | null> {
    const updated = parseUpdated(await this.#written({ ...place, steps }));
    await setThreadState(scope, inside, place.threadId, {
      values: updated.values,
      status: updated.hasNext ? 'interrupted' : 'idle',
      interrupts: updated.interrupts,
    });
    return updated.checkpoint;
  }

  /** @throws PublicError `unavailable` when the graph takes too long: other requests wait behind it */
  async #written(question: UpdateQuestion): Promise<string> {
    const { clock, hosts } = this.parts;
    const late = new AbortController();
    const stopTimer = clock.after(CHANGE_MS, () =>
      late.abort(
        new PublicError(
          'unavailable',
          `Changing the state of thread ${question.threadId} took longer than ${CHANGE_MS / 1000} s; send fewer steps`,
        ),
      ),
    );
    try {
      // taken back, as it would write into a thread that is another's by then
      return await hosts.ask('update', question, late.signal);
    } finally {
      stopTimer();
    }
  }

  /** The one that the thread was last used with; when it was deleted, the graph's own. */
  async #assistantOf(scope: Scope, graphId: string, assistantId: unknown): Promise<WireAssistant> {
    const { assistants } = this.parts;
    const found = typeof assistantId === 'string' ? await assistants.find(scope, assistantId) : undefined;
    return found ?? assistants.get(scope, graphId);
  }

  /** Graph and checkpoint of the state; undefined when this revision does not have the graph that made it. */
  async #placeOf(
    scope: Scope,
    { thread_id: threadId, metadata }: Pick<ThreadHead, 'thread_id' | 'metadata'>,
    checkpoint: JsonObject | undefined,
  ): Promise<StatePlace | undefined> {
    const { graph_id: graphId, assistant_id: assistantId } = metadata;
    if (typeof graphId !== 'string' || !this.parts.graphs.has(graphId)) return undefined;
    const assistant = await this.#assistantOf(scope, graphId, assistantId);
    const given = assistant.config['configurable'];
    const configurable = configurableOf(isJsonObject(given) ? given : undefined);
    return { graphId, threadId, configurable, checkpoint };
  }
}
