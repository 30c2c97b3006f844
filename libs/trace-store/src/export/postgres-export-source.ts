import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { TerminalError } from '#lib/errors';
import { type Connection, copyOut, type Pool, sqlState } from '#lib/postgres';
import { REASON } from '#lib/resources';
import { systemClock } from '#lib/time';
import { filterSql, SettingValues } from '../filter/filter-sql.js';
import { lightFilters, payloadsOf } from '../filter/payload-filters.js';
import { type LoadedPayloads, type SealedLoader, TooMuchSealedError } from '../lake/sealed-loader.js';
import { findDeletion } from '../project/project-deletions.js';
import type { PostgresPayloadStore } from '../run/payload-store.js';
import { PAYLOAD_FIELDS, type PayloadField } from '../run/stored-run.js';
import {
  EXPORT_COLUMNS,
  type ExportColumn,
  FEEDBACK_COLUMNS_OF_EXPORTS,
  SEALED_REF_COLUMNS,
  setting,
} from './export-columns.js';
import {
  applySettings,
  changedAfter,
  type ExportRead,
  type ExportRows,
  type ExportSource,
  type ExportWindow,
  feedbackKeyQuery,
  feedbackQuery,
  keyOf,
  keyQuery,
  keySettings,
  limitSettings,
  type RowKey,
  rowsQuery,
  type SealedPayloadsOfRows,
  sealedFeedbackQuery,
  sealedRowsQuery,
  type Stretch,
  windowSettings,
} from './export-source.js';

/** Signature, flags and length of an extension that Postgres never sends. */
const HEADER_BYTES = 19;
const TRAILER = Buffer.of(0xff, 0xff);

/**
 * The tuples of many `COPY … TO STDOUT (FORMAT binary)` as those of one: one header, one trailer, which is sent once the
 * last of them has ended.
 * @param copies each is asked for when the one before has ended; there is at least one
 */
function joinCopies(copies: AsyncIterable<Readable>): Readable {
  const joined = new PassThrough();
  void pass(copies, joined).catch((error: unknown) => joined.destroy(error as Error));
  return joined;
}

async function pass(copies: AsyncIterable<Readable>, joined: PassThrough): Promise<void> {
  let isFirst = true;
  for await (const copy of copies) {
    const skipped = isFirst ? 0 : HEADER_BYTES;
    // its connection may break once more after the pipeline has ended
    copy.on('error', () => undefined);
    await pipeline(copy, (chunks: AsyncIterable<Buffer>) => tuples(chunks, skipped), joined, { end: false });
    isFirst = false;
  }
  joined.end(TRAILER);
}

/** All but the first `skipped` bytes and the trailer. */
async function* tuples(chunks: AsyncIterable<Buffer>, skipped: number): AsyncGenerator<Buffer> {
  let left = skipped;
  let held: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const bytes = left === 0 ? chunk : chunk.subarray(left);
    left = Math.max(0, left - chunk.length);
    const end = bytes.length - TRAILER.length;
    if (end < 0) held = Buffer.concat([held, bytes]);
    else {
      if (held.length > 0) yield held;
      if (end > 0) yield bytes.subarray(0, end);
      held = bytes.subarray(end);
    }
    if (held.length > TRAILER.length) {
      yield held.subarray(0, held.length - TRAILER.length);
      held = held.subarray(held.length - TRAILER.length);
    }
  }
  if (!held.equals(TRAILER)) throw new Error('reading the rows failed: a COPY ended without its trailer');
}

/**
 * The planner does not know the settings' values and would hash whole years together: row order comes from the primary
 * keys of both tables, one day at a time. Without nested loops: before the first ANALYZE of a new day it believes in one
 * row and would go through all payloads for each run.
 */
const PLAN = `SET LOCAL enable_partitionwise_join = on; SET LOCAL enable_hashjoin = off; SET LOCAL enable_seqscan = off;
SET LOCAL enable_nestloop = off;
SET LOCAL enable_bitmapscan = off; SET LOCAL jit = off; SET LOCAL max_parallel_workers_per_gather = 0`;

/** Feedback is in one table, whose index by time has the order; the run of a row is looked up by its key. */
const FEEDBACK_PLAN = `SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off;
SET LOCAL jit = off; SET LOCAL max_parallel_workers_per_gather = 0`;

