import { byteRows, type Connection, CopyBinaryWriter, type CopyPart, type Queryable } from '#lib/postgres';
import { formatInstant } from '#lib/time';
import { PAYLOAD_FIELDS, type PayloadField } from './payload-field.js';
import { removeRows } from './remove-rows.js';
import { runKey } from './run-keys.js';
import { timeBounds, type RunPlace } from './run-place.js';
import type { RunPayloads } from './stored-run.js';

export interface PlacedPayloads {
  readonly place: RunPlace;
  readonly payloads: RunPayloads;
}

/**
 * The only way to the payloads of runs. They will not always lie in Postgres: a day that no longer changes can be
 * sealed into objects, and then only this changes.
 */
export interface PayloadStore {
  /** Rows of new runs, also of those without any payload. */
  newRows(entries: readonly PlacedPayloads[]): CopyPart;
  /**
   * Replaces the given payloads; those that are absent stay. Equal ones are not written again.
   * @returns entries that changed something
   */
  replace(client: Connection, entries: readonly PlacedPayloads[]): Promise<readonly PlacedPayloads[]>;
  /**
   * Stores the given payloads where there is none yet.
   * @returns entries that changed something, each with those of its payloads that are stored now
   */
  fill(client: Connection, entries: readonly PlacedPayloads[]): Promise<readonly PlacedPayloads[]>;
  get(db: Queryable, place: RunPlace): Promise<RunPayloads>;
  /** Bytes that `get` would answer. */
  size(db: Queryable, place: RunPlace): Promise<number>;
  /** The given payloads of many runs, in their order. */
  getSome(
    db: Queryable,
    places: readonly RunPlace[],
    fields: readonly PayloadField[],
  ): Promise<readonly RunPayloads[]>;
  /** Bytes that `getSome` would answer, run by run. */
  sizes(
    db: Queryable,
    places: readonly RunPlace[],
    fields: readonly PayloadField[],
  ): Promise<readonly number[]>;
  /** Of runs of one project. */
  remove(client: Connection, places: readonly RunPlace[]): Promise<void>;
  /** How a query of the table `runs`, called `r`, reads them. */
  readonly query: PayloadQuery;
}

/** Parts of a query of `runs r` in the order of its primary key. */
export interface PayloadQuery {
  /**
   * To be put after `runs r`. Every run stays in the result, whether its payloads are found or not.
   * @param bounds said of both tables, since Postgres infers equality across a join but no ranges
   */
  join(bounds: (table: 'r' | 'p') => string): string;
  /** The expression of a payload column, which fails the query for a run whose payloads are not found. */
  required(sql: string): string;
}

const PLACE = ['tenant_id', 'project_id', 'start_time', 'id', 'trace_id'] as const;
/** Rows of one UPDATE: Postgres takes 65,535 parameters, and the text of the statement grows with each. */
const ROWS_PER_UPDATE = 500;

const AT_PLACE =
  'FROM run_payloads WHERE tenant_id = $1 AND project_id = $2 AND start_time = $3 AND id = $4 AND trace_id = $5';

/** The rows of many places, each by its key; `valuesOfAll` has the values. */
const AT_PLACES = `FROM unnest($2::uuid[], $3::timestamptz[], $4::uuid[], $5::uuid[])
    WITH ORDINALITY AS k(project_id, start_time, id, trace_id, at)
  CROSS JOIN LATERAL (
    SELECT * FROM run_payloads WHERE tenant_id = $1 AND project_id = k.project_id AND start_time = k.start_time
      AND id = k.id AND trace_id = k.trace_id LIMIT 1
  ) p`;

function valuesOfAll(places: readonly RunPlace[]): unknown[] {
  return [
    places[0]?.tenantId,
    places.map((place) => place.projectId),
    places.map((place) => formatInstant(place.startTime)),
    places.map((place) => place.id),
    places.map((place) => place.traceId),
  ];
}

