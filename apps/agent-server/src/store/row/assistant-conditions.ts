import type { JsonObject } from '#lib/json';
import { jsonbText } from '../json-text.js';
import { visible } from '../visible.js';

/** Search for assistants, or for their number. */
export interface AssistantSearch {
  readonly graphId?: string | undefined;
  /** Part of the name, in any case. */
  readonly name?: string | undefined;
  readonly metadata?: JsonObject | undefined;
}

/** The conditions of a search, the scope's first; their values are `$2` to `$4`. */
export const ASSISTANT_CONDITIONS = `(system OR ${visible('metadata')}) AND ($2::text IS NULL OR graph_id = $2)
      AND metadata @> $3::jsonb AND ($4::text IS NULL OR position(lower($4) IN lower(name)) > 0)`;

export function assistantConditionValues({ graphId, name, metadata }: AssistantSearch): unknown[] {
  return [graphId ?? null, jsonbText(metadata ?? {}), name ?? null];
}
