import {
  binaryTexts,
  byteRows,
  type Connection,
  copyIn,
  CopyBinaryWriter,
  type CopyPart,
  type Queryable,
  textTypes,
} from '#lib/postgres';
import { formatInstant } from '#lib/time';
import { leaveSegments, noteGone, SealedPayloads, type SegmentSource } from './sealed-payloads.js';
import { ofSealed } from './sealed-table.js';
import { runKey } from './run-keys.js';
import {
  columnsOf,
  PAYLOAD_FIELDS,
  type PayloadField,
  type RunPayloads,
  type RunPlace,
  timeBounds,
} from './stored-run.js';

/** Name of the column with a run's id in the tables that have its place. */
const ID_COLUMN = {
  runs: 'id',
  run_payloads: 'id',
  run_pairs: 'run_id',
  feedback: 'run_id',
  unplaced_runs: 'run_id',
  trace_tops: 'run_id',
} as const;

/** Removes the rows of these runs of one tenant and project. */
export async function removeRows(
  client: Connection,
  table: keyof typeof ID_COLUMN,
  places: readonly RunPlace[],
): Promise<void> {
  const [first] = places;
  if (!first) return;
  await client.query(
    `DELETE FROM ${table} r USING unnest($5::timestamptz[], $6::uuid[], $7::uuid[]) AS k(start_time, id, trace_id)
    WHERE r.tenant_id = $1 AND r.project_id = $2 AND r.start_time >= $3 AND r.start_time <= $4
      AND r.start_time = k.start_time AND r.${ID_COLUMN[table]} = k.id AND r.trace_id = k.trace_id`,
    [
      first.tenantId,
      first.projectId,
      ...timeBounds(places),
      places.map(({ startTime }) => formatInstant(startTime)),
      places.map(({ id }) => id),
      places.map(({ traceId }) => traceId),
    ],
  );
}

export interface PlacedPayloads {
  readonly place: RunPlace;
  readonly payloads: RunPayloads;
}

/** Result of a look at the payloads of a run. */
export interface SeenPayloads {
  readonly bytes: number;
  /** Absent when they exceed the limit. */
  readonly payloads?: RunPayloads | undefined;
}

/** Payloads that updates bring for a run. */
export interface PayloadChange {
  readonly place: RunPlace;
  /** See `PayloadStore.replace`. */
  readonly replace: RunPayloads;
  /** See `PayloadStore.fill`. */
  readonly fill: RunPayloads;
}

/**
 * The only access to the payloads of runs. They are rows of Postgres, or those of a day that no longer changes are
 * sealed into files of an object store. A row of Postgres always wins.
 */
export interface PayloadStore {
  /** Rows of new runs, also of those without any payload. */
  newRows(entries: readonly PlacedPayloads[]): CopyPart;
  /**
   * Stores sealed payloads as rows again where the changes would make a difference. To be called before `replace` and
   * `fill`, which change rows alone; the keys are locked by the caller.
   */
  bringBack(client: Connection, changes: readonly PayloadChange[]): Promise<void>;
  /**
   * Replaces the given payloads; those that are absent stay. Equal ones are not written again.
   * @returns entries that changed something, each with those of its payloads that were changed
   */
  replace(client: Connection, entries: readonly PlacedPayloads[]): Promise<readonly PlacedPayloads[]>;
  /**
   * Stores the given payloads where the run has none yet.
   * @returns the same
   */
  fill(client: Connection, entries: readonly PlacedPayloads[]): Promise<readonly PlacedPayloads[]>;
  get(db: Queryable, place: RunPlace): Promise<RunPayloads>;
  /** Bytes that `get` would answer. */
  size(db: Queryable, place: RunPlace): Promise<number>;
  /**
   * Sizes in bytes of the given payloads of many runs, in their order, and the payloads of the first runs, up
   * to `mostBytes` together: most pages are read by this alone.
   */
  look(
    db: Queryable,
    places: readonly RunPlace[],
    fields: readonly PayloadField[],
    mostBytes: number,
  ): Promise<readonly SeenPayloads[]>;
  /** The given payloads of many runs, in their order. */
  getSome(
    db: Queryable,
    places: readonly RunPlace[],
    fields: readonly PayloadField[],
  ): Promise<readonly RunPayloads[]>;
  /** Removes the payloads of runs of one project. */
  remove(client: Connection, places: readonly RunPlace[]): Promise<void>;
  /** SQL by which a query of the table `runs`, called `r`, reads them. */
  readonly query: PayloadQuery;
}

