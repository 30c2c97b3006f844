import { inTransaction, type Pool, textTypes } from '#lib/postgres';
import { type Instant, parseInstant } from '#lib/time';
import type { ArchivedExport, ArchivedRun, ArchiveSearch, ExportArchive } from './export-archive.js';

type Row = Readonly<Record<string, string | null>>;

const COLUMNS = 'id, name, created_at, status, destination_id, project_id, source_id, window_end, object';

function parse(row: Row): ArchivedExport {
  return {
    ...{ id: row['id'] ?? '', name: row['name'] ?? '', createdAt: row['created_at'] ?? '' },
    ...{ status: row['status'] ?? '', object: row['object'] ?? '' },
    destinationId: row['destination_id'] ?? undefined,
    projectId: row['project_id'] ?? undefined,
    sourceId: row['source_id'] ?? undefined,
    windowEnd: row['window_end'] ?? undefined,
  };
}

/** The tables `archived_exports` and `archived_export_runs`. */
export class ExportArchiveTable implements ExportArchive {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async store(tenantId: string, ended: ArchivedExport, runs: readonly ArchivedRun[]): Promise<void> {
    const of = <K extends keyof ArchivedRun>(field: K) => runs.map((run) => run[field]);
    await inTransaction(this.#pool, async (db) => {
      await db.query(
        `INSERT INTO archived_exports (tenant_id, ${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
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
          ended.object,
        ],
      );
      await db.query(
        `INSERT INTO archived_export_runs (tenant_id, export_id, id, uid, start_time, object)
        SELECT $1, $2, run.* FROM unnest($3::uuid[], $4::text[], $5::timestamptz[], $6::text[]) AS run
        ON CONFLICT (tenant_id, export_id, id) DO NOTHING`,
        [tenantId, ended.id, of('id'), of('uid'), of('startTime'), of('object')],
      );
    });
  }

  async find(tenantId: string, id: string): Promise<ArchivedExport | undefined> {
    const result = await this.#pool.query<Row>({
      text: `SELECT ${COLUMNS} FROM archived_exports WHERE tenant_id = $1 AND id = $2`,
      values: [tenantId, id],
      types: textTypes,
    });
    const row = result.rows[0];
    return row && parse(row);
  }

  async list(tenantId: string, search: ArchiveSearch): Promise<readonly ArchivedExport[]> {
    const { statuses, destinationId, projectId, sourceId, except, offset, limit } = search;
    const result = await this.#pool.query<Row>({
      text: `SELECT ${COLUMNS} FROM archived_exports WHERE tenant_id = $1 AND ($2::text[] IS NULL OR status = ANY($2))
          AND ($3::uuid IS NULL OR destination_id = $3) AND ($4::uuid IS NULL OR project_id = $4)
          AND ($5::uuid IS NULL OR source_id = $5) AND id <> ALL($6::uuid[])
        ORDER BY created_at DESC, name DESC OFFSET $7 LIMIT $8`,
      values: [tenantId, statuses, destinationId, projectId, sourceId, except, offset, limit],
      types: textTypes,
    });
    return result.rows.map(parse);
  }

  async runs(tenantId: string, exportId: string): Promise<readonly ArchivedRun[]> {
    const result = await this.#pool.query<Row>({
      text: `SELECT id, uid, start_time, object FROM archived_export_runs WHERE tenant_id = $1 AND export_id = $2
        ORDER BY start_time`,
      values: [tenantId, exportId],
      types: textTypes,
    });
    return result.rows.map((row) => ({
      ...{ id: row['id'] ?? '', uid: row['uid'] ?? '' },
      ...{ startTime: row['start_time'] ?? '', object: row['object'] ?? '' },
    }));
  }

  async lastWindowEnd(tenantId: string, sourceId: string): Promise<Instant | undefined> {
    const result = await this.#pool.query<Row>({
      text: 'SELECT max(window_end) AS until FROM archived_exports WHERE tenant_id = $1 AND source_id = $2',
      values: [tenantId, sourceId],
      types: textTypes,
    });
    const until = result.rows[0]?.['until'];
    return until ? parseInstant(until, { zone: 'optional' }) : undefined;
  }
}
