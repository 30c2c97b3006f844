import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { TerminalError } from '#lib/errors';
import { type Connection, copyOut, type Pool, sqlState } from '#lib/postgres';
import { REASON } from '#lib/resources';
import { systemClock } from '#lib/time';
import { filterSql } from '../filter/filter-sql.js';
import { SettingValues } from '../filter/sql-values.js';
import { findDeletion } from '../project/project-deletions.js';
import type { PayloadQuery, PayloadStore } from '../run/payload-store.js';
import { EXPORT_COLUMNS, type ExportColumn, FEEDBACK_COLUMNS_OF_EXPORTS, setting } from './export-columns.js';
import {
  applySettings,
  changedAfter,
  feedbackKeyQuery,
  feedbackQuery,
  keyOf,
  keyQuery,
  keySettings,
  limitSettings,
  type RowKey,
  rowsQuery,
  type Settings,
  type Stretch,
  windowSettings,
} from './export-query.js';
import type { ExportRead, ExportRows, ExportSource, ExportWindow } from './export-source.js';

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

/** Statements that find the rows of a read, of runs or of feedback. */
interface Statements {
  readonly read: ExportRead;
  /** The key of the row that is number `$1 + 1` after the last, whether it meets the filter or not. */
  readonly key: (isAfter: boolean) => string;
  readonly rows: (stretch: Stretch) => string;
}

/** Reads exports straight from the tables. */
export class PostgresExportSource implements ExportSource {
  readonly #pool: Pool;
  readonly #payloads: PayloadQuery;
  readonly #columns: readonly ExportColumn[];
  readonly #limits: ExportReadLimits;

  constructor(
    pool: Pool,
    payloads: Pick<PayloadStore, 'query'>,
    columns = EXPORT_COLUMNS,
    limits: Partial<ExportReadLimits> = {},
  ) {
    this.#pool = pool;
    this.#payloads = payloads.query;
    this.#columns = columns;
    this.#limits = { ...LIMITS, ...limits };
  }

  async read(asked: ExportRead): Promise<ExportRows> {
    const read = withinWindow(asked);
    const { fields } = read;
    const columns = fields
      ? this.#columns.filter(({ name, cursor }) => fields.includes(name) || cursor !== undefined)
      : this.#columns;
    const values = new SettingValues();
    const filter = conditionOf(read, values);
    const rows = (stretch: Stretch): string => rowsQuery(this.#payloads, columns, stretch, filter);
    const client = await this.#open(read, values, PLAN);
    return { columns, stream: this.#stream(client, { read, key: keyQuery, rows }) };
  }

  async readFeedback(asked: Omit<ExportRead, 'fields'>): Promise<ExportRows> {
    const read = withinWindow(asked);
    const columns = FEEDBACK_COLUMNS_OF_EXPORTS;
    const values = new SettingValues();
    const filter = isSelective(read) ? conditionOf(read, values) : undefined;
    const rows = (stretch: Stretch): string => feedbackQuery(columns, stretch, filter);
    const client = await this.#open(read, values, FEEDBACK_PLAN);
    return { columns, stream: this.#stream(client, { read, key: feedbackKeyQuery, rows }) };
  }

  #stream(client: Connection, statements: Statements): Readable {
    const { read } = statements;
    const stream = isSelective(read)
      ? joinCopies(this.#filtered(client, statements))
      : copyOut(client, this.#query(statements, { isAfter: read.after !== undefined, isUntil: false }));
    releaseAfter(stream, client);
    return stream;
  }

  /** A connection in a transaction that has the settings of a read. */
  async #open(read: ExportRead, values: SettingValues, plan: string): Promise<Connection> {
    const client = await this.#pool.connect();
    try {
      const after = keySettings('after', keyOf(read.after));
      const limit = limitSettings(read.maxRows);
      await this.#prepare(client, plan, [...windowSettings(read), ...after, ...limit, ...values.settings]);
      return client;
    } catch (error) {
      client.release(true);
      throw error;
    }
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
   * rows. Each continues after the last row that was examined.
   */
  async *#filtered(client: Connection, statements: Statements): AsyncGenerator<Readable> {
    const { read } = statements;
    let after: RowKey | undefined = keyOf(read.after);
    let rows = this.#limits.rowsPerStatement;
    for (let left = read.maxRows; ;) {
      const startedMs = systemClock.monotonicMs();
      const until = await this.#lastKey(client, statements.key(after !== undefined), rows);
      await applySettings(client, [...keySettings('until', until), ...limitSettings(left)]);
      const stretch = { isAfter: after !== undefined, isUntil: until !== undefined };
      const copy = copyOut(client, this.#query(statements, stretch));
      yield copy;
      if (until === undefined) return;
      after = until;
      await applySettings(client, keySettings('after', after));
      // known for certain once another statement was answered: the stream ends before the command is confirmed
      if (left !== undefined) left -= copy.rowCount;
      if (left === 0) return;
      rows = this.#nextRows(rows, systemClock.monotonicMs() - startedMs);
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

  async #prepare(client: Connection, plan: string, settings: Settings): Promise<void> {
    await this.#checkConnection(client);
    await client.query(`BEGIN READ ONLY; ${plan}; SET LOCAL statement_timeout = '${STATEMENT_LIMIT}'`);
    await applySettings(client, settings);
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
function isSelective({ filter, changedSince }: ExportWindow): boolean {
  return filter !== undefined || changedSince !== undefined;
}

function conditionOf(window: ExportWindow, values: SettingValues): string {
  const filter = filterSql(window, values);
  return window.changedSince === undefined
    ? filter
    : `${filter} AND ${changedAfter(setting('since', 'pg_snapshot'))}`;
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
