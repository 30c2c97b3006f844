import { ancestorWalk, WITHOUT_VALUE } from '../row/ancestor-walk.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

const OF_THREAD = `o.thread_id = $2::text
  AND EXISTS (SELECT 1 FROM agentplane.threads t WHERE t.thread_id = $2::text::uuid AND ${visible('t.metadata')})`;

const LATEST = `c.thread_id = $2::text AND c.checkpoint_id = (SELECT max(l.checkpoint_id) FROM agentplane.checkpoints l
  WHERE l.thread_id = c.thread_id AND l.checkpoint_ns = c.checkpoint_ns)`;

/**
 * Channels that are empty in a checkpoint are mostly consumed ones. A delta channel counts its changes in the metadata
 * of checkpoints, and a write to it makes a version without a value; that of any other channel makes one with a value.
 */
const DELTAS = `deltas AS (
  SELECT w.checkpoint_ns, array_agg(DISTINCT k) AS channels FROM walk w, unnest(w.wanted || w.missing) k
  WHERE w.counters ? k OR (k = ANY (w.wanted) AND w.versions ->> k IS DISTINCT FROM w.next_versions ->> k
    AND EXISTS (SELECT 1 FROM agentplane.checkpoint_writes x WHERE x.thread_id = w.thread_id
      AND x.checkpoint_ns = w.checkpoint_ns AND x.checkpoint_id = w.checkpoint_id AND x.channel = k))
  GROUP BY w.checkpoint_ns)`;

const KEPT = `kept AS MATERIALIZED (
  SELECT w.checkpoint_ns, w.checkpoint_id, w.versions FROM walk w LEFT JOIN deltas d USING (checkpoint_ns)
  WHERE w.depth = 0 OR w.wanted && d.channels)`;

const PRUNE = `WITH RECURSIVE ${ancestorWalk(LATEST, WITHOUT_VALUE)}, ${DELTAS}, ${KEPT}, writes AS (
  DELETE FROM agentplane.checkpoint_writes o WHERE ${OF_THREAD}
    AND (o.checkpoint_ns, o.checkpoint_id) NOT IN (SELECT checkpoint_ns, checkpoint_id FROM kept)
), blobs AS (
  DELETE FROM agentplane.checkpoint_blobs o WHERE ${OF_THREAD}
    AND (o.checkpoint_ns, o.channel, o.version) NOT IN
      (SELECT k.checkpoint_ns, v.key, v.value FROM kept k, jsonb_each_text(k.versions) v))
DELETE FROM agentplane.checkpoints o WHERE ${OF_THREAD}
  AND (o.checkpoint_ns, o.checkpoint_id) NOT IN (SELECT checkpoint_ns, checkpoint_id FROM kept)`;

/**
 * Leaves a thread the last checkpoint of each of its graphs, and the ancestors that the values of its delta
 * channels are made of. The thread must be locked, and have no run in progress.
 * @returns true when there were older ones
 */
export async function pruneThread(scope: Scope, sql: Sql, threadId: string): Promise<boolean> {
  return (await sql.inScope(scope, { text: PRUNE, values: [threadId] })).rowCount !== 0;
}
