import { inTransaction, type Pool, textTypes } from '#lib/postgres';
import { type Instant, parseInstant } from '#lib/time';
import { limitedRead, type ReadLimit } from '../limited-read.js';

/**
 * An export that has ended, as the API server held it. Objects are JSON of the resources. A tenant has so many bytes of
 * them; beyond that the oldest are answered as their small records.
 */
export interface ArchivedExport {
  /** Id in the API. */
  readonly id: string;
  readonly name: string;
  readonly createdAt: string;
  /** Name in the API. */
  readonly status: string;
  readonly destinationId?: string | undefined;
  readonly projectId?: string | undefined;
  /** The schedule that made it. */
  readonly sourceId?: string | undefined;
  /** The export that it continues. */
  readonly continuesId?: string | undefined;
  /** ISO 8601; of a window of a schedule. */
  readonly windowEnd?: string | undefined;
  readonly object: string;
}

/** Stored records of a resource: the full one, and the small one that is kept indefinitely. */
export interface ArchiveRecords {
  readonly object: string;
  /** The same without the parts that may be large. */
  readonly small: string;
}

export interface ArchivedRun {
  /** Id in the API. */
  readonly id: string;
  /** UID of the resource; its progress and files are found by it. */
  readonly uid: string;
  readonly startTime: string;
  readonly object: string;
}

/** Conditions on runs of an archived export. */
export interface ArchivedRunsPart {
  readonly id?: string | undefined;
  readonly offset?: number | undefined;
  /** Absent: all that are left. */
  readonly limit?: number | undefined;
}

/** A place in the list of exports. */
export interface ArchivePlace {
  readonly createdAt: string;
  readonly name: string;
  readonly id: string;
}

/** Conditions on archived exports; absent members do not matter. */
export interface ArchiveSearch {
  readonly status?: string | undefined;
  readonly destinationId?: string | undefined;
  readonly projectId?: string | undefined;
  readonly sourceId?: string | undefined;
  readonly continuesId?: string | undefined;
  /** Ids that are left out: those that the API server holds still. */
  readonly except: readonly string[];
  /** Position after which exports are listed. */
  readonly after?: ArchivePlace | undefined;
  readonly offset: number;
  readonly limit: number;
}

type Row = Readonly<Record<string, string | null>>;

const COLUMNS = `id, name, created_at, status, destination_id, project_id, source_id, window_end,
  continues_id, coalesce(object, small) AS object`;

/** Maximum size of full records per tenant: some 15,000 exports of a day without failures. */
const FULL_BYTES = 64 * 1024 * 1024;
/** Exports that are reduced after one was stored: more than one is stored, so it catches up. */
const REDUCED_AT_ONCE = 100;
/** Bytes counted for a row and its index entries. */
const ROW_BYTES = 256;

/** Conditions that no index serves together may read every export of a tenant. */
const LIST_LIMIT: ReadLimit = {
  what: 'Listing these exports',
  advice: 'give fewer conditions, or page by after in place of offset',
};

function bytesOf({ object }: ArchiveRecords): number {
  return Buffer.byteLength(object) + ROW_BYTES;
}

/** Ids by an index alone; rows only of the page, since their objects are large. */
function listQuery(tenantId: string, search: ArchiveSearch): { text: string; values: readonly unknown[] } {
  const { status, destinationId, projectId, sourceId, continuesId, except, after, offset, limit } = search;
  const values: unknown[] = [tenantId];
  const put = (value: unknown): string => `$${values.push(value)}`;
  const equal = {
    status,
    destination_id: destinationId,
    project_id: projectId,
    source_id: sourceId,
    continues_id: continuesId,
  };
  const conditions = Object.entries(equal)
    .filter(([, value]) => value !== undefined)
    .map(([column, value]) => `${column} = ${put(value)}`);
  if (except.length > 0) conditions.push(`id <> ALL(${put(except)}::uuid[])`);
  if (after) {
    const place = [put(after.createdAt), put(after.name), put(after.id)];
    conditions.push(`(created_at, name, id) < (${place[0]}::timestamptz, ${place[1]}, ${place[2]}::uuid)`);
  }
  const order = 'ORDER BY created_at DESC, name DESC, id DESC';
  const where = ['tenant_id = $1', ...conditions].join(' AND ');
  return {
    text: `SELECT ${COLUMNS} FROM archived_exports WHERE tenant_id = $1 AND id IN (
        SELECT id FROM archived_exports WHERE ${where} ${order} OFFSET ${put(offset)} LIMIT ${put(limit)}
      ) ${order}`,
    values,
  };
}

