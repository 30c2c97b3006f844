import {
  type Connection,
  copyAcross,
  inTransaction,
  openPool,
  type Pool,
  type Queryable,
} from '#lib/postgres';
import type { Logger } from '#lib/telemetry';
import { type Instant, MICROS_PER_DAY } from '#lib/time';
import { DayPartitions, rangeOfName } from '../ingestion/day-partitions.js';

/** A table with the columns that are copied. */
interface MovedTable {
  readonly name: string;
  readonly columns: readonly string[];
  readonly hasTenant: boolean;
  /** Columns with their types, of those that are not copied too: two databases of one schema have the same. */
  readonly shape: string;
}

/**
 * Tables whose rows mean nothing elsewhere: the applied migrations, the progress of attempts at exports, by
 * uids of the API server that they belong to, revisions, whose numbers begin anew in the place that their
 * deployment is copied to, the last search of a bucket, and tables of sealed days, whose objects name the bucket.
 */
const LEFT: ReadonlySet<string> = new Set([
  'schema_migrations',
  'control_migrations',
  'export_progress',
  'export_files',
  'export_fences',
  'archived_revisions',
  'lake_searches',
  'lake_tables',
  'lake_table_files',
]);

/** Tables of sealed days are published anew. */
const TABLES_OF_DAYS = `INSERT INTO lake_tables (tenant_id, project_id, behind_since)
  SELECT DISTINCT tenant_id, project_id, clock_timestamp() FROM lake_segments WHERE state = 'sealed'
  ON CONFLICT DO NOTHING`;

/**
 * Columns that the other database must fill by itself: marks of changes are its own transactions, and numbers of rows
 * its own sequences.
 */
const OWN_COLUMNS: ReadonlySet<string> = new Set(['changed_in', 'seen']);

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

/** Name of the sessions of a trace store in `pg_stat_activity`, so that a program can be told from others. */
export function sessionName(program: string | undefined): string {
  return program === undefined ? 'agentplane trace store' : `agentplane trace store of ${program}`;
}

/**
 * Looks for sessions of an api in a database, by their name, which every role may read. An idle api closes
 * its sessions after half a minute, and a pooler may show names of its own, so one that is not found may run
 * all the same.
 * @throws Error with the number of sessions
 */
async function requireNoApi(database: Pool): Promise<void> {
  const { rows } = await database.query<{ name: string; sessions: number }>(
    `SELECT current_database() AS name, count(*)::int AS sessions FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = $1`,
    [sessionName('api')],
  );
  const [{ name, sessions } = { name: '', sessions: 0 }] = rows;
  if (sessions === 0) return;
  throw new Error(
    `moving traces failed: an api has ${sessions} sessions in the database ${name}; scale it to 0, or stop it, and repeat`,
  );
}

export interface MoveOptions {
  /** URI of the trace store that is read; nothing may write to it meanwhile. Secret. */
  readonly from: string;
  /** URI of the trace store that rows are added to; its schema is up to date. Secret. */
  readonly to: string;
  readonly log: Logger;
  /** Callback for each table when its rows are in the other database, before all of them are committed. */
  readonly moved?: (table: string, rows: number) => void;
}

export interface Moved {
  readonly rows: number;
  /** Ids, in their order. */
  readonly tenants: readonly string[];
  /** Objects of attachments that rows name; their bytes are not in the database. */
  readonly attachments: number;
  /** Objects of sealed days; runs have no payloads without them. */
  readonly segments: number;
}

/**
 * Copies everything that a trace store has of its tenants into another one: projects, keys, runs, feedback,
 * datasets, prompts, prices, statistics, with their ids. All of it is committed at once, or nothing is.
 *
 * The key that signs tokens of feedback moves too, which only a store that has given no such token can take.
 * A program that has the target open keeps its old key, so none may run meanwhile.
 * @throws Error when an api has one of them open, the schemas differ, or the other store has rows of one of
 * the tenants
 */
