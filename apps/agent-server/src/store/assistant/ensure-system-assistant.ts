import {
  ASSISTANT_COLUMNS,
  KEEP_VERSIONS,
  wireAssistant,
  type AssistantRow,
  type WireAssistant,
} from '../row/assistant-row.js';
import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

/** Makes sure that a graph has its own assistant, which every caller may use. */
export async function ensureSystemAssistant(
  scope: WorkerScope,
  sql: Sql,
  assistantId: string,
  graphId: string,
  description: string | undefined,
): Promise<WireAssistant | undefined> {
  const { rows } = await sql.asWorker<AssistantRow>(scope, {
    text: `WITH made AS (
        INSERT INTO agentplane.assistants (assistant_id, graph_id, name, description, system, metadata)
        VALUES ($1, $2, $2, $3, true, '{"created_by": "system"}')
        ON CONFLICT (assistant_id) DO UPDATE SET graph_id = EXCLUDED.graph_id, description = EXCLUDED.description,
          system = true
        RETURNING ${ASSISTANT_COLUMNS}), ${KEEP_VERSIONS}
      SELECT * FROM made`,
    values: [assistantId, graphId, description ?? null],
  });
  return rows[0] && wireAssistant(rows[0]);
}
