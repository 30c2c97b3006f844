import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { errorText } from '#lib/errors';
import { isRunning, type ProcessIdentity } from '#lib/process-identity';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { findBinaries } from './binaries.js';
import { ensureCluster, SUPERUSER } from './cluster.js';
import { locateData, SHARED_FOLDER } from './data-location.js';
import type { DatabaseRequest } from './database.js';
import { MAX_MUTE } from './guard/mute-sessions.js';
import { MAX_QUEUE_PAGES } from './guard/notification-queue.js';
import { serverUser } from './os-user.js';
import { findServer } from './pid-file.js';
import { findFreePort, requireFreePort } from './port.js';
import { type ServerRequest, startServer, stopServer } from './server-process.js';

/**
 * A cluster is readable for one major version of Postgres alone, and its folder is named after it. Another
 * version's must not be ignored silently: the platform would start with empty databases.
 * @param place the folder that holds PGDATA
 * @throws Error with the remedy
 */
function requireMajor(place: string, major: string): void {
  const found = clustersIn(place);
  if (found.length === 0 || found.includes(major)) return;
  const [theirs = ''] = found;
  throw new Error(
    `the databases in ${place} were made by PostgreSQL ${theirs}, and this version of Agentplane brings PostgreSQL ` +
      `${major}, which cannot read them: start the version of Agentplane that was used before (format.json names it). ` +
      'Nothing was changed.',
  );
}

function clustersIn(place: string): readonly string[] {
  if (!existsSync(place)) return [];
  return readdirSync(place)
    .filter((name) => /^data-\d+$/.test(name))
    .map((name) => join(place, name, 'PG_VERSION'))
    .filter((path) => existsSync(path))
    .map((path) => readFileSync(path, 'utf8').trim())
    .sort((one, other) => Number(other) - Number(one));
}

const run = promisify(execFile);
const SPARE_BYTES = 64 * 1024 ** 2;

/**
 * Copies a cluster that no server uses: one that was left running is stopped first. A copy that was
 * interrupted is made anew, an existing one is kept.
 * @throws Error when the disk has no space for it
 */
