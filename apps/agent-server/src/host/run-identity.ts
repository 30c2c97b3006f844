import type { StoredRun } from '../store/row/stored-run.js';

/** What a run is called in `configurable`, traces and checkpoints, by the names that LangGraph's own server gives. */
export function runIdentity(run: StoredRun): Record<string, string> {
  return {
    run_id: run.runId,
    thread_id: run.threadId,
    graph_id: run.graphId,
    assistant_id: run.assistantId,
  };
}
