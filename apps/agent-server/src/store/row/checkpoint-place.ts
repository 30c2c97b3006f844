import type { RunnableConfig } from '@langchain/core/runnables';

/** Condition: checkpoint `c` has a value of channel `k`. */
const HAS_VALUE = `EXISTS (SELECT 1 FROM agentplane.checkpoint_blobs b WHERE b.thread_id = c.thread_id
  AND b.checkpoint_ns = c.checkpoint_ns AND b.channel = k
  AND b.version = c.checkpoint -> 'channel_versions' ->> k AND b.type <> 'empty')`;

const COLUMNS = `c.thread_id, c.checkpoint_ns, c.checkpoint_id, c.parent_checkpoint_id,
    c.checkpoint -> 'channel_versions' AS versions, c.metadata -> 'counters_since_delta_snapshot' AS counters`;

/**
 * A recursive table `walk`: checkpoints and their ancestors for as long as a channel has no value. A delta
 * channel of LangGraph stores its value in few checkpoints; in the others it is the last stored value with
 * the writes of the checkpoints since (`BaseCheckpointSaver.get_delta_channel_history`). `wanted` are the
 * channels that no descendant has a value of, `missing` those that this checkpoint does not have either. A
 * statement begins with `WITH RECURSIVE`.
 * @param starts condition for checkpoints `c` of depth 0
 * @param channels those to look for, as `text[]`
 */
export const ancestorWalk = (starts: string, channels: string): string => `walk AS (
  SELECT ${COLUMNS}, 0 AS depth, '{}'::text[] AS wanted, NULL::jsonb AS next_versions, ${channels} AS missing
  FROM agentplane.checkpoints c WHERE ${starts}
  UNION ALL
  SELECT ${COLUMNS}, w.depth + 1, w.missing, w.versions,
    ARRAY(SELECT k FROM unnest(w.missing) k WHERE NOT ${HAS_VALUE})
  FROM walk w JOIN agentplane.checkpoints c ON c.thread_id = w.thread_id AND c.checkpoint_ns = w.checkpoint_ns
    AND c.checkpoint_id = w.parent_checkpoint_id
  WHERE cardinality(w.missing) > 0)`;

/** All channels of checkpoint `c` that have no value there. */
export const WITHOUT_VALUE = `ARRAY(SELECT k FROM jsonb_object_keys(c.checkpoint -> 'channel_versions') k WHERE NOT ${HAS_VALUE})`;

/** Position of a checkpoint, as the library writes it in `configurable`. */
export interface CheckpointPlace {
  readonly threadId: string;
  readonly namespace: string;
  readonly checkpointId: string | undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function checkpointPlace({ configurable = {} }: RunnableConfig): CheckpointPlace {
  return {
    threadId: textOf(configurable['thread_id']) ?? '',
    namespace: textOf(configurable['checkpoint_ns']) ?? '',
    checkpointId: textOf(configurable['checkpoint_id']),
  };
}