async function keepCopy(pgdata: string, copy: string, clock: Clock): Promise<void> {
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

/** Passwords of the roles of one cluster, in a file that only its owner reads. Made on first use. */
export class Passwords {
  constructor(private readonly file: string) {}

  ensure(role: string): string {
    const known = this.#read();
    const password = known[role] ?? randomBytes(24).toString('base64url');
    if (known[role] === undefined) this.set(role, password);
    return password;
  }

  set(role: string, password: string): void {
    const known = this.#read();
    if (known[role] === password) return;
    mkdirSync(dirname(this.file), { recursive: true, mode: 0o700 });
    const partial = `${this.file}.new`;
    // replaces an existing file, which may be a link
    rmSync(partial, { force: true });
    const text = `${JSON.stringify({ ...known, [role]: password }, null, 2)}\n`;
    writeFileSync(partial, text, { mode: 0o600, flag: 'wx' });
    renameSync(partial, this.file);
  }

  #read(): Readonly<Record<string, string>> {
    let text: string;
    try {
      text = readFileSync(this.file, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
      throw new Error(`cannot read ${this.file}`, { cause: error });
    }
    try {
      return JSON.parse(text) as Record<string, string>;
    } catch {
      // the parser's message would show a piece of it
      throw new Error(
        `${this.file} is not JSON; restore the file from a backup, it holds the database passwords`,
      );
    }
  }
}

/** The roles and databases of a server that runs. */
export interface EmbeddedDatabases {
  /** URI for setting up only. Secret. */
  readonly superuserUri: string;
  /** Creates database and role as needed; answers the role's connection URI (secret). */
  ensureDatabase(request: DatabaseRequest): Promise<string>;
  /** Creates a role that may make databases and roles, no superuser; answers its connection URI (secret). */
  ensureAdministrator(request: { role: string; connectionLimit?: number }): Promise<string>;
}

/**
 * The databases of the server of a data folder, for the program that sets them up, which need not be the one that started the server.
 * The database client is loaded on the first use.
 */
export function embeddedDatabases({
  dataDir,
  port,
}: {
  readonly dataDir: string;
  readonly port: number;
}): EmbeddedDatabases {
  const passwords = new Passwords(join(dataDir, 'secrets', 'postgres.json'));
  // A program that took the port while the server restarts must not be given a password.
  const uri = (role: string, secret: string, database: string): string =>
    `postgres://${role}:${encodeURIComponent(secret)}@127.0.0.1:${port}/${encodeURIComponent(database)}?require_auth=scram-sha-256`;
  const superuserUri = uri(SUPERUSER, passwords.ensure(SUPERUSER), 'postgres');
  return {
    superuserUri,
    async ensureDatabase(wanted) {
      if (wanted.password !== undefined) passwords.set(wanted.role, wanted.password);
      const secret = passwords.ensure(wanted.role);
      const { ensureDatabase } = await import('./database.js');
      await ensureDatabase(superuserUri, {
        connectionLimit: -1,
        isPlatform: false,
        ...wanted,
        password: secret,
      });
      return uri(wanted.role, secret, wanted.database);
    },
    async ensureAdministrator(wanted) {
      const secret = passwords.ensure(wanted.role);
      const { ensureAdministrator } = await import('./database.js');
      await ensureAdministrator(superuserUri, { connectionLimit: -1, ...wanted, password: secret });
      return uri(wanted.role, secret, 'postgres');
    },
  };
}

export interface EmbeddedPostgresOptions {
  /**
   * The platform's data folder: the cluster is stored in its `postgres` (or in the folder that
   * `postgres.location` names).
   */
  readonly dataDir: string;
  /** TCP port on 127.0.0.1; 0 takes a free one. A server found running keeps the port it has. */
  readonly port: number;
  /** Folder for a copy of the cluster before this start, which may change it; no copy when absent. */
  readonly copyTo?: string | undefined;
  /** The server ends with this process however that ends, instead of waiting for the next one to take it over. */
  readonly isTied?: boolean;
  /**
   * Roles of the platform, with the connections that are kept for each of them (`isPlatform` lets a role use
   * them); set if roles of others use the server too. The server is then watched so that no other role takes
   * what all need.
   */
  readonly platformRoles?: Readonly<Record<string, number>> | undefined;
  readonly log: Logger;
  readonly clock: Clock;
}

/** A running server that is watched and restarted until `stop`. */
export interface EmbeddedPostgres extends EmbeddedDatabases {
  readonly name: 'postgres';
  readonly port: number;
  /** A server that an earlier, killed process had left running was taken over. */
  readonly adopted: boolean;
  stop(): Promise<void>;
}

/**
 * Connections of a server without roles of a platform, three of them for superusers. A third of the others, which one
 * deployment may have, is enough for two revisions of three pods (56).
 */
const MAX_CONNECTIONS = 180;

/**
 * Settings for a laptop: little memory, but nothing that risks data. These binaries are built without lz4, so
 * values and WAL are compressed with pglz. Each doubling of the lock table's size costs as much memory again
 * as the last: 3 MB from 64 locks to 128, 6 MB to 256.
 */
const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '', // its default, the temp folder, would be shared with every other server
  authentication_timeout: '10s', // a session before login holds a connection too
  max_locks_per_transaction: '128',
  max_notify_queue_pages: String(MAX_QUEUE_PAGES),
  shared_buffers: '64MB',
  work_mem: '8MB',
  maintenance_work_mem: '64MB',
  effective_cache_size: '1GB',
  synchronous_commit: 'on',
  wal_compression: 'on',
  min_wal_size: '80MB',
  max_wal_size: '1GB',
  checkpoint_timeout: '10min',
  random_page_cost: '1.1',
  client_connection_check_interval: '10s',
  jit: 'off',
  max_worker_processes: '4',
  max_parallel_workers: '2',
  password_encryption: 'scram-sha-256',
  log_timezone: 'UTC',
  timezone: 'UTC',
  log_line_prefix: '%m [%p] %q%u@%d ',
  // the client gets the failures of its statements, both of any length: an agent could write 75 MB/s
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
};

/**
 * Settings of the server. Reserved connections are added: which of the two a role's connection takes depends
 * on the order of arrival. So are those of sessions that have not logged in, up to the number that the guard
 * allows: they may take reserved connections too.
 */
function settingsFor(platformRoles?: Readonly<Record<string, number>>): Readonly<Record<string, string>> {
  const reserved =
    Object.values(platformRoles ?? {}).reduce((sum, connections) => sum + connections, 0) +
    (platformRoles ? MAX_MUTE : 0);
  return {
    ...SETTINGS,
    max_connections: String(MAX_CONNECTIONS + reserved),
    reserved_connections: String(reserved),
  };
}

