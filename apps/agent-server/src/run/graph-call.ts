import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint';
import { importOfAgent } from '../graph/agent-package.js';
import type { GraphOptions } from '../graph/runnable-graph.js';
import type { WireAssistant } from '../store/assistants.js';
import type { ClaimedRun } from '../store/run-row.js';
import { definitionsOf, libraryModesOf } from '../stream/stream-modes.js';
import type { RunKwargs } from './run-request.js';

/** Key under which a graph finds the checkpointer of one call; the graph object itself is shared and stays as it is. */
export const CHECKPOINTER_KEY = '__pregel_checkpointer';

/** One call of a graph. */
export interface GraphCall {
  readonly input: unknown;
  readonly options: GraphOptions;
  /** It goes on from where an earlier attempt of the same run stopped. */
  readonly resumesItself: boolean;
}

/** Names that LangGraph's own server gives, and the product's names for the same beside them. */
export function identityOf(run: ClaimedRun): Record<string, string | number> {
  return {
    run_id: run.runId,
    thread_id: run.threadId,
    graph_id: run.graphId,
    assistant_id: run.assistantId,
  };
}

/** What is recorded with every checkpoint of a run. */
export function checkpointMetadata(run: ClaimedRun): Record<string, unknown> {
  const given: Record<string, unknown> = { ...run.kwargs.config?.configurable };
  for (const key of Object.keys(given))
    if (key.startsWith('__') || key.startsWith('checkpoint_') || typeof given[key] === 'object')
      delete given[key];
  return { ...given, ...run.metadata, ...identityOf(run), run_attempt: run.attempt };
}

/** The `configurable` of a run or of a look at a state. */
export function configurableOf(
  assistant: WireAssistant,
  own: Readonly<Record<string, unknown>>,
  kwargs?: RunKwargs,
): Record<string, unknown> {
  const { configurable: ofAssistant } = assistant.config as { configurable?: Record<string, unknown> };
  // `__` keys steer the library itself, and where a run begins stands in a place of its own: an attempt that goes on
  // from where another stopped must not find it here
  const given = Object.entries({ ...ofAssistant, ...kwargs?.config?.configurable });
  const permitted = Object.fromEntries(given.filter(([key]) => !/^(__|checkpoint_(id|ns|map)$)/.test(key)));
  return { ...permitted, ...kwargs?.caller, ...own };
}

type Sends = new (node: string, args: unknown) => unknown;

function isSend(value: unknown): value is { node: string; input?: unknown; args?: unknown } {
  return typeof value === 'object' && value !== null && typeof Reflect.get(value, 'node') === 'string';
}

/** `goto` as the graph wants it: names, and instances of the agent's own `Send`. */
async function gotoOf(wire: unknown, agentFile: string): Promise<unknown> {
  const targets = Array.isArray(wire) ? wire : [wire];
  if (!targets.some(isSend)) return wire;
  const library = await importOfAgent(agentFile, '@langchain/langgraph');
  const Send = library?.['Send'] as Sends | undefined;
  if (!Send) throw new Error('the agent has no @langchain/langgraph to make a Send from');
  return targets.map((target: unknown) =>
    isSend(target) ? new Send(target.node, target.input ?? target.args ?? {}) : target,
  );
}

/** Whether an earlier attempt of this run has left a checkpoint to go on from. */
async function hasProgress(run: ClaimedRun, saver: BaseCheckpointSaver): Promise<boolean> {
  if (run.attempt === 1 || run.isTemporary) return false;
  const tuple = await saver.getTuple({ configurable: { thread_id: run.threadId, checkpoint_ns: '' } });
  const metadata = tuple?.metadata as Record<string, unknown> | undefined;
  return metadata?.['run_id'] === run.runId;
}

async function inputOf(kwargs: RunKwargs, agentFile: string): Promise<unknown> {
  if (!kwargs.command) return kwargs.input ?? null;
  const { goto, ...command } = kwargs.command;
  return {
    lg_name: 'Command',
    ...command,
    ...(goto === undefined || goto === null ? {} : { goto: await gotoOf(goto, agentFile) }),
  };
}

interface CallParts {
  readonly run: ClaimedRun;
  readonly assistant: WireAssistant;
  readonly saver: BaseCheckpointSaver;
  readonly signal: AbortSignal;
  readonly agentFile: string;
}

function optionsOf({ run, assistant, saver, signal }: CallParts, resumesItself: boolean): GraphOptions {
  const { kwargs } = run;
  const identity = identityOf(run);
  const { tags, recursion_limit: recursionLimit, run_name: runName, metadata } = kwargs.config ?? {};
  const context = { ...assistant.context, ...kwargs.context };
  const wantsCheckpoints = definitionsOf(kwargs.stream_mode).some((mode) => mode.needsCheckpoints);
  const durability = kwargs.durability ?? (run.isTemporary && !wantsCheckpoints ? 'exit' : undefined);
  return {
    streamMode: libraryModesOf(kwargs.stream_mode),
    subgraphs: kwargs.subgraphs,
    configurable: configurableOf(
      assistant,
      {
        ...identity,
        ...(kwargs.checkpoint && !resumesItself ? kwargs.checkpoint : {}),
        [CHECKPOINTER_KEY]: saver,
      },
      kwargs,
    ),
    metadata: { ...metadata, ...run.metadata, ...identity, run_attempt: run.attempt },
    runId: run.runId,
    runName: runName ?? run.graphId,
    signal,
    ...(Object.keys(context).length > 0 ? { context } : {}),
    ...(tags ? { tags } : {}),
    ...(recursionLimit ? { recursionLimit } : {}),
    ...(kwargs.interrupt_before ? { interruptBefore: kwargs.interrupt_before } : {}),
    ...(kwargs.interrupt_after ? { interruptAfter: kwargs.interrupt_after } : {}),
    ...(durability ? { durability } : {}),
  };
}

/** Thrown when a run is to begin from a checkpoint that is not there; the library would begin with an empty state. */
class CheckpointNotFound extends Error {
  override readonly name = 'CheckpointNotFound';
}

/** @throws CheckpointNotFound */
async function requireCheckpoint({ run, saver }: CallParts): Promise<void> {
  const { checkpoint } = run.kwargs;
  if (!checkpoint) return;
  const { checkpoint_ns = '', checkpoint_id } = checkpoint;
  const place = { thread_id: run.threadId, checkpoint_ns: checkpoint_ns ?? '', checkpoint_id };
  if (!(await saver.getTuple({ configurable: place })))
    throw new CheckpointNotFound(`The thread has no checkpoint ${String(checkpoint_id)}`);
}

/**
 * What to call the graph with. A later attempt goes on from the last checkpoint of an earlier one (no input); when there
 * is none it begins as the first did.
 */
export async function buildGraphCall(parts: CallParts): Promise<GraphCall> {
  const resumesItself = await hasProgress(parts.run, parts.saver);
  if (!resumesItself) await requireCheckpoint(parts);
  return {
    resumesItself,
    input: resumesItself ? null : await inputOf(parts.run.kwargs, parts.agentFile),
    options: optionsOf(parts, resumesItself),
  };
}