function parse(row: Row): ArchivedExport {
  return {
    id: row['id'] ?? '',
    name: row['name'] ?? '',
    createdAt: row['created_at'] ?? '',
    status: row['status'] ?? '',
    object: row['object'] ?? '',
    destinationId: row['destination_id'] ?? undefined,
    projectId: row['project_id'] ?? undefined,
    sourceId: row['source_id'] ?? undefined,
    windowEnd: row['window_end'] ?? undefined,
    continuesId: row['continues_id'] ?? undefined,
  };
}

/**
 * Exports that ended a while ago, with their runs. Progress and files of archived runs stay where they are.
 * The tables `archived_exports` and `archived_export_runs`.
 */
export class ExportArchiveTable {
  /** @param fullBytes of a tenant's exports that are kept in full */
  constructor(
    private readonly pool: Pool,
    private readonly fullBytes = FULL_BYTES,
  ) {}

  /**
   * Stores an export in one transaction; repeating it changes nothing. Afterwards the oldest exports of the
   * tenant that are beyond its bytes keep their small records alone: the rest of them is removed, with
   * progress and files of their runs.
   */
  async store(
    tenantId: string,
    ended: ArchivedExport & ArchiveRecords,
    runs: readonly (ArchivedRun & ArchiveRecords)[],
  ): Promise<void> {
    const of = <K extends keyof (typeof runs)[number]>(field: K) => runs.map((run) => run[field]);
    await inTransaction(this.pool, async (db) => {
      await db.query(
        `INSERT INTO archived_exports (tenant_id, id, name, created_at, status, destination_id, project_id, source_id,
          window_end, continues_id, object, small, full_bytes)
        SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13::bigint + coalesce(sum(octet_length(key)), 0)
        FROM export_files WHERE run_uid = ANY($14)
        ON CONFLICT (tenant_id, id) DO NOTHING`,
        [
          tenantId,
          ended.id,
          ended.name,
          ended.createdAt,
          ended.status,
          ended.destinationId,
          ended.projectId,
          ended.sourceId,
          ended.windowEnd,
          ended.continuesId,
          ended.object,
          ended.small,
          [ended, ...runs].reduce((bytes, one) => bytes + bytesOf(one), 0),
          of('uid'),
        ],
      );
      await db.query(
        `INSERT INTO archived_export_runs (tenant_id, export_id, id, uid, start_time, object, small)
        SELECT $1, $2, run.* FROM unnest($3::uuid[], $4::text[], $5::timestamptz[], $6::text[], $7::text[]) AS run
        ON CONFLICT (tenant_id, export_id, id) DO NOTHING`,
        [tenantId, ended.id, of('id'), of('uid'), of('startTime'), of('object'), of('small')],
      );
    });
    await this.#reduce(tenantId);
  }

