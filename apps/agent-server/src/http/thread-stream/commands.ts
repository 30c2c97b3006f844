import { z } from 'zod';
import { PublicError } from '#lib/errors';
import {
  inTurns,
  itemsOf,
  type JsonObject,
  type JsonWalk,
  membersOf,
  type MutableJsonObject,
  parseShort,
} from '#lib/json';
import { UUID_PATTERN } from '#lib/resources';
import type { Clock } from '#lib/time';
import { requestedRun, type RequestedRun, unsupported } from '../../run/requested-run.js';
import type { RunOutputs } from '../../run/run-outputs.js';
import type { Asker, RunService } from '../../run/run-service.js';
import { leftOf, type Scope } from '../../store/scope.js';
import type { Sql } from '../../store/sql.js';
import { findInterrupts, findThreadHead } from '../../store/thread/threads.js';
import { Turns } from '../../store/turns.js';
import type { ThreadState } from '../thread-state.js';
import { agentTree } from './agent-tree.js';
import { CommandError, type CommandErrorCode } from './command-error.js';

/** An id is a hash in hexadecimal digits. */
const MAX_ID_CHARS = 1_000;

/** Ids of the questions in the interrupts of a thread: lists of `{id, value}` by the tasks that ask. */
function* questionIds(interrupts: string): JsonWalk<string[]> {
  const ids: string[] = [];
  for (const task of membersOf(interrupts)) {
    if (!task) {
      yield undefined;
      continue;
    }
    for (const question of itemsOf(interrupts, task.start)) {
      if (question) ids.push(...(yield* idOf(interrupts, question.start)));
      else yield undefined;
    }
  }
  return ids;
}

function* idOf(json: string, start: number): JsonWalk<string[]> {
  const ids: string[] = [];
  for (const member of membersOf(json, start)) {
    if (!member) yield undefined;
    else if (member.name === 'id' && member.end - member.start <= MAX_ID_CHARS) {
      const id: unknown = parseShort(json.slice(member.start, member.end), MAX_ID_CHARS);
      if (typeof id === 'string') ids.push(id);
    }
  }
  return ids;
}

/** A command as it arrives. */
export const command = z.object({
  id: z.int().min(0),
  method: z.string().max(100),
  params: z.unknown().optional(),
});

export type Command = z.infer<typeof command>;

const config = requestedRun.shape.config;
const metadata = requestedRun.shape.metadata;

const runStart = z.looseObject({
  assistant_id: z.string().min(1),
  input: z.unknown().optional(),
  config,
  metadata,
  multitaskStrategy: requestedRun.shape.multitask_strategy,
  langsmith_tracer: unsupported,
});

const answer = z.looseObject({ interrupt_id: z.string().min(1), response: z.unknown().optional() });
const inputRespond = z.looseObject({
  interrupt_id: z.string().min(1).nullish(),
  response: z.unknown().optional(),
  responses: z.array(answer).min(1).max(1_000).nullish(),
  update: z.unknown().optional(),
  goto: z.unknown().optional(),
  config,
  metadata,
});

const treeGet = z.looseObject({ run_id: z.string().regex(UUID_PATTERN, 'must be a uuid').nullish() });

const stateGet = z.looseObject({ keys: z.array(z.string()).max(1_000).nullish() });

export interface CommandParts {
  readonly sql: Sql;
  readonly runs: RunService;
  readonly outputs: RunOutputs;
  readonly state: Pick<ThreadState, 'values'>;
  readonly clock: Clock;
}

/** Client that gives a command, and the thread of it. */
export interface Commander extends Pick<Asker, 'fields' | 'assistantScope' | 'newThreadScope'> {
  readonly threadId: string;
  /** Scope for a run; a handler of the agent may change the body. */
  authorizeRun(body: MutableJsonObject): Promise<Scope>;
  authorizeRead(): Promise<Scope>;
}

/** Refusals in the protocol's words. */
const CODES: Readonly<Partial<Record<PublicError['code'], CommandErrorCode>>> = {
  forbidden: 'permission_denied',
  invalid: 'invalid_argument',
  bad_request: 'invalid_argument',
  not_found: 'invalid_argument',
  conflict: 'invalid_argument',
  too_large: 'invalid_argument',
};

/** Performs the commands of the thread stream protocol that both of its transports have. */
export class ThreadCommands {
  /** Limits of trees: each is made of all kept output of a run. */
  readonly #trees = new Turns({ places: 4, maxWaiting: 200, what: 'Trees of agents' });

  constructor(private readonly parts: CommandParts) {}

