import type { JsonObject } from '#lib/json';
import { jsonbText } from '../json-text.js';
import { boundedPage } from '../bounded-page.js';
import { VERSIONED_COLUMNS, type WireAssistantVersion } from '../row/assistant-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

export interface VersionPage {
  readonly metadata: JsonObject | undefined;
  readonly limit: number;
  readonly offset: number;
}

/**
 * Versions, newest first; only those for which the scope admits the metadata of the assistant and of the
 * version.
 */
export async function listAssistantVersions(
  scope: Scope,
  sql: Sql,
  assistantId: string,
  page: VersionPage,
): Promise<WireAssistantVersion[]> {
  const { rows } = await sql.inScope<Omit<WireAssistantVersion, 'created_at'> & { created_at: Date }>(scope, {
    text: boundedPage({
      columns: `${VERSIONED_COLUMNS}, created_at`,
      alias: 'v',
      rows: `SELECT ${VERSIONED_COLUMNS}, created_at FROM agentplane.assistant_versions v
        WHERE v.assistant_id = $2 AND v.metadata @> $3::jsonb
          AND EXISTS (SELECT 1 FROM agentplane.assistants a WHERE a.assistant_id = $2
            AND (a.system OR (${visible('a.metadata')} AND ${visible('v.metadata')})))
        ORDER BY v.version DESC LIMIT $4 OFFSET $5`,
      large: ['name', 'description', 'config', 'context', 'metadata'],
    }),
    values: [assistantId, jsonbText(page.metadata ?? {}), page.limit, page.offset],
  });
  return rows.map((row) => ({ ...row, created_at: row.created_at.toISOString() }));
}
