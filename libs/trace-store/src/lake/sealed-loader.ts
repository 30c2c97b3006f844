import { PublicError } from '#lib/errors';
import { type Connection, copyIn, CopyBinaryWriter, type Pool, type Queryable } from '#lib/postgres';
import { limitedRead, type ReadLimit } from '../limited-read.js';
import { PAYLOAD_FIELDS, type PayloadField, type RunPayloads } from '../run/stored-run.js';
import type { SealedRef, Segment } from '../run/sealed-payloads.js';
import { MAKE_SEALED_TABLE, SEALED_TABLE } from '../run/sealed-table.js';
import type { SegmentReader } from './segment-reader.js';

/** Limits of what is loaded for one transaction; one row always is. */
export interface SealedLimits {
  readonly mostRows: number;
  readonly mostBytes: number;
}

const LIMITS: SealedLimits = { mostRows: 20_000, mostBytes: 64 << 20 };
/** Bytes that are sent to Postgres at once. */
const SENT_BYTES = 4 << 20;
/** Memory and disk of a row beside its payloads. */
const ROW_BYTES = 100;

/** More payloads are sealed than one statement can have; a smaller part of the runs may be few enough. */
export class TooMuchSealedError extends PublicError {}

/** Sealed runs whose payloads a statement may read. */
export interface SealedPlaces {
  readonly tenantId: string;
  /** Undefined: of any project. */
  readonly projectIds: readonly string[] | undefined;
  readonly fields: readonly PayloadField[];
  /** Query of columns `segment` and `ordinal`, which may repeat; undefined: the statement reads no payloads. */
  readonly text: string | undefined;
  readonly values: readonly unknown[];
}

/** Payloads of a sealed run. */
interface SealedRow extends SealedRef {
  readonly payloads: RunPayloads;
}

/** Payloads that were loaded. */
export interface LoadedPayloads {
  readonly rows: number;
  readonly bytes: number;
}

const NOTHING: LoadedPayloads = { rows: 0, bytes: 0 };

interface SegmentRow {
  readonly id: string;
  readonly key: string | null;
  readonly project_id: string;
  readonly rows: string;
  readonly bytes: string;
  readonly ordinals: readonly number[];
}

/**
 * Brings payloads of sealed runs to statements that read them in SQL: they are put into a temporary table for the
 * transaction of the statement. All of it happens in one snapshot, so that a run which is sealed or changed meanwhile is
 * seen as it was, once.
 */
export class SealedLoader {
  readonly #reader: Pick<SegmentReader, 'rows'>;
  readonly #limits: SealedLimits;

  constructor(reader: Pick<SegmentReader, 'rows'>, limits: Partial<SealedLimits> = {}) {
    this.#reader = reader;
    this.#limits = { ...LIMITS, ...limits };
  }

  /**
   * Loads payloads for the next statements of a transaction, if any day of these projects is sealed; `SealedRead` says how
   * it begins.
   * @returns true when the SQL of filters has to read the table
   * @throws TooMuchSealedError; PublicError unavailable
   */
  async prepare(db: Connection, places: SealedPlaces): Promise<boolean> {
    const isSealed = await this.has(db, places);
    await (isSealed ? this.open(db) : db.query('SET TRANSACTION READ ONLY'));
    if (isSealed) await this.load(db, places);
    return isSealed;
  }

  /** True when some days of these projects are sealed, or are being sealed. */
  async has(
    db: Queryable,
    { tenantId, projectIds }: Pick<SealedPlaces, 'tenantId' | 'projectIds'>,
  ): Promise<boolean> {
    const { rows } = await db.query<{ found: boolean }>(
      `SELECT EXISTS (SELECT FROM lake_segments WHERE ${OF_PROJECTS}) AS found`,
      [tenantId, projectIds],
    );
    return rows[0]?.found ?? false;
  }

  /**
   * Makes the table, empty. Until then the transaction must be able to write.
   * @param db in a transaction of one snapshot
   */
  async open(db: Connection): Promise<void> {
    await db.query(`${MAKE_SEALED_TABLE}; SET TRANSACTION READ ONLY`);
  }

