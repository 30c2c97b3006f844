import { copyOut, type Connection, type Pool } from '#lib/postgres';
import { formatInstant } from '#lib/time';
import { filterSql } from '../filter/filter-sql.js';
import { ParameterValues, SettingValues } from '../filter/sql-values.js';
import { EXPORT_COLUMNS, type ExportColumn } from './export-columns.js';
import type { PayloadQuery, PayloadStore } from '../run/payload-store.js';
import type { ExportRead, ExportRows, ExportSource, ExportWindow } from './export-source.js';

/** Values reach COPY, which takes no parameters, as settings of the transaction; the text of the query never varies with them. */
const SETTING = {
  tenant: 'agentplane.export_tenant',
  project: 'agentplane.export_project',
  start: 'agentplane.export_start',
  end: 'agentplane.export_end',
  afterTime: 'agentplane.export_after_time',
  afterId: 'agentplane.export_after_id',
  afterTrace: 'agentplane.export_after_trace',
  limit: 'agentplane.export_limit',
} as const;

function setting(name: keyof typeof SETTING, type: string): string {
  return `current_setting('${SETTING[name]}')::${type}`;
}

/** Rows of the window, of either table. */
function bounds(table: 'r' | 'p', isAfter: boolean): string {
  return `${table}.tenant_id = ${setting('tenant', 'uuid')} AND ${table}.project_id = ${setting('project', 'uuid')}
  AND ${table}.start_time >= ${isAfter ? setting('afterTime', 'timestamptz') : setting('start', 'timestamptz')}
  AND ${table}.start_time < ${setting('end', 'timestamptz')}`;
}

/** Only rows after the cursor. */
const AFTER = `AND (r.start_time, r.id, r.trace_id) >
  (${setting('afterTime', 'timestamptz')}, ${setting('afterId', 'uuid')}, ${setting('afterTrace', 'uuid')})`;

function query(
  payloads: PayloadQuery,
  columns: readonly ExportColumn[],
  read: ExportRead,
  filter: string,
): string {
  const firstPayload = columns.find((column) => column.payload);
  const isAfter = read.after !== undefined;
  const sqlOf = (column: ExportColumn): string =>
    column === firstPayload ? payloads.required(column.sql) : column.sql;
  return `SELECT ${columns.map((column) => `${sqlOf(column)} AS ${column.name}`).join(', ')}
FROM runs r ${firstPayload ? payloads.join((table) => bounds(table, isAfter)) : ''}
WHERE ${bounds('r', isAfter)} ${isAfter ? AFTER : ''} AND ${filter}
ORDER BY r.start_time, r.id, r.trace_id ${read.maxRows === undefined ? '' : `LIMIT ${setting('limit', 'bigint')}`}`;
}

/** Names and values of the settings of one read. */
function settings(read: ExportRead): readonly (readonly [string, string])[] {
  const values: [string, string][] = [
    [SETTING.tenant, read.tenantId],
    [SETTING.project, read.projectId],
    [SETTING.start, formatInstant(read.startTime)],
    [SETTING.end, formatInstant(read.endTime)],
  ];
  if (read.after)
    values.push(
      [SETTING.afterTime, formatInstant(read.after.startTime)],
      [SETTING.afterId, read.after.id],
      [SETTING.afterTrace, read.after.traceId],
    );
  if (read.maxRows !== undefined) values.push([SETTING.limit, String(read.maxRows)]);
  return values;
}

/**
 * The planner does not know the settings' values and would hash whole years together: row order comes from the primary
 * keys of both tables, one day at a time. Without nested loops: before the first ANALYZE of a new day it believes in one
 * row and would go through all payloads for each run.
 */
const PLAN = `SET LOCAL enable_partitionwise_join = on; SET LOCAL enable_hashjoin = off; SET LOCAL enable_seqscan = off;
SET LOCAL enable_nestloop = off;
SET LOCAL enable_bitmapscan = off; SET LOCAL jit = off; SET LOCAL max_parallel_workers_per_gather = 0`;

/** Reads exports straight from the tables. */
export class PostgresExportSource implements ExportSource {
  readonly #pool: Pool;
  readonly #payloads: PayloadQuery;
  readonly #columns: readonly ExportColumn[];

  constructor(pool: Pool, payloads: Pick<PayloadStore, 'query'>, columns = EXPORT_COLUMNS) {
    this.#pool = pool;
    this.#payloads = payloads.query;
    this.#columns = columns;
  }

  async read(asked: ExportRead): Promise<ExportRows> {
    // a cursor before the window excludes no row, and would widen it
    const isBefore = asked.after !== undefined && asked.after.startTime < asked.startTime;
    const read = isBefore ? { ...asked, after: undefined } : asked;
    const { fields } = read;
    const columns = fields
      ? this.#columns.filter(({ name, cursor }) => fields.includes(name) || cursor !== undefined)
      : this.#columns;
    const values = new SettingValues();
    const filter = filterSql(read, values);
    const client = await this.#pool.connect();
    try {
      await this.#prepare(client, [...settings(read), ...values.settings]);
    } catch (error) {
      client.release(true);
      throw error;
    }
    const stream = copyOut(client, query(this.#payloads, columns, read, filter));
    let isReleased = false;
    const release = (broken: boolean) => {
      if (isReleased) return;
      isReleased = true;
      client.release(broken);
    };
    stream.once('end', () => {
      client.query('COMMIT').then(
        () => release(false),
        () => release(true),
      );
    });
    // closing the connection is the only way to stop a COPY whose rows are not read
    stream.once('close', () => {
      if (!stream.readableEnded) release(true);
    });
    stream.once('error', () => release(true));
    return { columns, stream };
  }

  async count(window: ExportWindow): Promise<number> {
    const { tenantId, projectId, startTime, endTime } = window;
    const values = new ParameterValues(5);
    const result = await this.#pool.query<{ count: string }>(
      `SELECT count(*) FROM runs r
      WHERE r.tenant_id = $1 AND r.project_id = $2 AND r.start_time >= $3 AND r.start_time < $4 AND ${filterSql(window, values)}`,
      [tenantId, projectId, formatInstant(startTime), formatInstant(endTime), ...values.values],
    );
    return Number(result.rows[0]?.count ?? 0);
  }

  async #prepare(client: Connection, values: readonly (readonly [string, string])[]): Promise<void> {
    await client.query(`BEGIN READ ONLY; ${PLAN}`);
    await client.query(
      `SELECT ${values.map((_value, i) => `set_config($${i * 2 + 1}, $${i * 2 + 2}, true)`).join(', ')}`,
      values.flat(),
    );
  }
}
