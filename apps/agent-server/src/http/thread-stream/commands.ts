import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import { PublicError } from '#lib/errors';
import {
  isJsonObject,
  parseShort,
  type JsonObject,
  inTurns,
  itemsOf,
  type JsonWalk,
  membersOf,
  type MutableJsonObject,
} from '#lib/json';
import type { Clock } from '#lib/time';
import { UUID_PATTERN } from '#lib/resources';
import { AGENT_STATUS, type AgentStatus } from '../../run/protocol-reading.js';
import type { Reading } from '../../run/run-reading.js';
import type { RunOutputs } from '../../run/run-outputs.js';
import { findRunPlace, listThreadRuns, type ThreadRun } from '../../store/statement/runs.js';
import { type Scope, leftOf } from '../../store/scope.js';
import { type Sql, Turns } from '../../store/sql.js';
import { addressOf } from '../../stream/thread-protocol.js';
import { CommandError, type CommandErrorCode } from './command-error.js';
import { requestedRun, type RequestedRun, unsupported } from '../../run/requested-run.js';
import type { Asker, RunService } from '../../run/run-service.js';
import { findInterrupts, findThreadHead } from '../../store/statement/threads.js';
import type { ThreadState } from '../thread-state.js';

/** Pause after which the output of a run at another server, which arrives in pieces, counts as complete. */
const QUIET_MS = 250;
const LONGEST_MS = 2_000;

/** Limit per event of a part's progress; one with an error has its message too. */
const MAX_EVENT_BYTES = 256 * 1024;

/** Events per iteration of the event loop. */
const TURN = 2_000;

const STATUSES: ReadonlySet<string> = new Set(['started', 'running', 'completed', 'failed', 'interrupted']);

/** A part of the graph that was called, with those that it called. */
export interface AgentTreeNode {
  readonly namespace: readonly string[];
  status: AgentStatus;
  graph_name: string;
  readonly children: AgentTreeNode[];
}

export interface AgentTreeParts {
  readonly sql: Sql;
  readonly outputs: Pick<RunOutputs, 'read' | 'isKept'>;
  readonly clock: Clock;
}

/**
 * Parts of a graph that a run has called and the progress of each, by the output that is kept.
 * @param runId the newest run of the thread without it
 * @throws CommandError `no_such_run`
 */
async function agentTree(
  of: { readonly scope: Scope; readonly threadId: string; readonly runId: string | undefined },
  parts: AgentTreeParts,
): Promise<AgentTreeNode> {
  const { scope, threadId, runId } = of;
  const from = await findRunPlace(scope, parts.sql, threadId, runId);
  const [run] =
    from === undefined
      ? []
      : await listThreadRuns(scope, parts.sql, threadId, { from, which: { kind: 'all' } });
  if (!run)
    throw new CommandError(
      'no_such_run',
      runId === undefined
        ? 'This thread has no run yet; start one by run.start'
        : `Run ${runId} is not a run of this thread`,
    );
  const root: AgentTreeNode = {
    namespace: [],
    status: AGENT_STATUS[run.status],
    graph_name: run.graphId,
    children: [],
  };
  const nodes = new Map([[keyOf([]), root]]);
  await eachLifecycle(run, of, parts, (namespace, data) => note(nodes, namespace, data));
  for (const [key, node] of nodes)
    if (key !== keyOf([])) parentOf(nodes, node.namespace, root).children.push(node);
  return root;
}

/** Reads events without keeping them: they are many. */
async function eachLifecycle(
  run: ThreadRun,
  { scope, threadId }: { readonly scope: Scope; readonly threadId: string },
  { outputs, clock }: AgentTreeParts,
  visit: (namespace: readonly string[], data: JsonObject) => void,
): Promise<void> {
  let reading: Reading | undefined;
  let isNews = false;
  const reader = {
    kind: 'output' as const,
    attach: (given: Reading): void => void (reading = given),
    more: (): void => void (isNews = true),
  };
  const isHere = outputs.isKept(run.runId);
  let stop: () => void;
  try {
    stop = await outputs.read(scope, run.runId, threadId, reader, { kind: 'kept' });
  } catch (error) {
    if (error instanceof PublicError && error.code === 'not_found') return;
    throw error;
  }
  try {
    for (const endMs = clock.monotonicMs() + LONGEST_MS; reading;) {
      let taken = 0;
      for (let next = reading.take(); next; next = reading.take()) {
        if (++taken % TURN === 0) await setImmediate();
        const address = addressOf(next.event);
        if (address?.channel !== 'lifecycle' || next.bytes > MAX_EVENT_BYTES) continue;
        const event = parseShort(next.data, MAX_EVENT_BYTES);
        const data = isJsonObject(event) ? event['data'] : undefined;
        if (isJsonObject(data)) visit(address.namespace, data);
      }
      if (isHere || reading.state !== 'waiting' || clock.monotonicMs() > endMs) break;
      isNews = false;
      await clock.sleep(QUIET_MS);
      if (!isNews) break;
    }
  } finally {
    stop();
  }
}

function keyOf(namespace: readonly string[]): string {
  return JSON.stringify(namespace);
}

function note(nodes: Map<string, AgentTreeNode>, namespace: readonly string[], data: JsonObject): void {
  const { event, graph_name: name } = data;
  if (typeof event !== 'string' || !isStatus(event)) return;
  const node = nodes.get(keyOf(namespace)) ?? { namespace, status: event, graph_name: '', children: [] };
  nodes.set(keyOf(namespace), node);
  node.status = event;
  if (typeof name === 'string') node.graph_name = name;
}

function isStatus(event: string): event is AgentStatus {
  return STATUSES.has(event);
}

/** The nearest one above it that is known. */
function parentOf(
  nodes: ReadonlyMap<string, AgentTreeNode>,
  namespace: readonly string[],
  root: AgentTreeNode,
): AgentTreeNode {
  for (let length = namespace.length - 1; length > 0; length--) {
    const node = nodes.get(keyOf(namespace.slice(0, length)));
    if (node) return node;
  }
  return root;
}

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
