import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import type { Clock } from '#lib/time';
import { findServer } from './pid-file.js';
import { stopServer } from './server-process.js';

const run = promisify(execFile);
const SPARE_BYTES = 64 * 1024 ** 2;

/**
 * Copies a cluster that no server uses: one that was left running is stopped first. A copy that was
 * interrupted is made anew, an existing one is kept.
 * @throws Error when the disk has no space for it
 */
export async function keepCopy(pgdata: string, copy: string, clock: Clock): Promise<void> {
  if (!existsSync(pgdata) || existsSync(copy)) return;
  const server = findServer(pgdata);
  if (server) await stopServer(server.identity, clock);
  mkdirSync(dirname(copy), { recursive: true, mode: 0o700 });
  await requireRoom(pgdata, copy);
  const partial = `${copy}.partial`;
  rmSync(partial, { recursive: true, force: true });
  // keeps owners, modes and times, and shares blocks if the file system can
  await run('cp', ['-a', pgdata, partial]);
  renameSync(partial, copy);
}

async function requireRoom(pgdata: string, copy: string): Promise<void> {
  const { stdout } = await run('du', ['-sk', pgdata]);
  const needed = Number(stdout.split('\t')[0]) * 1024 + SPARE_BYTES;
  const { bavail, bsize } = await statfs(dirname(copy));
  if (bavail * bsize >= needed) return;
  const mb = (bytes: number): number => Math.ceil(bytes / 1024 ** 2);
  throw new Error(
    `before this version changes the databases it keeps a copy in ${copy}, which needs ${mb(needed)} MB of ${mb(bavail * bsize)}: ` +
      'make room, or make a copy elsewhere and then an empty folder of that name',
  );
}