const WATCH_INTERVAL_MS = 500;
const MAX_BACKOFF_MS = 30_000;

/**
 * A real PostgreSQL on 127.0.0.1, from the binaries that npm installed. Passwords are scram and are stored in
 * `secrets/postgres.json` of the data folder.
 *
 * The server outlives this process: when this process is killed it continues, and the next start takes it
 * over instead of stopping it, because a server with an unknown fate must never be joined by a second one on
 * the same data.
 * @throws Error when there are no binaries, the port is taken or the server does not come up
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { dataDir, log, clock } = options;
  mkdirSync(join(dataDir, 'logs'), { recursive: true });
  const user = serverUser();
  const binaries = findBinaries(user, SHARED_FOLDER);
  const major = binaries.version.split('.')[0] ?? '';
  const place = locateData(dataDir, user);
  requireMajor(place, major);
  const pgdata = join(place, `data-${major}`);
  if (options.copyTo !== undefined) await keepCopy(pgdata, options.copyTo, clock);
  const password = new Passwords(join(dataDir, 'secrets', 'postgres.json')).ensure(SUPERUSER);

  const found = findServer(pgdata);
  const port = found?.file.port ?? (options.port || (await findFreePort()));
  const guarding = options.platformRoles && loadGuard();
  const request: ServerRequest = {
    binaries,
    user,
    pgdata,
    port,
    clock,
    settings: settingsFor(options.platformRoles),
    isTied: options.isTied ?? false,
    logFile: join(dataDir, 'logs', 'postgres.log'),
  };
  if (!found) {
    await requireFreePort(port);
    await ensureCluster({ binaries, user, pgdata, password });
  }
  const identity = found?.identity ?? (await startServer(request));
  log.info({ port, pid: identity.pid, adopted: found !== undefined }, 'postgres started');

  const supervisor = new Supervisor(request, identity, log);
  supervisor.watch();
  const databases = embeddedDatabases({ dataDir, port });
  const Guard = await guarding;
  const guard =
    Guard &&
    new Guard({
      superuserUri: databases.superuserUri,
      hosts: Object.keys(options.platformRoles ?? {}),
      postmaster: () => supervisor.pid,
      log,
      clock,
    });
  guard?.start();
  return {
    name: 'postgres',
    port,
    adopted: found !== undefined,
    ...databases,
    stop: async () => {
      // its session would keep the server from stopping
      await guard?.stop();
      await supervisor.stop();
    },
  };
}

/** Loads the guard with the database client, 4 MB, while the server starts. */
async function loadGuard() {
  const { ServerGuard } = await import('./guard/server-guard.js');
  return ServerGuard;
}

/** Looks after one server: running → (gone) → restarting with back-off → running; `stop` ends it from any state. */
class Supervisor {
  readonly #request: ServerRequest;
  readonly #log: Logger;
  #identity: ProcessIdentity;
  #stopped = false;
  #restarting: Promise<void> | undefined;
  #failures = 0;
  #cancel: () => void = () => undefined;

  constructor(request: ServerRequest, identity: ProcessIdentity, log: Logger) {
    this.#request = request;
    this.#identity = identity;
    this.#log = log;
  }

  get pid(): number {
    return this.#identity.pid;
  }

  watch(): void {
    if (this.#stopped) return;
    const waitMs =
      this.#failures === 0 ? WATCH_INTERVAL_MS : Math.min(500 * 2 ** this.#failures, MAX_BACKOFF_MS);
    this.#cancel = this.#request.clock.after(waitMs, () => {
      if (isRunning(this.#identity)) return this.watch();
      this.#restarting = this.#restart().finally(() => this.watch());
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel();
    await this.#restarting;
    await stopServer(this.#identity, this.#request.clock);
    this.#log.info('postgres stopped');
  }

  async #restart(): Promise<void> {
    try {
      this.#log.error({ pgdata: dirname(this.#request.pgdata) }, 'postgres exited unexpectedly, restarting');
      this.#identity = await startServer(this.#request);
      this.#failures = 0;
    } catch (error) {
      this.#failures++;
      this.#log.error({ error: errorText(error), failures: this.#failures }, 'restarting postgres failed');
    }
  }
}
