import { byteRows, type Connection, CopyBinaryWriter, copyIn, type Queryable } from '#lib/postgres';
import { formatInstant } from '#lib/time';
import { PAYLOAD_FIELDS } from './payload-field.js';
import { removeRows, timeBounds, type RunPlace } from './run-table.js';
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
  /** For new runs, also those without any payload. */
  insert(client: Connection, entries: readonly PlacedPayloads[]): Promise<void>;
  /** Replaces the given payloads; those that are absent stay. */
  replace(client: Connection, entries: readonly PlacedPayloads[]): Promise<void>;
  /** Stores the given payloads where there is none yet. */
  fill(client: Connection, entries: readonly PlacedPayloads[]): Promise<void>;
  get(db: Queryable, place: RunPlace): Promise<RunPayloads>;
  /** Bytes that `get` would answer. */
  size(db: Queryable, place: RunPlace): Promise<number>;
  /** Of runs of one project. */
  remove(client: Connection, places: readonly RunPlace[]): Promise<void>;
}

const PLACE = ['tenant_id', 'project_id', 'start_time', 'id', 'trace_id'] as const;
/** Rows of one UPDATE: Postgres takes 65,535 parameters, and the text of the statement grows with each. */
const ROWS_PER_UPDATE = 500;

const AT_PLACE =
  'FROM run_payloads WHERE tenant_id = $1 AND project_id = $2 AND start_time = $3 AND id = $4 AND trace_id = $5';

function valuesOf(place: RunPlace): string[] {
  return [place.tenantId, place.projectId, formatInstant(place.startTime), place.id, place.traceId];
}

function has(payloads: RunPayloads): boolean {
  return PAYLOAD_FIELDS.some((field) => payloads[field] !== undefined);
}

/** Payloads in the day-partitioned table `run_payloads`. */
export class PostgresPayloadStore implements PayloadStore {
  async insert(client: Connection, entries: readonly PlacedPayloads[]): Promise<void> {
    if (entries.length === 0) return;
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
    await copyIn(client, 'run_payloads', [...PLACE, ...PAYLOAD_FIELDS], writer);
  }

  async replace(client: Connection, entries: readonly PlacedPayloads[]): Promise<void> {
    await update(client, entries, (field) => `coalesce(v.${field}, p.${field})`);
  }

  async fill(client: Connection, entries: readonly PlacedPayloads[]): Promise<void> {
    await update(client, entries, (field) => `coalesce(p.${field}, v.${field})`);
  }

  async get(db: Queryable, place: RunPlace): Promise<RunPayloads> {
    const result = await db.query<Record<string, Buffer | null>>({
      text: `SELECT ${PAYLOAD_FIELDS.join(', ')} ${AT_PLACE}`,
      values: valuesOf(place),
      ...byteRows,
    });
    return Object.fromEntries(Object.entries(result.rows[0] ?? {}).filter(([, value]) => value !== null));
  }

  async size(db: Queryable, place: RunPlace): Promise<number> {
    const sum = PAYLOAD_FIELDS.map((field) => `coalesce(octet_length(${field}), 0)::bigint`).join(' + ');
    const { rows } = await db.query<{ bytes: string }>(`SELECT ${sum} AS bytes ${AT_PLACE}`, valuesOf(place));
    return Number(rows[0]?.bytes ?? 0);
  }

  async remove(client: Connection, places: readonly RunPlace[]): Promise<void> {
    await removeRows(client, 'run_payloads', places);
  }
}

async function update(
  client: Connection,
  entries: readonly PlacedPayloads[],
  value: (field: string) => string,
): Promise<void> {
  const changed = entries.filter(({ payloads }) => has(payloads));
  const width = PLACE.length - 1 + PAYLOAD_FIELDS.length;
  const types = ['uuid', 'timestamptz', 'uuid', 'uuid', ...PAYLOAD_FIELDS.map(() => 'text')];
  for (let from = 0; from < changed.length; from += ROWS_PER_UPDATE) {
    const rows = changed.slice(from, from + ROWS_PER_UPDATE);
    const tuples = rows.map(
      (_row, index) => `(${types.map((type, i) => `$${4 + index * width + i}::${type}`).join(',')})`,
    );
    const places = rows.map(({ place }) => place);
    await client.query(
      `UPDATE run_payloads p SET ${PAYLOAD_FIELDS.map((field) => `${field} = ${value(field)}`).join(', ')}
      FROM (VALUES ${tuples.join(',')}) AS v(project_id, start_time, id, trace_id, ${PAYLOAD_FIELDS.join(', ')})
      WHERE p.tenant_id = $1 AND p.start_time >= $2 AND p.start_time <= $3 AND p.project_id = v.project_id
        AND p.start_time = v.start_time AND p.id = v.id AND p.trace_id = v.trace_id`,
      [
        places[0]?.tenantId,
        ...timeBounds(places),
        ...rows.flatMap(({ place, payloads }) => [
          place.projectId,
          formatInstant(place.startTime),
          place.id,
          place.traceId,
          ...PAYLOAD_FIELDS.map((field) => payloads[field] ?? null),
        ]),
      ],
    );
  }
}
