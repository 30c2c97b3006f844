import {
  ASSISTANT_CONDITIONS,
  assistantConditionValues,
  type AssistantSearch,
} from '../row/assistant-conditions.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';

export async function countAssistants(scope: Scope, sql: Sql, search: AssistantSearch): Promise<number> {
  const { rows } = await sql.inScope<{ count: string }>(scope, {
    scans: 'Counting assistants',
    text: `SELECT count(*) AS count FROM agentplane.assistants WHERE ${ASSISTANT_CONDITIONS}`,
    values: assistantConditionValues(search),
  });
  return Number(rows[0]?.count ?? 0);
}
