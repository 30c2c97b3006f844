import type { BaseCheckpointSaver, BaseStore } from '@langchain/langgraph-checkpoint';
import { CHECKPOINTER_KEY, configurableOf, withoutCaller } from '../graph/configurable-of.js';
import type { GraphOptions } from '../graph/runnable-graph.js';
import type { AttemptedRun } from '../protocol/attempted-run.js';
import { definitionsOf, libraryModesOf } from '../stream/stream-modes.js';
import { runIdentity } from './run-identity.js';

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
