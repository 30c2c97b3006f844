import type { JsonObject } from '#lib/json';
import { PublicError } from '#lib/errors';
import { jsonbText } from '../json-text.js';
import { requireAdmitted } from '../metadata/require-admitted.js';
import {
  ASSISTANT_COLUMNS,
  KEEP_VERSIONS,
  wireAssistant,
  type AssistantRow,
  type WireAssistant,
} from '../row/assistant-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';
import { findAssistant } from './find-assistant.js';

export interface NewAssistant {
  readonly assistantId: string;
  readonly graphId: string;
  readonly name: string;
  readonly description: string | undefined;
  readonly config: JsonObject;
  readonly context: JsonObject;
  readonly metadata: JsonObject;
}

/**
 * @throws PublicError `conflict` when the id is taken and the caller did not ask for the one that has it, or may not see
 *   it; `forbidden` for metadata outside of the scope
 */
export async function createAssistant(
  scope: Scope,
  sql: Sql,
  assistant: NewAssistant,
  ifExists: 'raise' | 'do_nothing',
): Promise<WireAssistant> {
  const { rows } = await sql.inScope<AssistantRow>(scope, {
    text: `WITH made AS (
        INSERT INTO agentplane.assistants (assistant_id, graph_id, name, description, config, context, metadata)
        SELECT $2::uuid, $3, $4, $5, $6::jsonb, $7::jsonb, $8::jsonb WHERE ${visible('$8::jsonb')}
        ON CONFLICT DO NOTHING RETURNING ${ASSISTANT_COLUMNS}), ${KEEP_VERSIONS}
      SELECT * FROM made`,
    values: [
      assistant.assistantId,
      assistant.graphId,
      assistant.name,
      assistant.description ?? null,
      jsonbText(assistant.config),
      jsonbText(assistant.context),
      jsonbText(assistant.metadata),
    ],
  });
  if (rows[0]) return wireAssistant(rows[0]);
  const what = `Assistant ${assistant.assistantId}`;
  await requireAdmitted(scope, sql, assistant.metadata, what);
  const existing =
    ifExists === 'do_nothing' ? await findAssistant(scope, sql, assistant.assistantId) : undefined;
  if (!existing) throw new PublicError('conflict', `${what} exists already`);
  return existing;
}