  /**
   * Puts payloads into the table.
   * @param db in a transaction of one snapshot, in which the table is open
   * @throws TooMuchSealedError; PublicError unavailable
   */
  async load(db: Connection, places: SealedPlaces): Promise<LoadedPayloads> {
    if (places.text === undefined) return NOTHING;
    const sending = new Sending(db, places.fields);
    for await (const row of this.#rows(db, places)) {
      const bytes = PAYLOAD_FIELDS.reduce(
        (sum, field) => sum + (row.payloads[field]?.length ?? 0),
        ROW_BYTES,
      );
      if (sending.rows > 0 && sending.bytes + bytes > this.#limits.mostBytes)
        throw await tooMuch(db, places, this.#limits);
      await sending.add(row, bytes);
    }
    await sending.flush();
    return sending;
  }

  /** Payloads at these places, in any order. @throws PublicError unavailable */
  at(
    db: Connection,
    tenantId: string,
    places: readonly SealedRef[],
    fields: readonly PayloadField[],
  ): AsyncGenerator<SealedRow, void, void> {
    const text = 'SELECT * FROM unnest($1::uuid[], $2::integer[]) AS a(segment, ordinal)';
    const values = [places.map(({ segment }) => segment), places.map(({ ordinal }) => ordinal)];
    return this.#rows(db, { tenantId, projectIds: undefined, fields, text, values });
  }

  async *#rows(db: Connection, places: SealedPlaces): AsyncGenerator<SealedRow, void, void> {
    for (const row of await segmentsOf(db, places, this.#limits)) {
      let at = 0;
      for await (const payloads of this.#reader.rows(
        segmentOf(places.tenantId, row),
        row.ordinals,
        places.fields,
      ))
        yield { segment: row.id, ordinal: row.ordinals[at++] ?? -1, payloads };
    }
  }
}

const OF_PROJECTS = `tenant_id = $1 AND ($2::uuid[] IS NULL OR project_id = ANY ($2)) AND state <> 'writing'`;

/** Segments with the rows that are wanted of each. */
async function segmentsOf(
  db: Connection,
  places: SealedPlaces,
  limits: SealedLimits,
): Promise<readonly SegmentRow[]> {
  const { values } = places;
  const { rows } = await db.query<SegmentRow>(
    `SELECT w.segment AS id, s.key, s.project_id, s.rows, s.bytes, w.ordinals FROM (
      SELECT segment, array_agg(ordinal ORDER BY ordinal) AS ordinals
      FROM (SELECT DISTINCT segment, ordinal FROM (${places.text}) a LIMIT ${limits.mostRows + 1}) d GROUP BY segment
    ) w LEFT JOIN lake_segments s ON s.id = w.segment AND s.tenant_id = $${values.length + 1} ORDER BY s.first_time`,
    [...values, places.tenantId],
  );
  if (rows.reduce((sum, { ordinals }) => sum + ordinals.length, 0) > limits.mostRows)
    throw await tooMuch(db, places, limits);
  return rows;
}

function segmentOf(tenantId: string, row: SegmentRow): Segment {
  const { id, key } = row;
  if (key === null) throw new Error(`reading sealed payloads failed: segment ${id} is not in lake_segments`);
  return { tenantId, projectId: row.project_id, id, key, rows: Number(row.rows), bytes: Number(row.bytes) };
}

async function tooMuch(
  db: Connection,
  places: SealedPlaces,
  { mostRows, mostBytes }: SealedLimits,
): Promise<TooMuchSealedError> {
  const { rows } = await db.query<{ days: string; first: string; last: string }>(
    `SELECT count(DISTINCT day) AS days, min(day)::text AS first, max(day)::text AS last
    FROM lake_segments WHERE ${OF_PROJECTS}`,
    [places.tenantId, places.projectIds],
  );
  const { days = '0', first = '', last = '' } = rows[0] ?? {};
  return new TooMuchSealedError(
    'bad_request',
    `This filter reads inputs, outputs, errors or metadata of more runs of sealed days than one request may ` +
      `(${mostRows} runs, ${mostBytes >> 20} MiB); ${days} days from ${first} to ${last} are sealed: ` +
      'ask for a shorter time, fewer projects or one trace, or add conditions on columns of runs',
  );
}

/** Rows on their way into the table. */
class Sending implements LoadedPayloads {
  rows = 0;
  bytes = 0;
  #writer = new CopyBinaryWriter();
  #unsentBytes = 0;

  constructor(
    private readonly db: Connection,
    private readonly fields: readonly PayloadField[],
  ) {}

  async add({ segment, ordinal, payloads }: SealedRow, bytes: number): Promise<void> {
    this.#writer
      .row(2 + this.fields.length)
      .uuid(segment)
      .int4(ordinal);
    for (const field of this.fields) this.#writer.bytes(payloads[field]);
    this.rows += 1;
    this.bytes += bytes;
    this.#unsentBytes += bytes;
    if (this.#unsentBytes >= SENT_BYTES) await this.flush();
  }

  async flush(): Promise<void> {
    if (this.#unsentBytes === 0) return;
    const [rows, columns] = [this.#writer, ['segment', 'ordinal', ...this.fields]];
    this.#writer = new CopyBinaryWriter();
    this.#unsentBytes = 0;
    await copyIn(this.db, [{ table: SEALED_TABLE, columns, rows }]);
  }
}

/** The transaction of `SealedLoader.prepare`: one snapshot, which may make the table. */
export const SEALED_READ = { isOneMoment: true, mayChange: true } as const;

/**
 * The same as `limitedRead` for statements with filters: payloads of sealed runs that these read are loaded before.
 * @param sealed undefined when no day is ever sealed
 * @param read `readsSealed` says that payloads are loaded, which the SQL of filters has to know
 * @throws PublicError bad_request when the statements take too long; TooMuchSealedError
 */
export function limitedReadOfSealed<T>(
  pool: Pool,
  sealed: SealedLoader | undefined,
  places: () => SealedPlaces,
  read: (db: Connection, readsSealed: boolean) => Promise<T>,
  limit: ReadLimit,
): Promise<T> {
  const wanted = sealed && places();
  if (!sealed || wanted?.text === undefined) return limitedRead(pool, (db) => read(db, false), limit);
  return limitedRead(pool, async (db) => read(db, await sealed.prepare(db, wanted)), {
    ...limit,
    ...SEALED_READ,
  });
}
