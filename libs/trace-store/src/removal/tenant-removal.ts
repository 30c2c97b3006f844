import type { Pool } from '#lib/postgres';
import { recordDeletion } from '../project/project-deletions.js';
import { RELEASE, REMOVED_AT_ONCE } from '../run/remove-runs.js';

/** Projects whose deletion one call records. */
const PROJECTS_AT_ONCE = 200;
/** Pieces of one call: its caller looks again. */
const PIECES = 20;

/** Rows of a tenant that are still stored: those of its projects, or of a table. */
export type TenantRest =
  | { readonly kind: 'projects'; readonly projects: number }
  | { readonly kind: 'rows'; readonly table: string };

/** Tables whose rows refer to stored objects. */
const REFERRING = ['attachments', 'source_archives', 'example_attachments'] as const;

/**
 * Tables with rows that belong to no project, children first. A table of tenants is here or in `REFERRING`, or the removal
 * of projects empties it: a test compares them with the schema.
 */
const TABLES = [
  'example_versions',
  'example_payloads',
  'dataset_versions',
  'dataset_tags',
  'datasets',
  'prompt_commit_tags',
  'prompt_commits',
  'prompts',
  'feedback',
  'feedback_tokens',
  'feedback_configs',
  'trace_shares',
  'run_patches_waiting',
  'unplaced_runs',
  'trace_tops',
  'trace_totals',
  'run_statistics',
  'model_prices',
  'price_applications',
  'ingest_problems',
  'ingest_problem_counts',
  'archived_exports',
  'archived_revisions',
  'trace_erasures',
  'trace_retention',
  'project_deletions',
  'lake_days',
  'lake_tables',
  'lake_gone',
] as const;

/** Deletes some rows of a table of the tenant $1. */
function deletionOf(table: string): string {
  return `DELETE FROM ${table} WHERE tenant_id = $1 AND ctid = ANY (ARRAY(
    SELECT ctid FROM ${table} WHERE tenant_id = $1 LIMIT ${REMOVED_AT_ONCE}))`;
}

/** Statements that delete a piece, in their order; each answers how many rows went, as `rows`. */
const STATEMENTS: readonly (readonly [table: string, text: string])[] = [
  ...REFERRING.map((table): [string, string] => [
    table,
    `WITH gone AS (${deletionOf(table)} RETURNING object_id), released AS (WITH ${RELEASE} RETURNING 1)
    SELECT (SELECT count(*) FROM gone)::int AS rows, (SELECT count(*) FROM released) AS released`,
  ]),
  // objects of sealed days go with the next tidying of a lake
  ...['lake_segments', 'lake_table_files'].map((table): [string, string] => [
    table,
    `WITH gone AS (${deletionOf(table)} RETURNING key),
      noted AS (INSERT INTO lake_garbage (key) SELECT key FROM gone ON CONFLICT DO NOTHING)
    SELECT count(*)::int AS rows FROM gone`,
  ]),
  // progress and files of exports have no tenant: they go with the record of their run
  [
    'archived_export_runs',
    `WITH gone AS (${deletionOf('archived_export_runs')} RETURNING uid),
      progress AS (DELETE FROM export_progress WHERE run_uid IN (SELECT uid FROM gone))
    SELECT count(*)::int AS rows FROM gone`,
  ],
  ...TABLES.map((table): [string, string] => [
    table,
    `WITH gone AS (${deletionOf(table)} RETURNING 1) SELECT count(*)::int AS rows FROM gone`,
  ]),
];

/** Removes all rows of tenants whose workspaces are deleted. */
export class TenantRemoval {
  /** @param begin begins the removal of the rows of deleted projects */
  constructor(
    private readonly pool: Pool,
    private readonly begin: () => void,
  ) {}

  /**
   * Removes a part, keys first, so that nobody sends more. Safe to repeat, in several processes at once, and after a
   * process that died; nothing else remembers that the tenant is removed. Objects of attachments follow with tidying.
   * @returns what is left; undefined when nothing is
   */
  async remove(tenantId: string): Promise<TenantRest | undefined> {
    await this.pool.query('DELETE FROM api_keys WHERE tenant_id = $1', [tenantId]);
    const projects = await this.#deleteProjects(tenantId);
    if (projects > 0) return { kind: 'projects', projects };
    let pieces = 0;
    for (const [table, text] of STATEMENTS)
      while ((await this.#removeSome(text, tenantId)) === REMOVED_AT_ONCE)
        if (++pieces === PIECES) return { kind: 'rows', table };
    return undefined;
  }

  async #removeSome(text: string, tenantId: string): Promise<number> {
    const { rows } = await this.pool.query<{ rows: number }>(text, [tenantId]);
    return rows[0]?.rows ?? 0;
  }

  /** @returns how many projects have rows */
  async #deleteProjects(tenantId: string): Promise<number> {
    const { rows } = await this.pool.query<{ id: string }>(
      `SELECT id FROM projects WHERE tenant_id = $1 LIMIT ${PROJECTS_AT_ONCE}`,
      [tenantId],
    );
    for (const { id } of rows) await recordDeletion(this.pool, tenantId, id);
    const counted = await this.pool.query<{ projects: number }>(
      `SELECT (SELECT count(*) FROM projects WHERE tenant_id = $1)::int
        + (SELECT count(*) FROM project_deletions WHERE tenant_id = $1 AND completed_at IS NULL)::int AS projects`,
      [tenantId],
    );
    const projects = counted.rows[0]?.projects ?? 0;
    // also for those that a process which died has left
    if (projects > 0) this.begin();
    return projects;
  }
}

export type TenantRemovals = Pick<TenantRemoval, keyof TenantRemoval>;
