import { randomUUID } from 'node:crypto';
import type { Queryable } from '#lib/postgres';
import type { LakeStore } from '../src/lake/segment-reader.js';
import { PAYLOAD_FIELDS, type RunPayloads } from '../src/run/stored-run.js';
import { segmentFile } from './write-segment.js';

type PayloadRow = Readonly<Record<'start_time' | 'id' | 'trace_id', string>> &
  Readonly<Record<(typeof PAYLOAD_FIELDS)[number], string | null>>;

/** Runs whose payloads are moved into files. */
export interface SealedShare {
  readonly tenantId: string;
  readonly projectId: string;
  /** Chooses runs by their place in the order of exports; default all. */
  readonly isSealed?: (place: number) => boolean;
  readonly rowsOfFile?: number;
  readonly rowGroupRows?: number;
}

/** Moves payloads into files as sealing does, whatever their day. @returns rows that were moved */
export async function sealRuns(
  db: Queryable,
  { store, bucket, prefix }: LakeStore,
  { tenantId, projectId, isSealed = () => true, rowsOfFile = 1_000, rowGroupRows = 10_240 }: SealedShare,
): Promise<number> {
  const { rows } = await db.query<PayloadRow>(
    `SELECT r.start_time::text, r.id, r.trace_id, ${PAYLOAD_FIELDS.map((field) => `p.${field}`).join(', ')}
    FROM runs r JOIN run_payloads p USING (tenant_id, project_id, start_time, id, trace_id)
    WHERE tenant_id = $1 AND project_id = $2 ORDER BY r.start_time, r.id, r.trace_id`,
    [tenantId, projectId],
  );
  const chosen = rows.filter((_row, place) => isSealed(place));
  for (let first = 0; first < chosen.length; first += rowsOfFile) {
    const some = chosen.slice(first, first + rowsOfFile);
    const sizes = { pieceBytes: 1_000, nearPageBytes: 2_000, farPageBytes: 2_000, rowGroupRows };
    const file = await segmentFile(some.map(payloadsOf), sizes);
    const id = randomUUID();
    const key = `${prefix}/${tenantId}/${projectId}/${id}.parquet`;
    await store.put(bucket, key, file);
    await db.query(
      `INSERT INTO lake_segments (tenant_id, project_id, day, generation, id, key, state, rows, bytes)
      VALUES ($1, $2, $3::timestamptz::date, 1, $4, $5, 'sealed', $6, $7)`,
      [tenantId, projectId, some[0]?.start_time, id, key, some.length, file.length],
    );
    const places = [
      tenantId,
      projectId,
      ...(['start_time', 'id', 'trace_id'] as const).map((name) => some.map((row) => row[name])),
    ];
    const isIt =
      'x.tenant_id = $1 AND x.project_id = $2 AND x.start_time = k.start_time AND x.id = k.id AND x.trace_id = k.trace_id';
    await db.query(
      `WITH k AS (
        SELECT * FROM unnest($3::timestamptz[], $4::uuid[], $5::uuid[]) WITH ORDINALITY AS k(start_time, id, trace_id, at)
      ), moved AS (UPDATE runs x SET segment = $6, ordinal = k.at - 1 FROM k WHERE ${isIt})
      DELETE FROM run_payloads x USING k WHERE ${isIt}`,
      [...places, id],
    );
  }
  return chosen.length;
}

function payloadsOf(row: PayloadRow): RunPayloads {
  const own = PAYLOAD_FIELDS.flatMap((field) => {
    const value = row[field];
    return value === null ? [] : [[field, Buffer.from(value)]];
  });
  return Object.fromEntries(own) as RunPayloads;
}
