import { PublicError } from '#lib/errors';
import type { CopiedChunk } from '#lib/parquet';
import { type Connection, type Queryable, textTypes } from '#lib/postgres';
import { columnsOf, type PayloadField, type RunPayloads, type RunPlace, timeBounds } from './stored-run.js';

/** A file with the payloads of sealed runs. */
export interface Segment {
  readonly tenantId: string;
  readonly projectId: string;
  readonly id: string;
  readonly key: string;
  readonly rows: number;
  readonly bytes: number;
}

/** A row group of a segment. */
export interface SealedGroup {
  readonly rows: number;
  /** Its pages for another file, by the names of their columns; they are read when these are drained, in their order. */
  readonly chunks: ReadonlyMap<string, CopiedChunk>;
}

/** Finds the row group that begins with an ordinal; undefined where none does. */
export type SealedGroups = (first: number) => SealedGroup | undefined;

/** Reading side of segments. */
export interface SegmentSource {
  /** Payloads of these rows of a file, in the order of the ordinals, which ascend. Bytes as they came. */
  read(
    segment: Segment,
    ordinals: readonly number[],
    fields: readonly PayloadField[],
  ): Promise<readonly RunPayloads[]>;
  /** Row groups of a file with their pages of these columns. */
  groups(segment: Segment, fields: readonly PayloadField[]): Promise<SealedGroups>;
}

/** Row of a segment with the payloads of a run. */
export interface SealedRef {
  readonly segment: string;
  readonly ordinal: number;
}

/** Runs that are read at once, so that no more payloads are held. */
const READ_AT_ONCE = 50;

/** Runs `r` at places; `placesOf` has the values. */
const AT_PLACES = `unnest($4::uuid[], $5::timestamptz[], $6::uuid[], $7::uuid[])
    WITH ORDINALITY AS k(project_id, start_time, id, trace_id, at)
  JOIN runs r ON r.tenant_id = $1 AND r.start_time >= $2 AND r.start_time <= $3 AND r.project_id = k.project_id
    AND r.start_time = k.start_time AND r.id = k.id AND r.trace_id = k.trace_id`;

function placesOf(places: readonly RunPlace[]): readonly unknown[] {
  return [places[0]?.tenantId, ...timeBounds(places), ...columnsOf(places)];
}

/** Payloads that are in segments instead of `run_payloads`. */
export class SealedPayloads {
  /** @param reader undefined when no lake is configured: then sealed payloads cannot be read */
  constructor(private readonly reader: SegmentSource | undefined) {}

  /** Rows of segments that the runs at these places have, by their number in the list; runs without one are left out. */
  async find(db: Queryable, places: readonly RunPlace[]): Promise<ReadonlyMap<number, SealedRef>> {
    if (places.length === 0) return new Map();
    const { rows } = await db.query<{ at: string; segment: string; ordinal: string }>({
      text: `SELECT k.at, r.segment, r.ordinal FROM ${AT_PLACES} WHERE r.segment IS NOT NULL`,
      values: [...placesOf(places)],
      types: textTypes,
    });
    return new Map(
      rows.map((row) => [Number(row.at) - 1, { segment: row.segment, ordinal: Number(row.ordinal) }]),
    );
  }

  /** Payloads of rows of segments, piece by piece in their order, so that few of them are held. */
  async *pieces(
    db: Queryable,
    tenantId: string,
    refs: readonly SealedRef[],
    fields: readonly PayloadField[],
  ): AsyncGenerator<readonly RunPayloads[], void, void> {
    for (let from = 0; from < refs.length; from += READ_AT_ONCE)
      yield await this.read(db, tenantId, refs.slice(from, from + READ_AT_ONCE), fields);
  }

  /** Payloads of these rows, in their order. */
  async read(
    db: Queryable,
    tenantId: string,
    refs: readonly SealedRef[],
    fields: readonly PayloadField[],
  ): Promise<readonly RunPayloads[]> {
    if (refs.length === 0) return [];
    const bySegment = Map.groupBy(refs.entries(), ([, { segment }]) => segment);
    const segments = await findSegments(db, tenantId, [...bySegment.keys()]);
    const found: RunPayloads[] = [];
    for (const [id, rows] of bySegment) {
      const { segment, reader } = this.#known(segments, id);
      rows.sort(([, one], [, other]) => one.ordinal - other.ordinal);
      const ordinals = rows.map(([, { ordinal }]) => ordinal);
      const payloads = await reader.read(segment, ordinals, fields);
      for (const [at, [index]] of rows.entries()) found[index] = payloads[at] ?? {};
    }
    return found;
  }

  /** Row groups of a segment with their pages of these columns. */
  async groups(
    db: Queryable,
    tenantId: string,
    id: string,
    fields: readonly PayloadField[],
  ): Promise<SealedGroups> {
    const { segment, reader } = this.#known(await findSegments(db, tenantId, [id]), id);
    return reader.groups(segment, fields);
  }

  #known(
    segments: ReadonlyMap<string, Segment>,
    id: string,
  ): { readonly segment: Segment; readonly reader: SegmentSource } {
    const segment = segments.get(id);
    if (!segment) throw new Error(`reading sealed payloads failed: segment ${id} is not known`);
    if (this.reader) return { segment, reader: this.reader };
    throw new PublicError(
      'unavailable',
      `reading sealed payloads failed: they are in ${segment.key}; configure the object store of the lake`,
    );
  }
}

async function findSegments(
  db: Queryable,
  tenantId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Segment>> {
  const { rows } = await db.query<{
    project_id: string;
    id: string;
    key: string;
    rows: string;
    bytes: string;
  }>({
    text: 'SELECT project_id, id, key, rows, bytes FROM lake_segments WHERE tenant_id = $1 AND id = ANY ($2::uuid[])',
    values: [tenantId, ids],
    types: textTypes,
  });
  return new Map(
    rows.map((row) => [
      row.id,
      {
        tenantId,
        projectId: row.project_id,
        id: row.id,
        key: row.key,
        rows: Number(row.rows),
        bytes: Number(row.bytes),
      },
    ]),
  );
}

/**
 * Notes the rows of segments that the runs at these places have: they are deleted or brought back in the same
 * transaction.
 */
export async function noteGone(
  client: Connection,
  places: readonly RunPlace[],
  reason: 'removed' | 'brought back',
): Promise<void> {
  if (places.length === 0) return;
  await client.query(
    `INSERT INTO lake_gone (tenant_id, segment, rows, is_removal)
    SELECT $1, r.segment, count(*), $8 FROM ${AT_PLACES} WHERE r.segment IS NOT NULL GROUP BY r.segment`,
    [...placesOf(places), reason === 'removed'],
  );
}

/** Takes runs out of their segments; their payloads are rows again. Their mark of changes stays. */
export async function leaveSegments(client: Connection, places: readonly RunPlace[]): Promise<void> {
  if (places.length === 0) return;
  await client.query(
    `UPDATE runs r SET segment = NULL, ordinal = NULL
    FROM unnest($4::uuid[], $5::timestamptz[], $6::uuid[], $7::uuid[]) AS k(project_id, start_time, id, trace_id)
    WHERE r.tenant_id = $1 AND r.start_time >= $2 AND r.start_time <= $3 AND r.project_id = k.project_id
      AND r.start_time = k.start_time AND r.id = k.id AND r.trace_id = k.trace_id`,
    [...placesOf(places)],
  );
}
