import { PublicError } from '#lib/errors';
import type { JsonObject } from '#lib/json';
import { boundedPage, fitsRow, requireFit, jsonbText } from '../json-text.js';
import { requireAdmitted } from './change-thread.js';
import {
  ASSISTANT_COLUMNS,
  ASSISTANT_CONDITIONS,
  assistantConditionValues,
  assistantNotFound,
  type AssistantRow,
  type AssistantSearch,
  INSERT_VERSIONS,
  KEEP_VERSIONS,
  VERSIONED_COLUMNS,
  wireAssistant,
  type WireAssistant,
  type WireAssistantVersion,
} from '../row/assistant-row.js';
import { type Scope, type WorkerScope, visible } from '../scope.js';
import type { Sql } from '../sql.js';

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

export async function countAssistants(scope: Scope, sql: Sql, search: AssistantSearch): Promise<number> {
  const { rows } = await sql.inScope<{ count: string }>(scope, {
    scans: 'Counting assistants',
    text: `SELECT count(*) AS count FROM agentplane.assistants WHERE ${ASSISTANT_CONDITIONS}`,
    values: assistantConditionValues(search),
  });
  return Number(rows[0]?.count ?? 0);
}

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

/** Makes sure that a graph has its own assistant, which every caller may use. One that it has is not written: that waits for the disk. */
export async function ensureSystemAssistant(
  scope: WorkerScope,
  sql: Sql,
  { assistantId, graphId, description, config, context }: Omit<NewAssistant, 'name' | 'metadata'>,
): Promise<WireAssistant | undefined> {
  const { rows } = await sql.asWorker<AssistantRow>(scope, {
    text: `WITH same AS (
        SELECT ${ASSISTANT_COLUMNS} FROM agentplane.assistants a
        WHERE assistant_id = $1::uuid AND graph_id = $2::text AND description IS NOT DISTINCT FROM $3::text AND system
          AND config = $4::jsonb AND context = $5::jsonb
          AND EXISTS (SELECT FROM agentplane.assistant_versions v WHERE v.assistant_id = a.assistant_id
            AND v.version = a.version AND v.config = a.config AND v.context = a.context)
      ), made AS (
        INSERT INTO agentplane.assistants (assistant_id, graph_id, name, description, system, metadata, config, context)
        SELECT $1::uuid, $2::text, $2::text, $3::text, true, '{"created_by": "system"}', $4::jsonb, $5::jsonb
        WHERE NOT EXISTS (SELECT FROM same)
        ON CONFLICT (assistant_id) DO UPDATE SET graph_id = EXCLUDED.graph_id, description = EXCLUDED.description,
          system = true, config = EXCLUDED.config, context = EXCLUDED.context
        RETURNING ${ASSISTANT_COLUMNS}), kept AS (${INSERT_VERSIONS}
          ON CONFLICT (assistant_id, version) DO UPDATE SET config = EXCLUDED.config, context = EXCLUDED.context)
      SELECT * FROM same UNION ALL SELECT * FROM made`,
    values: [assistantId, graphId, description ?? null, jsonbText(config), jsonbText(context)],
  });
  return rows[0] && wireAssistant(rows[0]);
}

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

/** Answers whether there was one to remove; its versions go with it. */
export async function removeAssistant(scope: Scope, sql: Sql, assistantId: string): Promise<boolean> {
  const { rowCount } = await sql.inScope(scope, {
    text: `DELETE FROM agentplane.assistants WHERE assistant_id = $2 AND NOT system AND ${visible('metadata')}`,
    values: [assistantId],
  });
  return rowCount === 1;
}

export interface AssistantPage {
  readonly limit: number;
  readonly offset: number;
  /** A column by its name: it becomes part of the statement. */
  readonly sortBy: 'assistant_id' | 'graph_id' | 'name' | 'created_at' | 'updated_at';
  readonly isAscending: boolean;
}

/** The page; a part of it when its assistants are large. */
export async function searchAssistants(
  scope: Scope,
  sql: Sql,
  search: AssistantSearch,
  page: AssistantPage,
): Promise<WireAssistant[]> {
  const { rows } = await sql.inScope<AssistantRow>(scope, {
    scans: 'Searching assistants',
    text: boundedPage({
      columns: ASSISTANT_COLUMNS,
      alias: 'a',
      rows: `SELECT ${ASSISTANT_COLUMNS} FROM agentplane.assistants WHERE ${ASSISTANT_CONDITIONS}
        ORDER BY ${page.sortBy} ${page.isAscending ? 'ASC' : 'DESC'}, assistant_id LIMIT $6 OFFSET $7`,
      large: ['name', 'description', 'config', 'context', 'metadata'],
    }),
    values: [...assistantConditionValues(search), page.limit, page.offset],
  });
  return rows.map(wireAssistant);
}
