import { randomBytes } from 'node:crypto';
import { spawn } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '#lib/time';
import { findBinaries, type PostgresBinaries } from './binaries.js';
import { ensureCluster, PROGRAM_ENVIRONMENT, SUPERUSER } from './cluster.js';
import { type OsUser, serverUser } from './os-user.js';
import { readPidFile } from './pid-file.js';
import { findFreePort } from './port.js';

/** A server without durability whose data is removed with it. */
export interface TemporaryPostgres {
  readonly port: number;
  /** Connection URI of the superuser for a database (default `postgres`). */
  uri(database?: string): string;
  /** Resolves when the server has ended; its folder is removed then. */
  stop(): Promise<void>;
}

const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '100',
  shared_buffers: '32MB',
  // in the data folder, so that a killed server leaves no segments elsewhere
  dynamic_shared_memory_type: 'mmap',
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'off',
  autovacuum: 'off',
  max_wal_size: '512MB',
  jit: 'off',
  timezone: 'UTC',
};

const PASSWORD = 'temporary';

/**
 * Starts a server for tests and measurements: initdb runs once for each machine and its result is copied, nothing is
 * flushed, and the server ends with this process however that ends (a shell holds it and reads our pipe).
 * @param environment of the server, beside what it needs
 * @param parent of the folder that holds its data
 */
export async function startTemporaryPostgres(
  environment: Readonly<Record<string, string>> = {},
  parent = tmpdir(),
): Promise<TemporaryPostgres> {
  const user = serverUser();
  const binaries = findBinaries(user, join(tmpdir(), 'agentplane-postgres-binaries'));
  const template = await ensureTemplate(binaries, user);
  const folder = mkdtempSync(join(parent, 'agentplane-postgres-'));
  const pgdata = join(folder, 'data');
  if (user) chownSync(folder, user.uid, user.gid);
  await copyFolder(template, pgdata);
  const port = await findFreePort();
  const settings = { ...SETTINGS, port: String(port) };
  const flags = Object.entries(settings).map(([name, value]) => `-c ${name}='${value}'`);
  const server = join(binaries.folder, 'bin', 'postgres');
  // INT is the fast stop; the folder is removed afterwards in any case, and no test waits for the files of a
  // thousand databases.
  const script = `"${server}" -D "${pgdata}" ${flags.join(' ')} >"${folder}/log" 2>&1 </dev/null & read -r _; kill -INT $!; wait $!; rm -rf "${folder}" &`;
  const child = spawn('/bin/sh', ['-c', script], {
    cwd: '/',
    env: { ...PROGRAM_ENVIRONMENT, ...environment },
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    ...(user ? { uid: user.uid, gid: user.gid } : {}),
  });
  child.unref();
  (child.stdin as Socket).unref(); // a test that forgets to stop must not hang
  try {
    await untilReady(pgdata, folder);
  } catch (error) {
    child.stdin.end();
    throw error;
  }
  return {
    port,
    uri: (database = 'postgres') => `postgres://${SUPERUSER}:${PASSWORD}@127.0.0.1:${port}/${database}`,
    async stop() {
      const gone = once(child, 'exit');
      child.stdin.end();
      await gone;
    },
  };
}

async function untilReady(pgdata: string, folder: string): Promise<void> {
  const deadline = systemClock.monotonicMs() + 30_000;
  while (!readPidFile(pgdata)?.isReady) {
    const said = existsSync(join(folder, 'log')) ? readFileSync(join(folder, 'log'), 'utf8') : '';
    if (said.includes('FATAL:') || systemClock.monotonicMs() > deadline)
      throw new Error(`starting a temporary Postgres failed: ${said}`);
    await systemClock.sleep(10);
  }
}

async function ensureTemplate(binaries: PostgresBinaries, user: OsUser | undefined): Promise<string> {
  const owner = process.getuid?.() ?? 0;
  const template = join(tmpdir(), `agentplane-postgres-template-${owner}-${binaries.version}`);
  if (existsSync(template)) return template;
  const partial = join(tmpdir(), `agentplane-postgres-new-${randomBytes(6).toString('hex')}`);
  mkdirSync(partial, { mode: 0o700 });
  if (user) chownSync(partial, user.uid, user.gid);
  const pgdata = join(partial, 'data');
  // Trust would be simpler, but tested code should log in as in production. Small segments copy faster.
  await ensureCluster({ binaries, user, pgdata, password: PASSWORD, args: ['--no-sync', '--wal-segsize=1'] });
  try {
    renameSync(pgdata, template);
  } catch (error) {
    if (!existsSync(template)) throw error; // else another test process was faster
  }
  rmSync(partial, { recursive: true, force: true });
  return template;
}

/** Copies a folder with modes and owners, which `cpSync` does not keep. */
async function copyFolder(from: string, to: string): Promise<void> {
  const child = spawn('cp', ['-a', from, to], { stdio: 'ignore' });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`cannot copy ${from} to ${to}`);
}
