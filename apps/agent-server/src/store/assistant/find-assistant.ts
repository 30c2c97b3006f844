import {
  ASSISTANT_COLUMNS,
  wireAssistant,
  type AssistantRow,
  type WireAssistant,
} from '../row/assistant-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

/** An assistant by its id; those of graphs belong to every caller. */
export async function findAssistant(
  scope: Scope,
  sql: Sql,
  assistantId: string,
): Promise<WireAssistant | undefined> {
  const { rows } = await sql.inScope<AssistantRow>(scope, {
    text: `SELECT ${ASSISTANT_COLUMNS} FROM agentplane.assistants
      WHERE assistant_id = $2 AND (system OR ${visible('metadata')})`,
    values: [assistantId],
  });
  return rows[0] && wireAssistant(rows[0]);
}