/** Parts of a query of `runs r` in the order of its primary key. */
export interface PayloadQuery {
  /**
   * Join to put after `runs r`. Every run stays in the result, whether its payloads are found or not.
   * @param bounds applied to both tables, since Postgres infers equality across a join but no ranges
   */
  join(bounds: (table: 'r' | 'p') => string): string;
  /**
   * The expression of a payload column.
   * @param readsSealed true when payloads of sealed runs have been loaded, see `SealedLoader`
   */
  value(sql: string, readsSealed: boolean): string;
  /**
   * An expression that fails the query for a run whose payloads are not found. Unless those of sealed runs have been loaded,
   * these have none here: their reader gets them by segment and ordinal.
   */
  required(sql: string, readsSealed: boolean): string;
}

const PLACE = ['tenant_id', 'project_id', 'start_time', 'id', 'trace_id'] as const;
/** Limits of one UPDATE. */
const ROWS_PER_UPDATE = 500;
const BYTES_PER_UPDATE = 8 * 1024 * 1024;

const AT_PLACE =
  'FROM run_payloads WHERE tenant_id = $1 AND project_id = $2 AND start_time = $3 AND id = $4 AND trace_id = $5';

/**
 * The rows of many places, each by its key; `valuesOfAll` has the values. The bounds of their times are given
 * as well: only with these Postgres excludes days before it plans the statement for each of them.
 */
const AT_PLACES = `FROM unnest($4::uuid[], $5::timestamptz[], $6::uuid[], $7::uuid[])
    WITH ORDINALITY AS k(project_id, start_time, id, trace_id, at)
  CROSS JOIN LATERAL (
    SELECT * FROM run_payloads WHERE tenant_id = $1 AND project_id = k.project_id AND start_time = k.start_time
      AND start_time >= $2 AND start_time <= $3 AND id = k.id AND trace_id = k.trace_id LIMIT 1
  ) p`;

function valuesOfAll(places: readonly RunPlace[]): unknown[] {
  return [places[0]?.tenantId, ...timeBounds(places), ...columnsOf(places)];
}

function bytesOf(fields: readonly PayloadField[]): string {
  return fields.map((field) => `coalesce(octet_length(${field}), 0)::bigint`).join(' + ');
}

type Texts = readonly (string | null)[];

/** A run without any payload. */
const NOTHING: SeenPayloads = { bytes: 0, payloads: {} };

async function readTexts(db: Queryable, text: string, values: unknown[]): Promise<readonly Texts[]> {
  const { rows } = await db.query<(string | null)[]>({ text, values, types: textTypes, rowMode: 'array' });
  return rows;
}

/** Texts in the order of the fields. */
function ofTexts(texts: Texts, fields: readonly PayloadField[]): RunPayloads {
  const payloads: { -readonly [Field in PayloadField]?: Buffer } = {};
  for (const [at, field] of fields.entries()) {
    const text = texts[at];
    if (typeof text === 'string') payloads[field] = Buffer.from(text);
  }
  return payloads;
}

/** Payloads of many runs that have rows, by their number in the list. */
async function readSome(
  db: Queryable,
  places: readonly RunPlace[],
  fields: readonly PayloadField[],
): Promise<ReadonlyMap<number, RunPayloads>> {
  const text = `SELECT k.at, ${fields.map((field) => `p.${field}`).join(', ')} ${AT_PLACES}`;
  const rows = await readTexts(db, text, valuesOfAll(places));
  return new Map(rows.map(([at, ...texts]) => [Number(at) - 1, ofTexts(texts, fields)]));
}