function bytesOf(fields: readonly PayloadField[]): string {
  return fields.map((field) => `coalesce(octet_length(${field}), 0)::bigint`).join(' + ');
}

function present(row: Readonly<Record<string, Buffer | null>> | undefined): RunPayloads {
  return Object.fromEntries(Object.entries(row ?? {}).filter(([, value]) => value !== null));
}

function valuesOf(place: RunPlace): string[] {
  return [place.tenantId, place.projectId, formatInstant(place.startTime), place.id, place.traceId];
}

function has(payloads: RunPayloads): boolean {
  return PAYLOAD_FIELDS.some((field) => payloads[field] !== undefined);
}

/** Payloads in the day-partitioned table `run_payloads`. */
export class PostgresPayloadStore implements PayloadStore {
  newRows(entries: readonly PlacedPayloads[]): CopyPart {
    const writer = new CopyBinaryWriter();
    for (const { place, payloads } of entries) {
      writer.row(PLACE.length + PAYLOAD_FIELDS.length);
      writer
        .uuid(place.tenantId)
        .uuid(place.projectId)
        .time(place.startTime)
        .uuid(place.id)
        .uuid(place.traceId);
      for (const field of PAYLOAD_FIELDS) writer.bytes(payloads[field]);
    }
    return { table: 'run_payloads', columns: [...PLACE, ...PAYLOAD_FIELDS], rows: writer };
  }

  replace(client: Connection, entries: readonly PlacedPayloads[]): Promise<readonly PlacedPayloads[]> {
    return update(client, entries, {
      value: (field) => `coalesce(v.${field}, p.${field})`,
      isChange: (field) => `v.${field} IS NOT NULL AND v.${field} IS DISTINCT FROM p.${field}`,
    });
  }

  fill(client: Connection, entries: readonly PlacedPayloads[]): Promise<readonly PlacedPayloads[]> {
    return update(client, entries, {
      value: (field) => `coalesce(p.${field}, v.${field})`,
      isChange: (field) => `v.${field} IS NOT NULL AND p.${field} IS NULL`,
    });
  }

  async get(db: Queryable, place: RunPlace): Promise<RunPayloads> {
    const result = await db.query<Record<string, Buffer | null>>({
      text: `SELECT ${PAYLOAD_FIELDS.join(', ')} ${AT_PLACE}`,
      values: valuesOf(place),
      ...byteRows,
    });
    return present(result.rows[0]);
  }

  async getSome(
    db: Queryable,
    places: readonly RunPlace[],
    fields: readonly PayloadField[],
  ): Promise<readonly RunPayloads[]> {
    if (places.length === 0 || fields.length === 0) return places.map(() => ({}));
    const { rows } = await db.query<Record<string, Buffer | null>>({
      text: `SELECT k.at::text, ${fields.map((field) => `p.${field}`).join(', ')} ${AT_PLACES}`,
      values: valuesOfAll(places),
      ...byteRows,
    });
    const found = new Map(rows.map(({ at, ...row }) => [Number(String(at)), row]));
    return places.map((_place, index) => present(found.get(index + 1)));
  }

  async sizes(
    db: Queryable,
    places: readonly RunPlace[],
    fields: readonly PayloadField[],
  ): Promise<readonly number[]> {
    if (places.length === 0 || fields.length === 0) return places.map(() => 0);
    const { rows } = await db.query<{ at: string; bytes: string }>(
      `SELECT k.at, ${bytesOf(fields)} AS bytes ${AT_PLACES}`,
      valuesOfAll(places),
    );
    const found = new Map(rows.map(({ at, bytes }) => [Number(at), Number(bytes)]));
    return places.map((_place, index) => found.get(index + 1) ?? 0);
  }