  /**
   * @returns the `result` of the command, as JSON text; undefined for an unknown command
   * @throws CommandError
   */
  async perform(commander: Commander, { method, params = {} }: Command): Promise<string | undefined> {
    try {
      switch (method) {
        case 'run.start':
          return JSON.stringify(await this.#start(commander, parse(runStart, params)));
        case 'input.respond':
          return JSON.stringify(await this.#respond(commander, parse(inputRespond, params)));
        case 'state.get':
          return await this.#state(commander, parse(stateGet, params));
        case 'agent.getTree':
          return JSON.stringify(await this.#tree(commander, parse(treeGet, params)));
        default:
          return undefined;
      }
    } catch (error) {
      const code = error instanceof PublicError ? CODES[error.code] : undefined;
      if (!code || !(error instanceof PublicError)) throw error;
      throw new CommandError(code, error.message, { cause: error });
    }
  }

  async #start(commander: Commander, params: z.infer<typeof runStart>): Promise<JsonObject> {
    const { multitaskStrategy, ...rest } = params;
    const asked: MutableJsonObject = { ...rest, multitask_strategy: multitaskStrategy };
    const body = structuredClone(asked); // a handler of the agent may change it
    const scope = await commander.authorizeRun(body);
    const { input, ...others } = asked;
    const canAnswer = input !== undefined && input !== null;
    const pending = canAnswer ? await this.#pending(scope, commander.threadId) : [];
    if (pending.length === 0) return this.#submit(commander, scope, parse(requestedRun, body));
    // a thread that waits for an answer takes any input as one: another run than the one that was judged
    const answered: MutableJsonObject = { ...others, command: { resume: input } };
    const scopeOfAnswer = await commander.authorizeRun(answered);
    return this.#submit(commander, scopeOfAnswer, parse(requestedRun, answered));
  }

  async #respond(commander: Commander, params: z.infer<typeof inputRespond>): Promise<JsonObject> {
    const { threadId } = commander;
    const readable = await commander.authorizeRead();
    const thread = await findThreadHead(readable, this.parts.sql, threadId);
    const assistantId = thread?.metadata['assistant_id'];
    if (!thread || typeof assistantId !== 'string')
      throw new CommandError('no_such_run', 'This thread has no run yet; start one by run.start');
    const pending = await this.#pending(readable, threadId);
    if (pending.length === 0)
      throw new CommandError('no_such_interrupt', 'No run of this thread waits for an answer');
    const { update, goto, config: configured, metadata: given } = params;
    const resume = resumeOf(params, pending);
    // a handler of the agent judges the run as it will be, and may change it
    const body: MutableJsonObject = {
      assistant_id: assistantId,
      command: { resume, ...(update ? { update } : {}), ...(goto ? { goto } : {}) },
      config: configured,
      metadata: given,
    };
    const scope = await commander.authorizeRun(body);
    await this.#submit(commander, scope, parse(requestedRun, body));
    return {};
  }

  async #submit(
    { threadId, fields, assistantScope, newThreadScope }: Commander,
    scope: Scope,
    wanted: RequestedRun,
  ): Promise<{ run_id: string }> {
    const asker: Asker = { scope, threadId, fields, assistantScope, newThreadScope };
    const request = {
      ...wanted,
      stream_resumable: true,
      stream_subgraphs: true,
      if_not_exists: 'create',
    } as const;
    const { run } = await this.parts.runs.submit(asker, request, undefined, 'v2');
    return { run_id: run.run_id };
  }

  async #tree(commander: Commander, { run_id: runId }: z.infer<typeof treeGet>): Promise<JsonObject> {
    const scope = await commander.authorizeRead();
    const of = { scope, threadId: commander.threadId, runId: runId ?? undefined };
    return { tree: await this.#trees.take(scope, () => agentTree(of, this.parts), leftOf(scope)) };
  }

  /** State of a thread; its values are passed on as the graph's host, or their row, has them. */
  async #state({ threadId, authorizeRead }: Commander, { keys }: z.infer<typeof stateGet>): Promise<string> {
    return this.parts.state.values({ scope: await authorizeRead(), threadId }, keys ?? undefined);
  }

  /** Ids of the questions that a thread waits with. */
  async #pending(scope: Scope, threadId: string): Promise<readonly string[]> {
    const { sql } = this.parts;
    return sql.lookIfSmall(scope, async (mayBeLarge) => {
      const interrupts = await findInterrupts(scope, sql, threadId, mayBeLarge);
      if (interrupts === undefined || interrupts === 'large') return interrupts ?? [];
      return inTurns(questionIds(interrupts), leftOf(scope));
    });
  }
}

/** @throws CommandError `invalid_argument` */
export function parse<T>(shape: z.ZodType<T>, params: unknown): T {
  const parsed = shape.safeParse(params);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = issue?.path.join('.') ?? '';
  throw new CommandError(
    'invalid_argument',
    `params${where === '' ? '' : `.${where}`}: ${issue?.message ?? 'is not valid'}`,
  );
}

/** The answers by the question that they are for. */
function resumeOf(
  { interrupt_id: id, response, responses }: z.infer<typeof inputRespond>,
  pending: readonly string[],
): JsonObject {
  const answers = responses ?? (id ? [{ interrupt_id: id, response }] : []);
  if (answers.length === 0)
    throw new CommandError('invalid_argument', 'params needs interrupt_id with response, or responses');
  const unknown = answers.find(({ interrupt_id }) => !pending.includes(interrupt_id));
  if (unknown)
    throw new CommandError(
      'no_such_interrupt',
      `No run of this thread waits for an answer to ${unknown.interrupt_id}`,
    );
  return Object.fromEntries(answers.map((one) => [one.interrupt_id, one.response ?? null]));
}
