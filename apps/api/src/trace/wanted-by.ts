import type { WantedRuns } from './run-searches.js';
import type { WantedRunsRequest } from './runs-query.js';

/** Conditions on runs in a body of the first API. */
export function wantedBy(body: WantedRunsRequest): WantedRuns {
  const { session, session_id: sessionId } = body;
  const projectIds = [...(session ?? []), ...(sessionId ? [sessionId] : [])];
  return {
    // an empty list means that none was chosen: clients send it so
    projectIds: projectIds.length > 0 ? projectIds : undefined,
    ids: body.id ?? undefined,
    traceId: body.trace ?? undefined,
    parentRunId: body.parent_run ?? undefined,
    referenceExampleIds: body.reference_example ?? undefined,
    runType: body.run_type ?? undefined,
    hasError: body.error ?? undefined,
    isRoot: body.is_root ?? (body.execution_order === 1 ? true : undefined),
    from: body.start_time,
    to: body.end_time,
    filters: {
      filter: body.filter,
      trace_filter: body.trace_filter,
      tree_filter: body.tree_filter,
      query: body.query,
    },
  };
}
