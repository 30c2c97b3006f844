import {
  type BaseCheckpointSaver,
  type BaseStore,
  type CheckpointTuple,
  ERROR,
  WRITES_IDX_MAP,
} from '@langchain/langgraph-checkpoint';
import { inheritedEnvironment } from '#lib/config';
import { errorText } from '#lib/errors';
import { isJsonObject } from '#lib/json';
import { importOfAgent } from '../graph/library-copies.js';
import {
  CHECKPOINTER_KEY,
  compiledOf,
  configurableOf,
  type GraphOptions,
  type RunnableGraph,
  withoutCaller,
  withSaver,
  type StateSnapshot,
} from '../graph/runnable-graph.js';
import type { AttemptedRun } from '../protocol/execution.js';
import { documentBytes, MAX_DOCUMENT_BYTES } from '../store/json-text.js';
import type { StoredRun } from '../store/row/run-row.js';
import { definitionsOf, libraryModesOf } from '../stream/stream-modes.js';
import type { AttemptSaver } from '../store/checkpoint/attempt-saver.js';
import { toWire, type WireError } from '../wire/wire-value.js';

/** Thrown when a run is to begin from a checkpoint that does not exist; the library would begin with an empty state. */
class CheckpointNotFound extends Error {
  override readonly name = 'CheckpointNotFound';
}

/** Returns true when an earlier attempt of this run has left a checkpoint to continue from. */
export async function hasProgress(run: AttemptedRun, saver: BaseCheckpointSaver): Promise<boolean> {
  if (run.attempt === 1 || run.isTemporary) return false;
  const tuple = await saver.getTuple({ configurable: { thread_id: run.threadId, checkpoint_ns: '' } });
  const metadata: unknown = tuple?.metadata;
  return isJsonObject(metadata) && metadata['run_id'] === run.runId;
}

/** @throws CheckpointNotFound when the run is to begin from a checkpoint that its thread does not have */
export async function requireCheckpoint(
  { threadId, kwargs }: AttemptedRun,
  saver: BaseCheckpointSaver,
): Promise<void> {
  const { checkpoint } = kwargs;
  if (!checkpoint) return;
  const { checkpoint_ns, checkpoint_id } = checkpoint;
  const place = { thread_id: threadId, checkpoint_ns: checkpoint_ns ?? '', checkpoint_id };
  if (!(await saver.getTuple({ configurable: place })))
    throw new CheckpointNotFound(`Thread ${threadId} has no checkpoint ${String(checkpoint_id)}`);
}

/** Names of a run in `configurable`, traces and checkpoints, as LangGraph's own server gives them. */
function runIdentity(run: StoredRun): Record<string, string> {
  return {
    run_id: run.runId,
    thread_id: run.threadId,
    graph_id: run.graphId,
    assistant_id: run.assistantId,
  };
}

/** Metadata recorded with every checkpoint of a run. */
export function checkpointMetadata(run: AttemptedRun): Record<string, unknown> {
  const given: Record<string, unknown> = { ...withoutCaller(run.kwargs.config?.configurable ?? {}) };
  for (const key of Object.keys(given))
    if (key.startsWith('__') || key.startsWith('checkpoint_') || typeof given[key] === 'object')
      delete given[key];
  // every checkpoint has a copy: whole documents are for the run alone
  const recorded = documentBytes(given) > MAX_DOCUMENT_BYTES ? {} : given;
  return { ...recorded, ...run.metadata, ...runIdentity(run), run_attempt: run.attempt };
}

/** A target of `goto` with its own state. */
interface WireSend {
  readonly node: string;
  readonly input?: unknown;
  readonly args?: unknown;
}

function isSend(value: unknown): value is WireSend {
  return typeof value === 'object' && value !== null && typeof Reflect.get(value, 'node') === 'string';
}

/** `goto` as the graph wants it: names, and instances of the agent's own `Send`. */
async function gotoOf(wire: unknown, agentFile: string): Promise<unknown> {
  const targets: unknown[] = Array.isArray(wire) ? wire : [wire];
  if (!targets.some(isSend)) return wire;
  const Send = (await importOfAgent(agentFile, '@langchain/langgraph'))?.['Send'];
  if (typeof Send !== 'function')
    throw new Error('goto with a Send: the agent has no package @langchain/langgraph; add it to the agent');
  return targets.map((target): unknown =>
    isSend(target) ? Reflect.construct(Send, [target.node, target.input ?? target.args ?? {}]) : target,
  );
}

/** A command to a graph whose library cannot be imported from its file; it is known by its name, unless it is a plain object. */
class NamedCommand {
  readonly lg_name = 'Command';

  constructor(fields: object) {
    Object.assign(this, fields);
  }
}

