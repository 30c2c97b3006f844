import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from } from 'pg-copy-streams';
import { namedFailure } from '../named-failure.js';
import { Readable } from 'node:stream';

/** Kinds of messages (PostgreSQL, Message Formats). */
const COPY_DATA = 0x64;
const COPY_DONE = 0x63;
/**
 * CopyOutResponse, NoticeResponse, NotificationResponse, ParameterStatus: they may come among rows, and are
 * ignored here.
 */
const PASSED_OVER: ReadonlySet<number> = new Set([0x48, 0x4e, 0x41, 0x53]);
/** Kind and length, which counts itself. */
const HEAD_BYTES = 5;
const LENGTH_BYTES = 4;
const NOTHING = Buffer.alloc(0);

/**
 * The rows of one `COPY … TO STDOUT`. While they come, this reads the connection instead of the driver: each
 * row is a message, and taking the heads of messages out of a chunk in place costs less than a copy of every
 * row. The driver reads again after the rows: their confirmation, or an error.
 */
export class CopyRows extends Readable implements pg.Submittable {
  readonly text: string;
  #connection: pg.Connection | undefined;
  #driver: ((bytes: Buffer) => void) | undefined;
  /** The beginning of a head whose rest is in the next chunk. */
  #begun: Buffer = NOTHING;
  #isOfRow = false;
  /** Bytes of the open message that are still to come. */
  #left = 0;
  #isWanted = false;
  #isReading = false;
  #rowCount = 0;

  constructor(text: string) {
    super();
    this.text = text;
  }

  /** The number in the server's confirmation, which follows the last row. */
  get rowCount(): number {
    return this.#rowCount;
  }

  /** @returns an error, which the driver reports, when it reads in another way than this can replace */
  submit(connection: pg.Connection): Error | undefined {
    const { stream } = connection;
    const [driver, ...others] = stream.listeners('data');
    if (!driver || others.length > 0)
      return new Error('reading rows failed: the connection does not have exactly one reader');
    this.#connection = connection;
    this.#driver = driver as (bytes: Buffer) => void;
    stream.removeListener('data', this.#driver);
    stream.pause();
    stream.on('readable', this.#forward);
    connection.query(this.text);
    return undefined;
  }

  override _read(): void {
    this.#isWanted = true;
    this.#forward();
  }

  handleError(error: Error): void {
    this.destroy(namedFailure(error) as Error);
  }

  handleCommandComplete({ text }: { readonly text?: string }): void {
    this.#rowCount = Number(/^COPY (\d+)/.exec(text ?? '')?.[1] ?? 0);
  }

  handleReadyForQuery(): void {
    // the rows have ended before
  }

  readonly #forward = (): void => {
    // taking a chunk may ask for the next one
    if (this.#isReading) return;
    this.#isReading = true;
    while (this.#isWanted && this.#driver && !this.destroyed) {
      const chunk = this.#connection?.stream.read() as Buffer | null | undefined;
      if (!chunk) break;
      this.#take(this.#begun.length === 0 ? chunk : Buffer.concat([this.#begun, chunk]));
    }
    this.#isReading = false;
  };

  #take(bytes: Buffer): void {
    this.#begun = NOTHING;
    let kept = 0;
    for (let at = 0; at < bytes.length;) {
      if (this.#left === 0) {
        if (bytes.length - at < HEAD_BYTES) {
          this.#begun = bytes.subarray(at);
          break;
        }
        const kind = bytes[at] ?? 0;
        const length = bytes.readUInt32BE(at + 1) - LENGTH_BYTES;
        this.#isOfRow = kind === COPY_DATA;
        if ((!this.#isOfRow && !PASSED_OVER.has(kind)) || length < 0) {
          this.#handOn(bytes.subarray(0, kept));
          return this.#handBack(bytes.subarray(kind === COPY_DONE ? at + HEAD_BYTES : at));
        }
        this.#left = length;
        at += HEAD_BYTES;
      }
      const length = Math.min(this.#left, bytes.length - at);
      if (this.#isOfRow) {
        bytes.copyWithin(kept, at, at + length);
        kept += length;
      }
      this.#left -= length;
      at += length;
    }
    this.#handOn(bytes.subarray(0, kept));
  }

  #handOn(rows: Buffer): void {
    if (rows.length === 0) return;
    this.#isWanted = false;
    if (this.push(rows)) this.#isWanted = true;
  }

  /**
   * Hands the bytes after the rows back to the driver. It may pause the connection for them, so it is resumed
   * afterwards.
   */
  #handBack(bytes: Buffer): void {
    const { stream } = this.#connection ?? {};
    const driver = this.#driver;
    this.#driver = undefined;
    if (!stream || !driver) return;
    stream.removeListener('readable', this.#forward);
    stream.addListener('data', driver);
    driver(bytes);
    process.nextTick(() => stream.resume());
    // after an error, which the driver has reported by now, this does nothing
    if (!this.destroyed) this.push(null);
  }
}

/**
 * The rows of a query in the form that `CopyBinaryReader` reads. The connection is busy until the stream has ended;
 * destroying the stream early leaves it unusable. `rowCount` is known once a later statement of the connection was answered.
 * @param query takes no parameters: COPY has none
 */
export function copyOut(connection: pg.ClientBase, query: string): CopyRows {
  return connection.query(new CopyRows(`COPY (${query}) TO STDOUT (FORMAT binary)`));
}

/** A table that two databases have. Names are as in the catalogs, without quotes. */
export interface CopyAcross {
  readonly table: string;
  /** Columns that are copied; the target fills the others. */
  readonly columns: readonly string[];
  /** Callback with the bytes of each chunk that leaves the source. */
  readonly passed?: ((bytes: number) => void) | undefined;
}

/**
 * Copies the rows of a table from one connection to another, as fast as the slower takes them, without holding them.
 * Joins the transactions that are open on both. A failure ends the connection of the source.
 * @returns how many rows were written
 * @throws the answer of the database that failed first, or NoAnswerError
 */
export async function copyAcross(
  source: pg.Client,
  target: pg.ClientBase,
  { table, columns, passed }: CopyAcross,
): Promise<number> {
  const name = target.escapeIdentifier(table);
  const list = columns.map((column) => target.escapeIdentifier(column)).join(', ');
  const rows = copyOut(source, `SELECT ${list} FROM ${name}`);
  const sink = target.query(from(`COPY ${name} (${list}) FROM STDIN (FORMAT binary)`));
  if (passed) rows.on('data', (chunk: Buffer) => passed(chunk.length));
  try {
    await pipeline(rows, sink);
  } catch (error) {
    // unread rows keep the connection busy: its next statement, the ROLLBACK, would wait indefinitely
    void source.end();
    throw namedFailure(error);
  }
  return sink.rowCount;
}
