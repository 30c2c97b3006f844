import type { JsonObject } from '#lib/json';
import { jsonbText } from '../json-text.js';
import { visible } from '../visible.js';

/** Search for crons, or for their number. */
export interface CronSearch {
  readonly assistantId?: string | undefined;
  readonly threadId?: string | undefined;
  readonly enabled?: boolean | undefined;
  readonly metadata?: JsonObject | undefined;
}

/** The conditions of a search on a cron `c`, the scope's first: its values are `$2` to `$5`. */
export const CRON_CONDITIONS = `${visible('c.metadata')} AND ($2::uuid IS NULL OR c.assistant_id = $2)
  AND ($3::uuid IS NULL OR c.thread_id = $3) AND ($4::boolean IS NULL OR c.enabled = $4)
  AND ($5::jsonb IS NULL OR c.metadata @> $5)`;

export function cronValues({ assistantId, threadId, enabled, metadata }: CronSearch): unknown[] {
  return [assistantId ?? null, threadId ?? null, enabled ?? null, metadata ? jsonbText(metadata) : null];
}
