import {
  type BaseCheckpointSaver,
  type CheckpointTuple,
  ERROR,
  WRITES_IDX_MAP,
} from '@langchain/langgraph-checkpoint';
import { type RunnableGraph, type StateSnapshot, withSaver } from '../graph/runnable-graph.js';
import type { AttemptSaver } from '../store/checkpoint/attempt-saver.js';
import type { StoredRun } from '../store/row/stored-run.js';
import { toWire, type WireError } from '../wire/wire-value.js';

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
