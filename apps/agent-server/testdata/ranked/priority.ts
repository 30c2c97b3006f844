/** Words of the context that the rank is made of. */
interface Context {
  readonly run_metadata: Readonly<Record<string, unknown>>;
  readonly thread_metadata: Readonly<Record<string, unknown>>;
  readonly graph_id: string;
  readonly cron_id: string | null;
}

export async function assign({
  run_metadata,
  thread_metadata,
  graph_id,
  cron_id,
}: Context): Promise<unknown> {
  if (cron_id !== null) return { priority: 4, fairness_group: `cron of ${graph_id}` };
  if (run_metadata['rank'] === 'broken') throw new Error('no rank for it');
  const rank = run_metadata['rank'] ?? thread_metadata['rank'];
  return rank === undefined ? null : { priority: rank };
}
