import type { Readable } from 'node:stream';
import { openConnection } from '#lib/postgres';
import { ArchiveStream, type SentFolder } from './archive-stream.js';

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
