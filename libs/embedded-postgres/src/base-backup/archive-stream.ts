import { Readable } from 'node:stream';
import type pg from 'pg';

/** A folder that a base backup sends. */
export interface SentFolder {
  /** Oid of a tablespace; undefined for PGDATA itself. */
  readonly tablespace: string | undefined;
  /** Its path; undefined for PGDATA itself. */
  readonly location: string | undefined;
  /** Expected, before it was read. */
  readonly bytes: number;
}

const READ_AHEAD_BYTES = 4 << 20;
const NEW_ARCHIVE = 0x6e; // n
const DATA = 0x64; // d

/**
 * The answer to BASE_BACKUP (PostgreSQL 15 and newer, "Streaming Replication Protocol") as a stream of the
 * tar that it carries: a row with the position of the start, rows of the folders, one COPY whose messages
 * begin with their kind, a row with the position of the end. The server waits while the stream is not read.
 */
export class ArchiveStream extends Readable implements pg.Submittable {
  readonly #text: string;
  #connection: pg.Connection | undefined;
  #answers = 0;
  #archives = 0;
  readonly #folders: SentFolder[] = [];
  #endPosition: string | undefined;
  #begun: ((folders: readonly SentFolder[]) => void) | undefined;
  #failed: ((error: unknown) => void) | undefined;
  /** Folders of the backup, once the server has begun; a refusal rejects. */
  readonly folders: Promise<readonly SentFolder[]>;

  constructor(text: string) {
    super({ highWaterMark: READ_AHEAD_BYTES });
    this.#text = text;
    this.folders = new Promise((resolve, reject) => {
      this.#begun = resolve;
      this.#failed = reject;
    });
    this.folders.catch(() => undefined); // the stream fails with the same
    this.on('error', () => undefined); // thrown where it is read; the session also ends when reading stops
  }

  /** Position in the log of changes that the copy is of; undefined until the stream has ended. */
  get endPosition(): string | undefined {
    return this.#endPosition;
  }

  submit(connection: pg.Connection): void {
    this.#connection = connection;
    connection.query(this.#text);
  }

  override _read(): void {
    this.#connection?.stream.resume();
  }

  handleRowDescription(): void {
    this.#answers++;
  }

  /** Rows of the first answer are the start, of the second the folders, of the third the end. */
  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    const [first, second, third] = fields;
    if (this.#answers === 2)
      this.#folders.push({
        tablespace: first ?? undefined,
        location: second ?? undefined,
        bytes: Number(third ?? 0) * 1024,
      });
    if (this.#answers === 3) this.#endPosition = first ?? undefined;
  }

  handleCopyData({ chunk }: { readonly chunk: Buffer }): void {
    const kind = chunk[0];
    if (kind === NEW_ARCHIVE) {
      this.#begun?.(this.#folders);
      if (++this.#archives > 1) this.destroy(new Error('the server sent more than one archive'));
    }
    if (kind !== DATA) return;
    // copied: the driver uses its buffer again
    if (!this.push(Buffer.from(chunk.subarray(1)))) this.#connection?.stream.pause();
  }

  handleCommandComplete(): void {
    // the rows and the copy have their own ends
  }

  handlePortalSuspended(): void {
    // a simple query has no portal
  }

  handleEmptyQuery(): void {
    // never empty
  }

  handleError(error: Error): void {
    this.#failed?.(error);
    this.destroy(error);
  }

  handleReadyForQuery(): void {
    this.push(null);
  }
}
