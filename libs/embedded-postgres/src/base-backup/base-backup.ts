import { Readable } from 'node:stream';
import type pg from 'pg';
import { openConnection } from '#lib/postgres';

/** A folder that a base backup sends. */
interface SentFolder {
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
class ArchiveStream extends Readable implements pg.Submittable {
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

/** A copy of all databases of a server, while it is being sent. */
export interface BaseBackup {
  /** Bytes of PGDATA as the server expects them; data that it writes meanwhile is added. */
  readonly expectedBytes: number;
  /** PGDATA as a tar, with the files that the server needs to bring it to the one moment of its end. */
  readonly archive: Readable;
}

/** Slot that keeps the log of changes since the start until it was sent. It ends with the session. */
const SLOT = 'agentplane_backup';

/**
 * Copies all databases of a running server at one moment, over the replication protocol, like
 * `pg_basebackup`. The server reads and checks every page (checksums), and keeps serving. A server that is
 * started on the files recovers them to the moment when the archive ended.
 * @param use must read the archive to its end; the session ends with it
 * @throws Error for tablespaces of other folders, when another backup runs, and for errors of the server: a
 * page with a wrong checksum, a stop
 */
export async function withBaseBackup<T>(
  superuserUri: string,
  use: (backup: BaseBackup) => Promise<T>,
): Promise<T> {
  const connection = await openConnection({
    uri: superuserUri,
    applicationName: 'agentplane backup',
    isReplication: true,
  });
  try {
    await connection.query(`CREATE_REPLICATION_SLOT ${SLOT} TEMPORARY PHYSICAL RESERVE_WAL`).catch(named);
    const archive = connection.query(
      new ArchiveStream(
        "BASE_BACKUP (LABEL 'agentplane backup', PROGRESS true, CHECKPOINT 'fast', WAL true, WAIT false, MANIFEST 'no')",
      ),
    );
    const folders = await archive.folders;
    const expectedBytes = requireOneFolder(folders).bytes;
    const answer = await use({ expectedBytes, archive });
    if (archive.endPosition === undefined)
      throw new Error('copying the databases failed: the copy was not read to its end');
    return answer;
  } finally {
    await connection.end();
  }
}

function named(error: unknown): never {
  const taken = (error as { readonly code?: string } | null)?.code === '42710';
  if (!taken) throw error;
  throw new Error('another backup of this platform is running; wait for its end', { cause: error });
}

function requireOneFolder(folders: readonly SentFolder[]): SentFolder {
  const other = folders.find(({ tablespace }) => tablespace !== undefined);
  if (other)
    throw new Error(
      `copying the databases failed: tablespace ${other.tablespace} lies in ${other.location}, outside of the data folder; move its tables to the default tablespace and drop it`,
    );
  const [only] = folders;
  if (!only) throw new Error('copying the databases failed: the server named no folder');
  return only;
}