export interface ExportReadLimits {
  /** Maximum number of rows that one statement with a filter reads, whether they match or not. */
  readonly rowsPerStatement: number;
  /**
   * The statement after one that took longer reads a quarter of its rows, down to a hundredth of the maximum.
   */
  readonly longStatementMs: number;
  /**
   * Interval at which a busy backend checks that its client is connected, if the server has no setting of its
   * own.
   */
  readonly connectionCheckMs: number;
}

const LIMITS: ExportReadLimits = {
  rowsPerStatement: 10_000,
  longStatementMs: 10_000,
  connectionCheckMs: 10_000,
};

/**
 * Time limit of one statement, as long as an attempt may take: it includes the time in which a slow
 * destination takes the rows, and a shorter one would fail exports that can succeed.
 */
const STATEMENT_LIMIT = '4h';

/** SQLSTATE of a value that the server does not take, such as a check of connections that its system cannot make. */
const INVALID_VALUE = '22023';

/** Bytes of sealed payloads that a statement is given, about; half of what may be loaded. */
const SEALED_BYTES = 32 << 20;

/** Sealed runs whose payloads the statements of a read need. */
interface SealedNeeds {
  readonly fields: readonly PayloadField[];
  readonly places: (stretch: Stretch) => string;
}

/** Statements that find the rows of a read, of runs or of feedback. */
interface Statements {
  readonly read: ExportRead;
  readonly plan: string;
  /** Values of the filter. */
  readonly values: SettingValues;
  /** Undefined when no sealed payload is needed. */
  readonly needs: SealedNeeds | undefined;
  /** The key of the row that is number `$1 + 1` after the last, whether it meets the filter or not. */
  readonly key: (isAfter: boolean) => string;
  readonly rows: (stretch: Stretch) => string;
}

/**
 * Reads exports straight from the tables. Payloads of sealed runs are read from their files by whoever takes the rows; those
 * of reads whose filters look at payloads are loaded for their statements.
 */
export class PostgresExportSource implements ExportSource {
  readonly #pool: Pool;
  readonly #payloads: Pick<PostgresPayloadStore, 'query' | 'sealed'>;
  readonly #columns: readonly ExportColumn[];
  readonly #limits: ExportReadLimits;
  readonly #sealed: SealedLoader | undefined;

  /** @param sealed undefined when no day is ever sealed */
  constructor(
    pool: Pool,
    payloads: Pick<PostgresPayloadStore, 'query' | 'sealed'>,
    columns = EXPORT_COLUMNS,
    limits: Partial<ExportReadLimits> = {},
    sealed?: SealedLoader,
  ) {
    this.#pool = pool;
    this.#payloads = payloads;
    this.#columns = columns;
    this.#limits = { ...LIMITS, ...limits };
    this.#sealed = sealed;
  }