/** A command as an instance of the agent's own class. */
export async function commandOf(
  { goto, ...rest }: NonNullable<StoredRun['kwargs']['command']>,
  agentFile: string,
): Promise<unknown> {
  const Command = (await importOfAgent(agentFile, '@langchain/langgraph'))?.['Command'];
  const fields = {
    ...rest,
    ...(goto === undefined || goto === null ? {} : { goto: await gotoOf(goto, agentFile) }),
  };
  return typeof Command === 'function' ? Reflect.construct(Command, [fields]) : new NamedCommand(fields);
}

/** The input to call the graph with: the input of the run, or a command to a graph that stopped. */
export async function graphInput(
  { input, command }: Pick<StoredRun['kwargs'], 'input' | 'command'>,
  agentFile: string,
): Promise<unknown> {
  return command ? commandOf(command, agentFile) : (input ?? null);
}

const isDelta = (channel: unknown): boolean =>
  typeof channel === 'object' && channel !== null && Reflect.get(channel, 'lc_graph_name') === 'DeltaChannel';

/**
 * The part of `configurable` by which a run begins a branch of its thread. LangGraph for JavaScript stores
 * the changes of delta channels beside the checkpoint that they were made from, and replays all that it finds
 * there. A run that does not continue with those changes begins at a copy of the checkpoint.
 */
export async function placeOfBranch(
  { kwargs: { checkpoint, command, input }, threadId, isTemporary, isThreadEmpty }: AttemptedRun,
  graph: RunnableGraph,
  saver: BaseCheckpointSaver,
): Promise<{ readonly checkpoint_id?: string }> {
  const { checkpoint_id: id, checkpoint_ns: namespace } = checkpoint ?? {};
  // an answer is for the tasks of its very checkpoint
  if (isTemporary || isThreadEmpty || namespace || (command?.resume ?? null) !== null) return {};
  if (!id && (command || input === null || input === undefined)) return {};
  const deltas = Object.entries(compiledOf(graph).channels ?? {}).flatMap(([name, channel]) =>
    isDelta(channel) ? [name] : [],
  );
  if (deltas.length === 0) return {};
  const newest = { thread_id: threadId, checkpoint_ns: '' };
  const place = { configurable: { ...newest, checkpoint_id: id } };
  const from = await saver.getTuple(place);
  if (!from) return {};
  if (!from.pendingWrites?.some(([, channel]) => deltas.includes(channel))) {
    const last = id ? await saver.getTuple({ configurable: newest }) : from;
    if (last?.checkpoint.id === from.checkpoint.id) return {};
  }
  const copy = await withSaver(graph, saver).updateState(
    { configurable: { ...newest, checkpoint_id: from.checkpoint.id } },
    null,
    '__copy__',
  );
  return id ? { checkpoint_id: String(copy.configurable?.['checkpoint_id']) } : {};
}

/** Parameters of one attempt of a run. */
export interface Attempt {
  readonly run: AttemptedRun;
  readonly saver: BaseCheckpointSaver;
  readonly store: BaseStore;
  readonly signal: AbortSignal;
  /** It continues from where an earlier attempt of the same run stopped. */
  readonly continues: boolean;
}

function durabilityOf({ kwargs, isTemporary }: AttemptedRun): string | undefined {
  if (kwargs.durability) return kwargs.durability;
  const needsCheckpoints = definitionsOf(kwargs.stream_mode).some((mode) => mode.needsCheckpoints);
  return isTemporary && !needsCheckpoints ? 'exit' : undefined;
}

/**
 * Callbacks that give the error of a cancelled run its reason before the tracer sees it: the library throws one that says
 * `Abort` alone. None without tracing, since each callback costs every node.
 */
function reasonInTrace(signal: AbortSignal): { readonly callbacks?: readonly object[] } {
  const settings = inheritedEnvironment([
    'LANGSMITH_TRACING',
    'LANGSMITH_TRACING_V2',
    'LANGCHAIN_TRACING_V2',
  ]);
  if (!Object.values(settings).includes('true')) return {};
  const handleChainError = (error: unknown): void => {
    if (error instanceof Error && error.message === 'Abort' && signal.aborted)
      error.message = errorText(signal.reason);
  };
  return { callbacks: [{ name: 'reason-in-trace', awaitHandlers: true, handleChainError }] };
}

