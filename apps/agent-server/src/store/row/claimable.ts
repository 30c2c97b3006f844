/**
 * Condition on a run `r` that a server may begin now: due, alone on its thread, of a graph in the array parameter.
 * @param graphIds SQL: the array, for example `$1`
 */
export function claimable(graphIds: string): string {
  return `r.status = 'pending' AND r.start_after <= clock_timestamp() AND r.graph_id = ANY(${graphIds}) AND NOT EXISTS (
    SELECT 1 FROM agentplane.runs o WHERE o.thread_id = r.thread_id AND (o.status = 'running'
      OR (o.status = 'pending' AND o.ordinal < r.ordinal AND o.start_after <= clock_timestamp())))`;
}
