import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint';
import type { RunnableGraph } from '../graph/runnable-graph.js';
import { compiledOf, withSaver } from '../graph/with-saver.js';
import type { AttemptedRun } from '../protocol/attempted-run.js';

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
