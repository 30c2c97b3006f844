import type { BaseCheckpointSaver, BaseStore } from '@langchain/langgraph-checkpoint';
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
} from '../graph/runnable-graph.js';
import type { AttemptedRun } from '../protocol/execution.js';
import { documentBytes, MAX_DOCUMENT_BYTES } from '../store/document-bytes.js';
import type { StoredRun } from '../store/row/stored-run.js';
import { definitionsOf, libraryModesOf } from '../stream/stream-modes.js';

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

/** A command as an instance of the agent's own class, for a write to a state from outside. */
export async function commandOf(
  command: StoredRun['kwargs']['command'],
  agentFile: string,
): Promise<unknown> {
  const Command = (await importOfAgent(agentFile, '@langchain/langgraph'))?.['Command'];
  if (typeof Command !== 'function')
    throw new Error('a command: the agent has no package @langchain/langgraph; add it to the agent');
  return Reflect.construct(Command, [await graphInput({ input: undefined, command }, agentFile)]);
}

/** The input to call the graph with: the input of the run, or a command to a graph that stopped. */
export async function graphInput(
  { input, command }: Pick<StoredRun['kwargs'], 'input' | 'command'>,
  agentFile: string,
): Promise<unknown> {
  if (!command) return input ?? null;
  const { goto, ...rest } = command;
  return {
    lg_name: 'Command',
    ...rest,
    ...(goto === undefined || goto === null ? {} : { goto: await gotoOf(goto, agentFile) }),
  };
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
    store,
    ...(Object.keys(context).length > 0 ? { context } : {}),
    ...(tags ? { tags } : {}),
    ...(recursionLimit ? { recursionLimit } : {}),
    ...(kwargs.interrupt_before ? { interruptBefore: kwargs.interrupt_before } : {}),
    ...(kwargs.interrupt_after ? { interruptAfter: kwargs.interrupt_after } : {}),
    ...(durability ? { durability } : {}),
  };
}
