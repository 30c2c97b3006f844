import { ERROR, WRITES_IDX_MAP } from '@langchain/langgraph-checkpoint';
import type { RunnableGraph } from '../graph/runnable-graph.js';
import { withSaver } from '../graph/with-saver.js';
import type { AttemptSaver } from '../store/checkpoint/attempt-saver.js';
import type { WireError } from '../wire/wire-value.js';

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
