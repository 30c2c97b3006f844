import type { JsonObject } from '#lib/json';
import { PublicError } from '#lib/errors';
import { jsonbText } from '../json-text.js';
import { fitsRow, requireFit } from '../document-bytes.js';
import { requireAdmitted } from '../metadata/require-admitted.js';
import {
  ASSISTANT_COLUMNS,
  assistantNotFound,
  KEEP_VERSIONS,
  wireAssistant,
  type AssistantRow,
  type WireAssistant,
} from '../row/assistant-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';
import { findAssistant } from './find-assistant.js';

/** Fields of a change; the rest stays as it is. */
export interface AssistantChange {
  readonly graphId?: string | undefined;
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly config?: JsonObject | undefined;
  readonly context?: JsonObject | undefined;
  /** Merged into the existing metadata. */
  readonly metadata?: JsonObject | undefined;
}

const documentOf = (given: JsonObject | undefined): string | null => (given ? jsonbText(given) : null);

/**
 * Makes a new version of an assistant of a caller, which becomes the one that runs use.
 * @throws PublicError `not_found`; `forbidden` when the assistant would leave the scope; `too_large`
 */
export async function patchAssistant(
  scope: Scope,
  sql: Sql,
  assistantId: string,
  change: AssistantChange,
): Promise<WireAssistant> {
  const merged = `(metadata || coalesce($8::jsonb, '{}'))`;
  const { rows } = await sql.inScope<AssistantRow>(scope, {
    text: `WITH made AS (
        UPDATE agentplane.assistants SET graph_id = coalesce($3, graph_id), name = coalesce($4, name),
          description = coalesce($5, description), config = coalesce($6::jsonb, config),
          context = coalesce($7::jsonb, context), metadata = ${merged},
          version = last_version + 1, last_version = last_version + 1, updated_at = clock_timestamp()
        WHERE assistant_id = $2 AND NOT system AND ${visible('metadata')} AND ${visible(merged)}
          AND ${fitsRow(merged)}
        RETURNING ${ASSISTANT_COLUMNS}), ${KEEP_VERSIONS}
      SELECT * FROM made`,
    values: [
      assistantId,
      change.graphId ?? null,
      change.name ?? null,
      change.description ?? null,
      documentOf(change.config),
      documentOf(change.context),
      documentOf(change.metadata),
    ],
  });
  if (rows[0]) return wireAssistant(rows[0]);
  const before = await findAssistant(scope, sql, assistantId);
  if (!before) throw assistantNotFound(assistantId);
  const what = `Assistant ${assistantId}`;
  const metadata = { ...before.metadata, ...change.metadata };
  await requireAdmitted(scope, sql, metadata, what);
  requireFit(metadata, what);
  throw new PublicError('conflict', `${what} was changed at the same time; retry`);
}
