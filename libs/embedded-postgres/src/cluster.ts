import { spawn } from 'node:child_process';
import { chownSync, existsSync, renameSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { PostgresBinaries } from './binaries.js';
import type { OsUser } from './os-user.js';

const MB = 1024 * 1024;

/** Space for a new cluster, the platform's databases and their first log files, with some reserve. */
const NEW_CLUSTER_BYTES = 120 * MB;

/**
 * Refuses a disk that cannot hold the new files: the program that makes them would report it in its own
 * words, after some seconds.
 * @throws Error with the free and the needed space
 */
export function requireSpace(folder: string, neededBytes: number): void {
  const { bavail, bsize } = statfsSync(folder);
  const freeBytes = bavail * bsize;
  if (freeBytes >= neededBytes) return;
  throw new Error(
    `the disk of ${folder} is too small: ${Math.floor(freeBytes / MB)} MB free, ${Math.ceil(neededBytes / MB)} MB needed for a new database; free some space or name a folder on another disk with --data DIR`,
  );
}

/** The superuser's name in every cluster made here. */
export const SUPERUSER = 'postgres';

export interface ClusterRequest {
  readonly binaries: PostgresBinaries;
  readonly user: OsUser | undefined;
  /** PGDATA; its parent must exist and belong to the server's user. */
  readonly pgdata: string;
  readonly password: string;
  /** Further arguments of initdb. */
  readonly args?: readonly string[];
}

/** Makes a database cluster unless there is one. An interrupted attempt leaves nothing that looks like a cluster. */
export async function ensureCluster(request: ClusterRequest): Promise<void> {
  const { binaries, user, pgdata, password, args = [] } = request;
  if (existsSync(join(pgdata, 'PG_VERSION'))) return;
  const partial = `${pgdata}.new`;
  const passwordFile = join(dirname(pgdata), `.password-${process.pid}`);
  rmSync(partial, { recursive: true, force: true });
  requireSpace(dirname(pgdata), NEW_CLUSTER_BYTES);
  writeFileSync(passwordFile, password, { mode: 0o600 });
  try {
    if (user) chownSync(passwordFile, user.uid, user.gid);
    await run(join(binaries.folder, 'bin', 'initdb'), user, [
      `--pgdata=${partial}`,
      `--username=${SUPERUSER}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale-provider=builtin',
      '--locale=C.UTF-8',
      '--lc-messages=C',
      ...args,
    ]);
    renameSync(partial, pgdata);
  } finally {
    rmSync(passwordFile, { force: true });
  }
}

/** Environment of the server's programs: nothing of ours, so that no PG… variable reaches them. */
export const PROGRAM_ENVIRONMENT: Readonly<Record<string, string>> = {
  PATH: '/usr/local/bin:/usr/bin:/bin',
  LC_ALL: 'C',
};

function run(program: string, user: OsUser | undefined, args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: '/',
      env: PROGRAM_ENVIRONMENT,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(user ? { uid: user.uid, gid: user.gid } : {}),
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-4_000)));
    child.on('error', (error) => reject(new Error(`cannot run ${program}`, { cause: error })));
    child.on('close', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`${program} exited with ${code}: ${output.trim()}`));
    });
  });
}