/** The options to call the graph with. */
export function graphOptions({ run, saver, store, signal, continues }: Attempt): GraphOptions {
  const { kwargs } = run;
  const identity = runIdentity(run);
  const { tags, recursion_limit: recursionLimit, run_name: runName, metadata } = kwargs.config ?? {};
  const context = withoutCaller(kwargs.context ?? {});
  const durability = durabilityOf(run);
  return {
    streamMode: libraryModesOf(kwargs.stream_mode),
    subgraphs: kwargs.subgraphs,
    configurable: configurableOf(
      kwargs.config?.configurable,
      kwargs.caller,
      identity,
      continues ? {} : (kwargs.checkpoint ?? {}),
      { [CHECKPOINTER_KEY]: saver },
    ),
    metadata: { ...metadata, ...run.metadata, ...identity, run_attempt: run.attempt },
    runId: run.runId,
    runName: runName ?? run.graphId,
    signal,
    ...reasonInTrace(signal),
    store,
    ...(Object.keys(context).length > 0 ? { context } : {}),
    ...(tags ? { tags } : {}),
    ...(recursionLimit ? { recursionLimit } : {}),
    ...(kwargs.interrupt_before ? { interruptBefore: kwargs.interrupt_before } : {}),
    ...(kwargs.interrupt_after ? { interruptAfter: kwargs.interrupt_after } : {}),
    ...(durability ? { durability } : {}),
  };
}

/**
 * Gives the tasks of a step whose writes no channel accepted the error that the run ended with, which removes
 * their writes. LangGraph stores the writes of a step before it applies them, and applies them again at every
 * read of the state: an unreadable message would make the thread unreadable.
 */
export async function settleRefusedWrites(
  graph: RunnableGraph,
  saver: AttemptSaver,
  threadId: string,
  { error: name, message }: WireError,
): Promise<void> {
  const look = withSaver(graph, saver);
  for (const namespace of saver.written) {
    const newest = { thread_id: threadId, checkpoint_ns: namespace };
    const found = await saver.getTuple({ configurable: newest });
    const writes = found?.pendingWrites?.filter(([, channel]) => !(channel in WRITES_IDX_MAP)) ?? [];
    if (!found || writes.length === 0) continue;
    const isReadable = await look.getState({ configurable: newest }).then(
      () => true,
      () => false,
    );
    if (isReadable) continue;
    // a state of a named checkpoint is read without the writes of its tasks
    await look.getState({ configurable: { ...newest, checkpoint_id: found.checkpoint.id } });
    for (const task of new Set(writes.map(([id]) => id)))
      await saver.putWrites(found.config, [[ERROR, { name, message }]], task);
  }
}

/** Everything that a state waits for. */
export function interruptsOf({ tasks }: StateSnapshot): readonly unknown[] {
  return tasks.flatMap((task) => task.interrupts ?? []);
}

/** The interrupts of a state as a thread shows them: by the task that waits. */
export function interruptsByTask(state: StateSnapshot): Record<string, unknown> {
  const waiting = state.tasks.filter((task) => (task.interrupts?.length ?? 0) > 0);
  return Object.fromEntries(waiting.map((task) => [task.id, toWire(task.interrupts)]));
}

type Versions = CheckpointTuple['checkpoint']['channel_versions'];
type Kwargs = StoredRun['kwargs'];
type Breakpoints = Kwargs['interrupt_before'];

/** Name under which the library notes which versions it has already stopped for. */
const SEEN = '__interrupt__';

function versionsSeen({ checkpoint }: CheckpointTuple, by: string): Versions {
  return checkpoint.versions_seen[by] ?? {};
}

function hasNews(tuple: CheckpointTuple): boolean {
  const seen = versionsSeen(tuple, SEEN);
  return Object.entries(tuple.checkpoint.channel_versions).some(
    ([channel, version]) => Number(version) > Number(seen[channel] ?? 0),
  );
}

function isAmong(breakpoints: Breakpoints, node: string): boolean {
  return breakpoints === '*' ? !node.startsWith('__') : (breakpoints?.includes(node) ?? false);
}

/** Nodes whose step made this checkpoint: their seen versions differ from the checkpoint before. */
function nodesOfStep(tuple: CheckpointTuple, before: CheckpointTuple | undefined): string[] {
  return Object.keys(tuple.checkpoint.versions_seen).filter(
    (node) =>
      node !== SEEN &&
      JSON.stringify(versionsSeen(tuple, node)) !== JSON.stringify(before ? versionsSeen(before, node) : {}),
  );
}

/**
 * Returns true when a run has already stopped at a breakpoint (`interrupt_before`, `interrupt_after`) in this
 * state. The library keeps no note of such a stop and continues past it when it is called again: an attempt
 * that takes over from a server which died just then would run a node that a person was to allow first.
 */
export async function isAtBreakpoint(
  saver: BaseCheckpointSaver,
  state: StateSnapshot,
  { interrupt_before: before, interrupt_after: after }: Pick<Kwargs, 'interrupt_before' | 'interrupt_after'>,
): Promise<boolean> {
  if (!before && !after) return false;
  const tuple = await saver.getTuple(state.config);
  if (!tuple || !hasNews(tuple)) return false;
  if (state.next.some((node) => isAmong(before, node))) return true;
  if (!after) return false;
  const parent = tuple.parentConfig && (await saver.getTuple(tuple.parentConfig));
  return nodesOfStep(tuple, parent).some((node) => isAmong(after, node));
}