function lengthOf(payloads: RunPayloads): number {
  return PAYLOAD_FIELDS.reduce((sum, field) => sum + (payloads[field]?.length ?? 0), 0);
}

/** True when the change makes other payloads of these. */
function isChanged(payloads: RunPayloads, { replace, fill }: PayloadChange): boolean {
  return PAYLOAD_FIELDS.some((field) => {
    const [stored, other] = [payloads[field], replace[field]];
    const isReplaced = other !== undefined && !(stored !== undefined && other.equals(stored));
    return isReplaced || (stored === undefined && fill[field] !== undefined);
  });
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

/** Payloads in the day-partitioned table `run_payloads`, and of sealed runs in segments. */
export class PostgresPayloadStore implements PayloadStore {
  /** Payloads of rows of segments. */
  readonly sealed: SealedPayloads;

  /** @param segments undefined when no lake is configured: payloads that are sealed cannot be read then */
  constructor(segments?: SegmentSource) {
    this.sealed = new SealedPayloads(segments);
  }

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

  async bringBack(client: Connection, changes: readonly PayloadChange[]): Promise<void> {
    const given = changes.filter(({ replace, fill }) => has(replace) || has(fill));
    const places = given.map(({ place }) => place);
    const found = [...(await this.sealed.find(client, places))];
    const refs = found.map(([, ref]) => ref);
    let next = 0;
    for await (const piece of this.sealed.pieces(client, places[0]?.tenantId ?? '', refs, PAYLOAD_FIELDS)) {
      const entries = piece.flatMap((payloads) => {
        const change = given[found[next++]?.[0] ?? 0];
        return change && isChanged(payloads, change) ? [{ place: change.place, payloads }] : [];
      });
      if (entries.length === 0) continue;
      const own = entries.map(({ place }) => place);
      await copyIn(client, [this.newRows(entries)]);
      await noteGone(client, own, 'brought back');
      await leaveSegments(client, own);
    }
  }

  replace(client: Connection, entries: readonly PlacedPayloads[]): Promise<readonly PlacedPayloads[]> {
    return update(client, entries, {
      value: (field) => `coalesce(v.${field}, o.${field})`,
      isChange: (field) => `v.${field} IS NOT NULL AND v.${field} IS DISTINCT FROM o.${field}`,
    });
  }

  fill(client: Connection, entries: readonly PlacedPayloads[]): Promise<readonly PlacedPayloads[]> {
    return update(client, entries, {
      value: (field) => `coalesce(o.${field}, v.${field})`,
      isChange: (field) => `v.${field} IS NOT NULL AND o.${field} IS NULL`,
    });
  }

  async get(db: Queryable, place: RunPlace): Promise<RunPayloads> {
    const result = await db.query<Record<string, Buffer | null>>({
      text: `SELECT ${PAYLOAD_FIELDS.join(', ')} ${AT_PLACE}`,
      values: valuesOf(place),
      ...byteRows,
    });
    const [row] = result.rows;
    if (row) return present(row);
    return (await this.#rest(db, [place], PAYLOAD_FIELDS)).get(place) ?? {};
  }

  /**
   * Payloads of runs that have no row in a statement before this: sealed ones, and those that were brought back
   * meanwhile. A run that is not found any more was removed.
   */
  async #rest(
    db: Queryable,
    places: readonly RunPlace[],
    fields: readonly PayloadField[],
  ): Promise<ReadonlyMap<RunPlace, RunPayloads>> {
    const found = new Map<RunPlace, RunPayloads>();
    for await (const [place, payloads] of this.#eachOfRest(db, places, fields)) found.set(place, payloads);
    return found;
  }

  /** The same one after the other, in no order: few are held at once. */
  async *#eachOfRest(
    db: Queryable,
    places: readonly RunPlace[],
    fields: readonly PayloadField[],
  ): AsyncGenerator<readonly [RunPlace, RunPayloads], void, void> {
    const sealed = [...(await this.sealed.find(db, places))];
    const refs = sealed.map(([, ref]) => ref);
    let next = 0;
    for await (const piece of this.sealed.pieces(db, places[0]?.tenantId ?? '', refs, fields))
      for (const payloads of piece) {
        const place = places[sealed[next++]?.[0] ?? 0];
        if (place) yield [place, payloads];
      }
    const isSealed = new Set(sealed.map(([at]) => at));
    const left = places.filter((_place, at) => !isSealed.has(at));
    if (left.length === 0) return;
    const again = await readSome(db, left, fields);
    for (const [at, place] of left.entries()) yield [place, again.get(at) ?? {}];
  }

  async look(
    db: Queryable,
    places: readonly RunPlace[],
    fields: readonly PayloadField[],
    mostBytes: number,
  ): Promise<readonly SeenPayloads[]> {
    if (places.length === 0 || fields.length === 0) return places.map(() => NOTHING);
    const columns = fields.map((field) => `CASE WHEN so_far <= $8 THEN ${field} END`);
    const rows = await readTexts(
      db,
      `SELECT at, bytes, so_far <= $8, ${columns.join(', ')} FROM (
        SELECT s.*, sum(bytes) OVER (ORDER BY at) AS so_far FROM (
          SELECT k.at, ${bytesOf(fields)} AS bytes, ${fields.map((field) => `p.${field}`).join(', ')} ${AT_PLACES}
        ) s
      ) s`,
      [...valuesOfAll(places), mostBytes],
    );
    const found = new Map(
      rows.map(([at, bytes, isSeen, ...texts]) => [
        Number(at),
        { bytes: Number(bytes), payloads: isSeen === 't' ? ofTexts(texts, fields) : undefined },
      ]),
    );
    const missing = places.filter((_place, index) => !found.has(index + 1));
    if (missing.length === 0) return places.map((_place, index) => found.get(index + 1) ?? NOTHING);
    const rest = new Map<RunPlace, SeenPayloads>();
    // a page with sealed runs is read up to the limit in any order, and counted in its own
    let held = 0;
    for await (const [place, payloads] of this.#eachOfRest(db, missing, fields)) {
      const bytes = lengthOf(payloads);
      held += bytes;
      rest.set(place, { bytes, payloads: held <= mostBytes ? payloads : undefined });
    }
    let soFar = 0;
    return places.map((place, index) => {
      const { bytes, payloads } = found.get(index + 1) ?? rest.get(place) ?? NOTHING;
      soFar += bytes;
      return { bytes, payloads: soFar <= mostBytes ? payloads : undefined };
    });
  }

  async getSome(
    db: Queryable,
    places: readonly RunPlace[],
    fields: readonly PayloadField[],
  ): Promise<readonly RunPayloads[]> {
    if (places.length === 0 || fields.length === 0) return places.map(() => ({}));
    const found = await readSome(db, places, fields);
    const missing = places.filter((_place, index) => !found.has(index));
    const rest = missing.length === 0 ? undefined : await this.#rest(db, missing, fields);
    return places.map((place, index) => found.get(index) ?? rest?.get(place) ?? {});
  }

  async size(db: Queryable, place: RunPlace): Promise<number> {
    const { rows } = await db.query<{ bytes: string }>(
      `SELECT ${bytesOf(PAYLOAD_FIELDS)} AS bytes ${AT_PLACE}`,
      valuesOf(place),
    );
    const [row] = rows;
    // the pages of a segment do not tell the lengths of their rows: they are read, and cached for the read to come
    if (!row) return lengthOf((await this.#rest(db, [place], PAYLOAD_FIELDS)).get(place) ?? {});
    return Number(row.bytes);
  }

  async remove(client: Connection, places: readonly RunPlace[]): Promise<void> {
    await noteGone(client, places, 'removed');
    await removeRows(client, 'run_payloads', places);
  }

  readonly query: PayloadQuery = {
    join: (
      bounds,
    ) => `LEFT JOIN run_payloads p ON ${PLACE.map((name) => `p.${name} = r.${name}`).join(' AND ')}
  AND ${bounds('p')}`,
    value: (sql, readsSealed) =>
      readsSealed ? `CASE WHEN p.id IS NULL THEN (SELECT ${sql} ${ofSealed('r')}) ELSE ${sql} END` : sql,
    // every run has a row or is sealed, also one without any payload
    required: (sql, readsSealed) =>
      `CASE WHEN p.id IS NULL AND ${readsSealed ? `NOT EXISTS (SELECT ${ofSealed('r')})` : 'r.segment IS NULL'} THEN missing_payloads(r.id, r.segment) ELSE ${sql} END`,
  };
}

interface Change {
  /** The new value of a field: `v` has the received value, `o` the stored one. */
  readonly value: (field: string) => string;
  /** SQL that is true when that differs from the stored one. */
  readonly isChange: (field: string) => string;
}

async function update(
  client: Connection,
  entries: readonly PlacedPayloads[],
  change: Change,
): Promise<readonly PlacedPayloads[]> {
  const given = entries.filter(({ payloads }) => has(payloads));
  const changed: PlacedPayloads[] = [];
  for (const some of inPieces(given)) changed.push(...(await updateSome(client, some, change)));
  return changed;
}

/** The payloads of one statement are copied for it. */
function inPieces(entries: readonly PlacedPayloads[]): readonly (readonly PlacedPayloads[])[] {
  const pieces: PlacedPayloads[][] = [];
  let bytes = 0;
  for (const entry of entries) {
    const own = PAYLOAD_FIELDS.reduce((sum, field) => sum + (entry.payloads[field]?.length ?? 0), 0);
    const last = pieces.at(-1);
    if (last && last.length < ROWS_PER_UPDATE && bytes + own <= BYTES_PER_UPDATE) last.push(entry);
    else [bytes] = [0, pieces.push([entry])];
    bytes += own;
  }
  return pieces;
}

/** Fields that no run has are left out. The join reads the stored row again: an UPDATE does not return what it replaced. */
async function updateSome(
  client: Connection,
  entries: readonly PlacedPayloads[],
  { value, isChange }: Change,
): Promise<readonly PlacedPayloads[]> {
  const places = entries.map(({ place }) => place);
  const fields = PAYLOAD_FIELDS.filter((field) => entries.some(({ payloads }) => payloads[field]));
  const columns = fields.map((_field, at) => `$${8 + at}::text[]`);
  const at = (
    row: string,
  ): string => `${row}.tenant_id = $1 AND ${row}.start_time >= $2 AND ${row}.start_time <= $3
      AND ${row}.project_id = v.project_id AND ${row}.start_time = v.start_time AND ${row}.id = v.id AND ${row}.trace_id = v.trace_id`;
  const { rows } = await client.query<UpdatedRow>(
    `UPDATE run_payloads p SET ${fields.map((field) => `${field} = ${value(field)}`).join(', ')}
    FROM unnest($4::uuid[], $5::timestamptz[], $6::uuid[], $7::uuid[], ${columns.join(', ')})
      AS v(project_id, start_time, id, trace_id, ${fields.join(', ')}) JOIN run_payloads o ON ${at('o')}
    WHERE ${at('p')} AND (${fields.map((field) => `(${isChange(field)})`).join(' OR ')})
    RETURNING p.id, p.trace_id, ${fields.map((field) => `${isChange(field)} AS ${field}`).join(', ')}`,
    [...valuesOfAll(places), ...fields.map((field) => textsOf(entries, field))],
  );
  const isStored = new Map(rows.map((row) => [runKey({ id: row.id, traceId: row.trace_id }), row]));
  return entries.flatMap(({ place, payloads }) => {
    const row = isStored.get(runKey(place));
    if (!row) return [];
    const stored = fields.filter((field) => row[field]).map((field) => [field, payloads[field]]);
    return [{ place, payloads: Object.fromEntries(stored) as RunPayloads }];
  });
}

/** Texts of one field. */
function textsOf(entries: readonly PlacedPayloads[], field: PayloadField): Buffer {
  return binaryTexts(entries.map(({ payloads }) => payloads[field]));
}

/** True for each payload that changed. */
type UpdatedRow = { readonly id: string; readonly trace_id: string } & Readonly<
  Record<PayloadField, boolean | null>
>;
