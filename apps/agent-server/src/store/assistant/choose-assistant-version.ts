import {
  ASSISTANT_COLUMNS,
  wireAssistant,
  type AssistantRow,
  type WireAssistant,
} from '../row/assistant-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

/** Makes one of the versions of an assistant the one that runs use; undefined for an unknown version. */
export async function chooseAssistantVersion(
  scope: Scope,
  sql: Sql,
  assistantId: string,
  version: number,
): Promise<WireAssistant | undefined> {
  const { rows } = await sql.inScope<AssistantRow>(scope, {
    text: `UPDATE agentplane.assistants a SET graph_id = v.graph_id, name = v.name, description = v.description,
        config = v.config, context = v.context, metadata = v.metadata, version = v.version,
        updated_at = clock_timestamp()
      FROM (SELECT * FROM agentplane.assistant_versions WHERE assistant_id = $2 AND version = $3) v
      WHERE a.assistant_id = $2 AND NOT a.system AND ${visible('a.metadata')} AND ${visible('v.metadata')}
      RETURNING ${ASSISTANT_COLUMNS.replace(/(\w+)/g, 'a.$1')}`,
    values: [assistantId, version],
  });
  return rows[0] && wireAssistant(rows[0]);
}