export async function moveTraces({ from, to, log, moved }: MoveOptions): Promise<Moved> {
  const common = { applicationName: 'agentplane-migrate', log, maxConnections: 2 };
  const source = openPool({ ...common, uri: from });
  const target = openPool({ ...common, uri: to });
  try {
    for (const end of [source, target]) await requireNoApi(end);
    return await inTransaction(
      source,
      async (reading) => {
        const tables = await requireSameTables(reading, target);
        await requirePartitions(reading, target);
        return await inTransaction(target, async (writing) => {
          const tenants = await tenantsOf(tables, reading);
          await requireNoRowsOf(tenants, tables, writing);
          await makeRoomForSigningKeys(writing);
          let total = 0;
          for (const { name, columns } of tables) {
            const copied = await copyAcross(reading, writing, { table: name, columns });
            total += copied;
            moved?.(name, copied);
          }
          await writing.query(TABLES_OF_DAYS);
          const attachments = await countRows(reading, 'attachment_objects');
          const segments = await countRows(reading, 'lake_segments');
          // one that was started meanwhile: nothing is committed yet
          for (const end of [source, target]) await requireNoApi(end);
          return { rows: total, tenants, attachments, segments };
        });
      },
      // one moment of the whole database
      ['BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'],
    );
  } finally {
    await Promise.all([source.end(), target.end()]);
  }
}

/** @returns the tables of the target: the source's own list is only compared */
async function requireSameTables(source: Queryable, target: Queryable): Promise<readonly MovedTable[]> {
  const [others, tables] = [await movedTables(source), await movedTables(target)];
  const shapes = new Map(others.map(({ name, shape }) => [name, shape]));
  const names = new Set(tables.map(({ name }) => name));
  const differs =
    tables.find(({ name, shape }) => shapes.get(name) !== shape) ??
    others.find(({ name }) => !names.has(name));
  if (differs === undefined) return tables;
  throw new Error(
    `moving traces failed: table ${differs.name} is not the same in both databases; ` +
      'bring both to one version of the platform first',
  );
}

/** A tenant may have nothing but runs of a deleted project, or prices: no table has all of them. */
async function tenantsOf(tables: readonly MovedTable[], source: Connection): Promise<readonly string[]> {
  const found = tables
    .filter(({ hasTenant }) => hasTenant)
    .map(({ name }) => `SELECT tenant_id FROM ${source.escapeIdentifier(name)}`);
  const { rows } = await source.query<{ tenant_id: string }>(`${found.join(' UNION ')} ORDER BY 1`);
  return rows.map(({ tenant_id }) => tenant_id);
}

/** Makes partitions in the target for days that have runs; a time too far ahead exceeds the limit. */
async function requirePartitions(source: Queryable, target: Pool): Promise<void> {
  const { rows } = await source.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'runs'::regclass`,
  );
  const partitions = new DayPartitions(target);
  for (const range of rows.flatMap(({ name }) => rangeOfName(name) ?? [])) {
    const days: Instant[] = [];
    for (let day = range.from; day < range.to; day += MICROS_PER_DAY) days.push(day);
    await partitions.ensure(days);
  }
}

async function requireNoRowsOf(
  tenants: readonly string[],
  tables: readonly MovedTable[],
  target: Connection,
): Promise<void> {
  for (const { name } of tables.filter(({ hasTenant }) => hasTenant)) {
    const { rows } = await target.query<{ tenant_id: string }>(
      `SELECT tenant_id FROM ${target.escapeIdentifier(name)} WHERE tenant_id = ANY($1::uuid[]) LIMIT 1`,
      [tenants],
    );
    const [found] = rows;
    if (found === undefined) continue;
    throw new Error(
      `moving traces failed: the other database has rows of tenant ${found.tenant_id} in ${name}; ` +
        'delete that workspace there, or move into an empty database',
    );
  }
}

/**
 * Deletes the target's own signing key, which every store has from the beginning. It waits for transactions
 * that are giving tokens.
 */
async function makeRoomForSigningKeys(target: Queryable): Promise<void> {
  await target.query('LOCK TABLE feedback_tokens IN SHARE ROW EXCLUSIVE MODE');
  const { rows: given } = await target.query('SELECT FROM feedback_tokens LIMIT 1');
  if (given.length === 0) {
    await target.query('DELETE FROM signing_keys');
    return;
  }
  throw new Error(
    'moving traces failed: the other database has tokens of feedback, which are signed with its own key; ' +
      'revoke them there, or move into an empty database',
  );
}

async function countRows(source: Queryable, table: 'attachment_objects' | 'lake_segments'): Promise<number> {
  const { rows } = await source.query<{ count: number }>(`SELECT count(*)::int AS count FROM ${table}`);
  return rows[0]?.count ?? 0;
}
