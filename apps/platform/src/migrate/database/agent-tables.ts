import type { Queryable } from '#lib/postgres';

/** Schema of everything that an agent server keeps, the checkpointer's tables included. */
export const AGENT_SCHEMA = 'agentplane';

/** A table whose rows are copied. */
export interface AgentTable {
  readonly name: string;
  /** Columns that the database does not compute. */
  readonly columns: readonly string[];
  /** All columns with their types: two databases of one schema have the same. */
  readonly shape: string;
  readonly hasTriggers: boolean;
  /** Sequences, by the column that takes its numbers from them. */
  readonly sequences: readonly string[];
}

/** Tables of applied migrations: each database notes its own. */
const LEFT: ReadonlySet<string> = new Set(['migrations', 'checkpoint_migrations']);

/**
 * Rows that the schema or the start of a server writes by itself, so that a target which has no others is empty: the
 * source's take their place.
 */
export const WRITTEN_AT_START: Readonly<Record<string, string>> = {
  context_key: 'true',
  thread_ttl_default: 'true',
  assistants: 'system',
  assistant_versions: `assistant_id IN (SELECT assistant_id FROM ${AGENT_SCHEMA}.assistants WHERE system)`,
};

/**
 * Unlogged tables hold the output of runs at work for readers of other servers, and are left. Referenced
 * tables come first.
 */
const TABLES = `SELECT c.relname AS name,
    array_agg(a.attname::text ORDER BY a.attnum) FILTER (WHERE a.attgenerated = '') AS columns,
    json_agg(json_build_array(a.attname, format_type(a.atttypid, a.atttypmod)) ORDER BY a.attname)::text AS shape,
    EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal) AS "hasTriggers",
    coalesce(array_agg(pg_get_serial_sequence(format('%I.%I', n.nspname, c.relname), a.attname)
      ORDER BY a.attnum) FILTER (WHERE a.attidentity <> ''), '{}') AS sequences,
    (SELECT count(*)::int FROM pg_constraint f WHERE f.conrelid = c.oid AND f.contype = 'f') AS references
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  WHERE n.nspname = $1 AND c.relkind = 'r' AND c.relpersistence = 'p'
  GROUP BY c.oid, c.relname, n.nspname
  ORDER BY 6, 1`;

/** The tables of an agent server in a database, in the order in which they can be filled. */
export async function agentTables(database: Queryable): Promise<readonly AgentTable[]> {
  const { rows } = await database.query<AgentTable>(TABLES, [AGENT_SCHEMA]);
  return rows.filter(({ name }) => !LEFT.has(name));
}

/** Numbers of the migrations that an agent server applied; undefined where none ever started on the database. */
export async function schemaVersion(database: Queryable): Promise<number | undefined> {
  const { rows: found } = await database.query<{ exists: boolean }>(
    `SELECT to_regclass($1) IS NOT NULL AS exists`,
    [`${AGENT_SCHEMA}.migrations`],
  );
  if (found[0]?.exists !== true) return undefined;
  const { rows } = await database.query<{ version: number | null }>(
    `SELECT max(version) AS version FROM ${AGENT_SCHEMA}.migrations`,
  );
  return rows[0]?.version ?? undefined;
}
