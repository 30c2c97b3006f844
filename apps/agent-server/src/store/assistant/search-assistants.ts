import type { JsonObject } from '#lib/json';
import { jsonbText } from '../json-text.js';
import {
  ASSISTANT_COLUMNS,
  wireAssistant,
  type AssistantRow,
  type WireAssistant,
} from '../row/assistant-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

export interface AssistantSearch {
  readonly graphId: string | undefined;
  /** Part of the name, in any case. */
  readonly name: string | undefined;
  readonly metadata: JsonObject | undefined;
  readonly limit: number;
  readonly offset: number;
}

/** Newest first. */
export async function searchAssistants(
  scope: Scope,
  sql: Sql,
  search: AssistantSearch,
): Promise<WireAssistant[]> {
  const { rows } = await sql.inScope<AssistantRow>(scope, {
    text: `SELECT ${ASSISTANT_COLUMNS} FROM agentplane.assistants
      WHERE (system OR ${visible('metadata')}) AND ($2::text IS NULL OR graph_id = $2) AND metadata @> $3::jsonb
        AND ($4::text IS NULL OR position(lower($4) IN lower(name)) > 0)
      ORDER BY created_at DESC, assistant_id LIMIT $5 OFFSET $6`,
    values: [
      search.graphId ?? null,
      jsonbText(search.metadata ?? {}),
      search.name ?? null,
      search.limit,
      search.offset,
    ],
  });
  return rows.map(wireAssistant);
}
