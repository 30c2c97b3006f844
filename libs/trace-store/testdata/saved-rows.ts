import type pg from 'pg';

/** Rows of a tenant as they were at one moment. */
export interface SavedRows {
  /** Replaces the rows of the tenant by these, as a restored backup of the database does. */
  restore(client: pg.Client): Promise<void>;
}

interface TenantTable {
  readonly name: string;
  readonly columns: string;
}

/** Tables with rows of tenants, and their columns that are not computed. */
const TABLES = `SELECT quote_ident(c.relname) AS name,
    string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) FILTER (WHERE a.attgenerated = '') AS columns
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  GROUP BY c.oid, c.relname HAVING bool_or(a.attname = 'tenant_id')`;

/** Saves the rows of a tenant in temporary tables of the session, in place of those that were saved before. */
export async function saveRows(client: pg.Client, tenantId: string): Promise<SavedRows> {
  const { rows: tables } = await client.query<TenantTable>(TABLES);
  const statements = tables.map(
    ({ name, columns }) =>
      `DROP TABLE IF EXISTS pg_temp.saved_${name}; CREATE TEMP TABLE saved_${name} AS
      SELECT ${columns} FROM public.${name} WHERE tenant_id = '${tenantId}';`,
  );
  const garbage = `key LIKE '%${tenantId}%'`;
  await client.query(
    `BEGIN ISOLATION LEVEL REPEATABLE READ; ${statements.join('\n')}
    DROP TABLE IF EXISTS pg_temp.saved_garbage; CREATE TEMP TABLE saved_garbage AS SELECT * FROM lake_garbage WHERE ${garbage};
    COMMIT`,
  );
  return {
    async restore(session) {
      const replaced = tables.map(
        ({ name, columns }) =>
          `DELETE FROM public.${name} WHERE tenant_id = '${tenantId}';
          INSERT INTO public.${name} (${columns}) OVERRIDING SYSTEM VALUE SELECT ${columns} FROM pg_temp.saved_${name};`,
      );
      await session.query(
        `BEGIN; SET LOCAL session_replication_role = replica; ${replaced.join('\n')}
        DELETE FROM lake_garbage WHERE ${garbage}; INSERT INTO lake_garbage SELECT * FROM pg_temp.saved_garbage;
        COMMIT`,
      );
    },
  };
}