  /** Drops all but the small records of the oldest exports that are beyond the tenant's bytes, some at a time. */
  async #reduce(tenantId: string): Promise<void> {
    await inTransaction(this.pool, async (db) => {
      const { rows } = await db.query<{ id: string }>(
        `SELECT id FROM (
          SELECT id, created_at, sum(full_bytes) OVER (ORDER BY created_at DESC, name DESC, id DESC) AS bytes
          FROM archived_exports WHERE tenant_id = $1 AND full_bytes IS NOT NULL
        ) AS newest WHERE bytes > $2 ORDER BY created_at, id LIMIT ${REDUCED_AT_ONCE}`,
        [tenantId, this.fullBytes],
      );
      if (rows.length === 0) return;
      const of = [tenantId, rows.map(({ id }) => id)];
      // locks in one order, so that concurrent callers do not deadlock
      await db.query(
        'SELECT FROM archived_exports WHERE tenant_id = $1 AND id = ANY($2) ORDER BY id FOR UPDATE',
        of,
      );
      await db.query(
        `WITH former AS (
          UPDATE archived_export_runs SET object = NULL WHERE tenant_id = $1 AND export_id = ANY($2) RETURNING uid
        ), files AS (DELETE FROM export_files WHERE run_uid IN (SELECT uid FROM former))
        DELETE FROM export_progress WHERE run_uid IN (SELECT uid FROM former)`,
        of,
      );
      await db.query(
        'UPDATE archived_exports SET object = NULL, full_bytes = NULL WHERE tenant_id = $1 AND id = ANY($2)',
        of,
      );
    });
  }

  async find(tenantId: string, id: string): Promise<ArchivedExport | undefined> {
    const result = await this.pool.query<Row>({
      text: `SELECT ${COLUMNS} FROM archived_exports WHERE tenant_id = $1 AND id = $2`,
      values: [tenantId, id],
      types: textTypes,
    });
    const row = result.rows[0];
    return row && parse(row);
  }

  /** The newest of a name. */
  async findNamed(tenantId: string, name: string): Promise<ArchivedExport | undefined> {
    const result = await this.pool.query<Row>({
      text: `SELECT ${COLUMNS} FROM archived_exports WHERE tenant_id = $1 AND name = $2 ORDER BY created_at DESC LIMIT 1`,
      values: [tenantId, name],
      types: textTypes,
    });
    const row = result.rows[0];
    return row && parse(row);
  }

  /**
   * Newest first; of one second, those with the later name first.
   * @throws PublicError bad_request when finding them takes too long
   */
  async list(tenantId: string, search: ArchiveSearch): Promise<readonly ArchivedExport[]> {
    const { text, values } = listQuery(tenantId, search);
    const result = await limitedRead(
      this.pool,
      (db) => db.query<Row>({ text, values, types: textTypes }),
      LIST_LIMIT,
    );
    return result.rows.map(parse);
  }

  /** Runs by time of their window; all of them, which may be thousands, unless a part is asked for. */
  async runs(
    tenantId: string,
    exportId: string,
    { id, offset = 0, limit }: ArchivedRunsPart = {},
  ): Promise<readonly ArchivedRun[]> {
    const result = await this.pool.query<Row>({
      text: `SELECT id, uid, start_time, coalesce(object, small) AS object FROM archived_export_runs
        WHERE tenant_id = $1 AND export_id = $2 AND ($3::uuid IS NULL OR id = $3)
        ORDER BY start_time, id OFFSET $4 LIMIT $5`,
      values: [tenantId, exportId, id ?? null, offset, limit ?? null],
      types: textTypes,
    });
    return result.rows.map((row) => ({
      id: row['id'] ?? '',
      uid: row['uid'] ?? '',
      startTime: row['start_time'] ?? '',
      object: row['object'] ?? '',
    }));
  }

  /** The end of the latest window that is archived of a schedule. */
  async lastWindowEnd(tenantId: string, sourceId: string): Promise<Instant | undefined> {
    const result = await this.pool.query<Row>({
      text: 'SELECT max(window_end) AS until FROM archived_exports WHERE tenant_id = $1 AND source_id = $2',
      values: [tenantId, sourceId],
      types: textTypes,
    });
    const until = result.rows[0]?.['until'];
    return until ? parseInstant(until, { zone: 'optional' }) : undefined;
  }
}

export type ExportArchive = Pick<ExportArchiveTable, keyof ExportArchiveTable>;