  async read(asked: ExportRead): Promise<ExportRows> {
    const read = withinWindow(asked);
    const { fields } = read;
    const columns = fields
      ? this.#columns.filter(({ name, cursor }) => fields.includes(name) || cursor !== undefined)
      : this.#columns;
    const readsSealed = this.#readsSealed(read);
    const sealed = readsSealed ? undefined : this.#sealedPayloads(read, columns);
    const values = new SettingValues(readsSealed);
    const condition = { sql: conditionOf(read, values), readsSealed };
    const light = conditionOf({ ...read, ...lightFilters(read) }, values);
    const filtered = payloadsOf(read);
    const needed = PAYLOAD_FIELDS.filter(
      (field) => filtered.includes(field) || columns.some(({ name }) => name === field),
    );
    const all = sealed ? [...columns, ...SEALED_REF_COLUMNS] : columns;
    const statements = {
      read,
      plan: PLAN,
      values,
      key: keyQuery,
      rows: (stretch: Stretch) => rowsQuery(this.#payloads.query, all, stretch, condition),
      needs: readsSealed
        ? { fields: needed, places: (stretch: Stretch) => sealedRowsQuery(stretch, light) }
        : undefined,
    };
    return { columns, fields: all.length, sealed, stream: await this.#stream(statements) };
  }

  #sealedPayloads(
    { tenantId }: ExportRead,
    columns: readonly ExportColumn[],
  ): SealedPayloadsOfRows | undefined {
    const fields = columns.flatMap(({ name }, field) => {
      const payload = PAYLOAD_FIELDS.find((one) => one === name);
      return payload ? [[payload, field] as const] : [];
    });
    if (fields.length === 0) return undefined;
    const names = fields.map(([name]) => name);
    return {
      fields,
      read: (refs) => this.#payloads.sealed.read(this.#pool, tenantId, refs, names),
      groups: (segment) => this.#payloads.sealed.groups(this.#pool, tenantId, segment, names),
    };
  }

  async readFeedback(asked: Omit<ExportRead, 'fields'>): Promise<ExportRows> {
    const read = withinWindow(asked);
    const columns = FEEDBACK_COLUMNS_OF_EXPORTS;
    const readsSealed = this.#readsSealed(read);
    const values = new SettingValues(readsSealed);
    const filter = isSelective(read) ? conditionOf(read, values) : undefined;
    const light = conditionOf({ ...read, ...lightFilters(read) }, values);
    const statements = {
      read,
      plan: FEEDBACK_PLAN,
      values,
      key: feedbackKeyQuery,
      rows: (stretch: Stretch) => feedbackQuery(columns, stretch, filter),
      needs: readsSealed
        ? { fields: payloadsOf(read), places: (stretch: Stretch) => sealedFeedbackQuery(stretch, light) }
        : undefined,
    };
    return { columns, fields: columns.length, stream: await this.#stream(statements) };
  }

  /**
   * True when payloads of sealed runs are loaded for the statements of a read, whether any day is sealed or not: days may be
   * sealed while it continues, and a run whose payloads are not found meets no filter on them.
   */
  #readsSealed(read: ExportRead): boolean {
    return this.#sealed !== undefined && payloadsOf(read).length > 0;
  }

  async #stream(statements: Statements): Promise<Readable> {
    const { read, needs } = statements;
    const client = await this.#pool.connect();
    try {
      await this.#checkConnection(client);
      if (!needs) await this.#begin(client, statements, keyOf(read.after));
    } catch (error) {
      client.release(true);
      throw error;
    }
    const stream =
      isSelective(read) || needs
        ? joinCopies(this.#pieces(client, statements))
        : copyOut(client, this.#query(statements, { isAfter: read.after !== undefined, isUntil: false }));
    releaseAfter(stream, client);
    return stream;
  }

  /** Begins a transaction that has the settings of a read. */
  async #begin(client: Connection, statements: Statements, after: RowKey | undefined): Promise<void> {
    const { read, plan, values, needs } = statements;
    const mode = needs ? 'ISOLATION LEVEL REPEATABLE READ' : 'READ ONLY';
    await client.query(`BEGIN ${mode}; ${plan}; SET LOCAL statement_timeout = '${STATEMENT_LIMIT}'`);
    const own = [...windowSettings(read), ...keySettings('after', after), ...limitSettings(read.maxRows)];
    await applySettings(client, [...own, ...values.settings]);
    if (needs) await this.#sealed?.open(client);
  }

  async checkProject({ tenantId, projectId }: Pick<ExportWindow, 'tenantId' | 'projectId'>): Promise<void> {
    const deletedAt = await findDeletion(this.#pool, tenantId, projectId);
    if (deletedAt)
      throw new TerminalError(
        REASON.projectMissing,
        `reading the runs failed: the tracing project ${projectId} was deleted at ${deletedAt.toISOString()}`,
      );
  }

  /**
   * A filter may match no row of a day: each statement, and so each snapshot, covers a limited number of
   * rows. Each continues after the last row that was examined. With sealed payloads each has a transaction of its own,
   * since these and the rows must be of one snapshot.
   */
  async *#pieces(client: Connection, statements: Statements): AsyncGenerator<Readable> {
    const { read, needs } = statements;
    let after: RowKey | undefined = keyOf(read.after);
    let rows = this.#limits.rowsPerStatement;
    for (let left = read.maxRows; ;) {
      const startedMs = systemClock.monotonicMs();
      if (needs) await this.#begin(client, statements, after);
      const until = await this.#lastKey(client, statements.key(after !== undefined), rows);
      await applySettings(client, [...keySettings('until', until), ...limitSettings(left)]);
      const stretch = { isAfter: after !== undefined, isUntil: until !== undefined };
      const loaded = needs && (await this.#load(client, statements, stretch, rows > 1));
      if (loaded === 'too much') {
        await client.query('COMMIT');
        rows = Math.max(1, rows >> 3);
        continue;
      }
      const copy = copyOut(client, this.#query(statements, stretch));
      yield copy;
      if (until === undefined) return;
      after = until;
      await applySettings(client, keySettings('after', after));
      // known for certain once another statement was answered: the stream ends before the command is confirmed
      if (left !== undefined) left -= copy.rowCount;
      if (left === 0) return;
      if (needs) await client.query('COMMIT');
      const most = loaded ? Math.ceil((rows * SEALED_BYTES) / Math.max(1, loaded.bytes)) : Infinity;
      rows = Math.min(most, this.#nextRows(rows, systemClock.monotonicMs() - startedMs));
    }
  }

  /** @param mayShrink true when a statement over fewer rows is possible */
  async #load(
    client: Connection,
    { read, needs }: Statements,
    stretch: Omit<Stretch, 'isLimited'>,
    mayShrink: boolean,
  ): Promise<LoadedPayloads | 'too much' | undefined> {
    if (!needs) return undefined;
    const { tenantId, projectId } = read;
    const text = needs.places({ ...stretch, isLimited: false });
    const places = { tenantId, projectIds: [projectId], fields: needs.fields, text, values: [] };
    try {
      return await this.#sealed?.load(client, places);
    } catch (error) {
      if (mayShrink && error instanceof TooMuchSealedError) return 'too much';
      throw error;
    }
  }

  /** The last row that a statement over so many rows reads; undefined when the window has fewer left. */
  async #lastKey(client: Connection, query: string, count: number): Promise<RowKey | undefined> {
    const { rows } = await client.query<{ time: string; id: string; trace: string }>(query, [count - 1]);
    return rows[0];
  }

  /**
   * Number of rows of the next statement: payloads may be a thousand times larger than usual, and a filter
   * may be expensive, so the number shrinks after a slow statement.
   */
  #nextRows(rows: number, tookMs: number): number {
    const { rowsPerStatement: most, longStatementMs } = this.#limits;
    if (tookMs > longStatementMs) return Math.max(1, Math.ceil(most / 100), Math.floor(rows / 4));
    return Math.min(most, rows * 2);
  }

  #query({ read, rows }: Statements, stretch: Omit<Stretch, 'isLimited'>): string {
    return rows({ ...stretch, isLimited: read.maxRows !== undefined });
  }

