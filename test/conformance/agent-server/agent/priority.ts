/** Ranks a run by its own metadata. */
export function assign({ run_metadata }: { run_metadata: { rank?: number } }): unknown {
  const { rank } = run_metadata;
  return rank === undefined ? null : { priority: rank, fairness_group: 'ranked' };
}
