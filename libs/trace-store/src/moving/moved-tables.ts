import type { Queryable } from '#lib/postgres';

/** A table with the columns that are copied. */
export interface MovedTable {
  readonly name: string;
  readonly columns: readonly string[];
  readonly hasTenant: boolean;
  /** Columns with their types, of those that are not copied too: two databases of one schema have the same. */
  readonly shape: string;
}

/**
 * Tables whose rows mean nothing elsewhere: the applied migrations, the progress of attempts at exports, by
 * uids of the API server that they belong to, and revisions, whose numbers begin anew in the place that their
 * deployment is copied to.
 */
const LEFT: ReadonlySet<string> = new Set([
  'schema_migrations',
  'control_migrations',
  'export_progress',
  'export_files',
  'export_fences',
  'archived_revisions',
]);

/**
 * Columns that the other database must fill by itself: marks of changes are its own transactions, and numbers of rows
 * its own sequences.
 */
const OWN_COLUMNS: ReadonlySet<string> = new Set(['changed_in']);

const TABLES = `SELECT c.relname AS name,
    array_agg(a.attname::text ORDER BY a.attnum)
      FILTER (WHERE a.attgenerated = '' AND a.attidentity = '') AS columns,
    json_agg(json_build_array(a.attname, format_type(a.atttypid, a.atttypmod)) ORDER BY a.attname)::text AS shape,
    (SELECT count(*)::int FROM pg_constraint f WHERE f.conrelid = c.oid AND f.contype = 'f') AS references
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  GROUP BY c.oid, c.relname
  ORDER BY 4, 1`;

interface Row {
  readonly name: string;
  readonly columns: readonly string[];
  readonly shape: string;
}

/** The tables of a trace store whose rows are moved; those that others refer to come first. */
export async function movedTables(database: Queryable): Promise<readonly MovedTable[]> {
  const { rows } = await database.query<Row>(TABLES);
  return rows
    .filter(({ name }) => !LEFT.has(name))
    .map(({ name, columns, shape }) => ({
      name,
      shape,
      hasTenant: columns.includes('tenant_id'),
      columns: columns.filter((column) => !OWN_COLUMNS.has(column)),
    }));
}