  /**
   * A COPY that sends no row does not notice that its client has ended, and would keep its snapshot. Servers
   * that do not know the setting, or whose system cannot check, run without it; there only the limit of the
   * statement ends it.
   */
  async #checkConnection(client: Connection): Promise<void> {
    try {
      await client.query(
        `SELECT set_config(name, $1, false) FROM pg_settings
        WHERE name = 'client_connection_check_interval' AND setting = '0'`,
        [`${this.#limits.connectionCheckMs}ms`],
      );
    } catch (error) {
      if (sqlState(error) !== INVALID_VALUE) throw error;
    }
  }
}

/** True when rows of the window may be left out: then no row may come for long. */
function isSelective({ filter, changedSince }: ExportRead): boolean {
  return filter !== undefined || changedSince !== undefined;
}

function conditionOf(read: ExportRead, values: SettingValues): string {
  const { changedSince } = read;
  const filter = filterSql(read, values);
  const since = changedSince === undefined ? '' : ` AND ${changedAfter(setting('since', 'pg_snapshot'))}`;
  return `${filter}${since}`;
}

/** A cursor before the window excludes no row, and would widen it. */
function withinWindow(read: ExportRead): ExportRead {
  const isBefore = read.after !== undefined && read.after.startTime < read.startTime;
  return isBefore ? { ...read, after: undefined } : read;
}

/** Hands the connection back when the stream has ended, and closes it when the stream breaks or is abandoned. */
function releaseAfter(stream: Readable, client: Connection): void {
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
}
