import type { StoredRun } from '../store/row/stored-run.js';

/** Names of a run in `configurable`, traces and checkpoints, as LangGraph's own server gives them. */
export function runIdentity(run: StoredRun): Record<string, string> {
  return {
    run_id: run.runId,
    thread_id: run.threadId,
    graph_id: run.graphId,
    assistant_id: run.assistantId,
  };
}