  async size(db: Queryable, place: RunPlace): Promise<number> {
    const { rows } = await db.query<{ bytes: string }>(
      `SELECT ${bytesOf(PAYLOAD_FIELDS)} AS bytes ${AT_PLACE}`,
      valuesOf(place),
    );
    return Number(rows[0]?.bytes ?? 0);
  }

  async remove(client: Connection, places: readonly RunPlace[]): Promise<void> {
    await removeRows(client, 'run_payloads', places);
  }

  readonly query: PayloadQuery = {
    join: (
      bounds,
    ) => `LEFT JOIN run_payloads p ON ${PLACE.map((name) => `p.${name} = r.${name}`).join(' AND ')}
  AND ${bounds('p')}`,
    // every run has a row, also one without any payload
    required: (sql) => `CASE WHEN p.id IS NULL THEN missing_payloads(r.id, r.segment) ELSE ${sql} END`,
  };
}

interface Change {
  /** The new value of a field: `v` has what came, `p` what is stored. */
  readonly value: (field: string) => string;
  /** Whether that is another than the stored one. */
  readonly isChange: (field: string) => string;
}

async function update(
  client: Connection,
  entries: readonly PlacedPayloads[],
  change: Change,
): Promise<readonly PlacedPayloads[]> {
  const given = entries.filter(({ payloads }) => has(payloads));
  const changed: PlacedPayloads[] = [];
  for (let from = 0; from < given.length; from += ROWS_PER_UPDATE)
    changed.push(...(await updateSome(client, given.slice(from, from + ROWS_PER_UPDATE), change)));
  return changed;
}

async function updateSome(
  client: Connection,
  entries: readonly PlacedPayloads[],
  { value, isChange }: Change,
): Promise<readonly PlacedPayloads[]> {
  const width = PLACE.length - 1 + PAYLOAD_FIELDS.length;
  const types = ['uuid', 'timestamptz', 'uuid', 'uuid', ...PAYLOAD_FIELDS.map(() => 'text')];
  const tuples = entries.map(
    (_row, index) => `(${types.map((type, i) => `$${4 + index * width + i}::${type}`).join(',')})`,
  );
  const places = entries.map(({ place }) => place);
  const { rows } = await client.query<UpdatedRow>(
    `UPDATE run_payloads p SET ${PAYLOAD_FIELDS.map((field) => `${field} = ${value(field)}`).join(', ')}
    FROM (VALUES ${tuples.join(',')}) AS v(project_id, start_time, id, trace_id, ${PAYLOAD_FIELDS.join(', ')})
    WHERE p.tenant_id = $1 AND p.start_time >= $2 AND p.start_time <= $3 AND p.project_id = v.project_id
      AND p.start_time = v.start_time AND p.id = v.id AND p.trace_id = v.trace_id
      AND (${PAYLOAD_FIELDS.map((field) => `(${isChange(field)})`).join(' OR ')})
    RETURNING p.id, p.trace_id, ${PAYLOAD_FIELDS.map((field) => `p.${field} = v.${field} AS ${field}`).join(', ')}`,
    [
      places[0]?.tenantId,
      ...timeBounds(places),
      ...entries.flatMap(({ place, payloads }) => [
        place.projectId,
        formatInstant(place.startTime),
        place.id,
        place.traceId,
        ...PAYLOAD_FIELDS.map((field) => payloads[field] ?? null),
      ]),
    ],
  );
  const isStored = new Map(rows.map((row) => [runKey({ id: row.id, traceId: row.trace_id }), row]));
  return entries.flatMap(({ place, payloads }) => {
    const row = isStored.get(runKey(place));
    if (!row) return [];
    const stored = PAYLOAD_FIELDS.filter((field) => row[field]).map((field) => [field, payloads[field]]);
    return [{ place, payloads: Object.fromEntries(stored) as RunPayloads }];
  });
}

/** Whether each payload is the one that came. */
type UpdatedRow = { readonly id: string; readonly trace_id: string } & Readonly<
  Record<PayloadField, boolean | null>
>;
