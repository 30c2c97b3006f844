import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { findProcess, isRunning } from '#lib/process-identity';
import { createLogger } from '#lib/telemetry';
import { freePort, temporaryFolder, waitFor } from '#lib/testing';
import { type Clock, systemClock } from '#lib/time';
import { locateData } from './data-location.js';
import { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres.js';

const log = createLogger('test', 'silent');

async function query(uri: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: uri });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(text)).rows as Record<string, unknown>[];
  } finally {
    await client.end();
  }
}

function pgdataOf(dataDir: string): string {
  const note = join(dataDir, 'postgres.location');
  return join(existsSync(note) ? readFileSync(note, 'utf8').trim() : join(dataDir, 'postgres'), 'data-18');
}

function postmaster(dataDir: string): number {
  return Number(readFileSync(join(pgdataOf(dataDir), 'postmaster.pid'), 'utf8').split('\n')[0]);
}

describe('startEmbeddedPostgres', () => {
  const dataDir = temporaryFolder();
  let postgres: EmbeddedPostgres | undefined;
  let pgdata = '';
  let watching = new AbortController();
  const start = (port = 0): Promise<EmbeddedPostgres> => {
    const owner = new AbortController();
    watching = owner;
    const clock: Clock = {
      ...systemClock,
      after: (ms, callback) => systemClock.after(ms, () => void (owner.signal.aborted || callback())),
    };
    return startEmbeddedPostgres({ dataDir, port, log, clock });
  };

  afterAll(async () => {
    await postgres?.stop();
    if (pgdata !== '') execFileSync('rm', ['-rf', join(pgdata, '..', '..')]);
  });

  it('starts, keeps its passwords private and stops', async () => {
    postgres = await start();
    pgdata = pgdataOf(dataDir);
    const uri = await postgres.ensureDatabase({ database: 'kube', role: 'kube', connectionLimit: 3 });
    for (const made of [
      uri,
      postgres.superuserUri,
      await postgres.ensureAdministrator({ role: 'deployments' }),
    ])
      expect(made).toMatch(/\?require_auth=scram-sha-256$/);
    await query(uri, 'CREATE TABLE kept AS SELECT 42 AS answer');
    expect(statSync(join(dataDir, 'secrets', 'postgres.json')).mode & 0o777).toBe(0o600);
    // only the user of the server may pass through the data folder
    expect(statSync(dataDir).mode & 0o027).toBe(0);
    const open = uri.replace(/:[^:@/]+@/, ':wrong@');
    await expect(query(open, 'SELECT 1')).rejects.toThrow(/password authentication failed/);
    const identity = findProcess(postmaster(dataDir));
    await postgres.stop();
    expect(identity && isRunning(identity)).toBe(false);
  });

  it('keeps its data across a restart on another port', async () => {
    const port = await freePort();
    postgres = await start(port);
    expect(postgres).toMatchObject({ port, adopted: false });
    const uri = await postgres.ensureDatabase({ database: 'kube', role: 'kube', connectionLimit: 3 });
    expect(await query(uri, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
  });

  it('adopts a running server instead of starting a second one', async () => {
    const before = postmaster(dataDir);
    watching.abort(); // from here on the server has no supervisor, as if the first owner had been killed
    const port = postgres?.port;
    postgres = await start();
    expect(postgres).toMatchObject({ port, adopted: true });
    expect(postmaster(dataDir)).toBe(before);
  });

  it('holds roles to their connection limit and to their own database', async () => {
    const uri =
      (await postgres?.ensureDatabase({ database: 'kube', role: 'kube', connectionLimit: 1 })) ?? '';
    await postgres?.ensureDatabase({ database: 'other', role: 'other' });
    const holder = new pg.Client({ connectionString: uri });
    await holder.connect();
    await expect(query(uri, 'SELECT 1')).rejects.toThrow(/too many connections/);
    await holder.end();
    // the place of a connection is free a moment after its client has gone
    const refusal = await waitFor(async () => {
      const error: unknown = await query(uri.replace(/kube(?=\?)/, 'other'), 'SELECT 1').catch(
        (thrown) => thrown,
      );
      return !String(error).includes('too many connections') && String(error);
    });
    expect(refusal).toMatch(/permission denied/);
  });

  it('lets an administrator create databases for other roles without being a superuser', async () => {
    const uri = (await postgres?.ensureAdministrator({ role: 'deployments' })) ?? '';
    await query(uri, `CREATE ROLE agent LOGIN PASSWORD 'x'`);
    await query(uri, 'CREATE DATABASE agent OWNER agent');
    const [row] = await query(uri, `SELECT rolsuper FROM pg_roles WHERE rolname = 'deployments'`);
    expect(row).toEqual({ rolsuper: false });
  });

  it('closes the databases of no deployment to roles of deployments', async () => {
    const uri = (await postgres?.ensureAdministrator({ role: 'deployments' })) ?? '';
    await query(uri, `CREATE ROLE visitor LOGIN PASSWORD 'x'`);
    const visitor = uri.replace(/\/\/[^@]*@/, '//visitor:x@');
    for (const database of ['postgres', 'template1'])
      await expect(query(visitor.replace(/[^/]*$/, database), 'SELECT 1')).rejects.toThrow(
        /permission denied/,
      );
  });

  it('restarts a crashed server', async () => {
    const pid = postmaster(dataDir);
    process.kill(pid, 'SIGKILL');
    const answer = await waitFor(
      async () => {
        if (postmaster(dataDir) === pid) return undefined;
        return query(postgres?.superuserUri ?? '', 'SELECT 1 AS one');
      },
      { what: 'the server to be back' },
    );
    expect(answer).toEqual([{ one: 1 }]);
  });
});

describe('a cluster of another major version', () => {
  const dataDir = temporaryFolder();

  it('stops the start with words instead of an empty database', async () => {
    mkdirSync(join(dataDir, 'postgres', 'data-17'), { recursive: true });
    writeFileSync(join(dataDir, 'postgres', 'data-17', 'PG_VERSION'), '17\n');
    const starting = startEmbeddedPostgres({ dataDir, port: 0, log, clock: systemClock });
    await expect(starting).rejects.toThrow(
      /made by PostgreSQL 17.*brings PostgreSQL 18.*Nothing was changed/,
    );
    expect(existsSync(join(dataDir, 'postgres', 'data-18'))).toBe(false);
  });
});

describe('a database folder outside of its data folder', () => {
  const place = join(temporaryFolder(), 'place');
  const noted = join(place, 'postgres');

  const folders = temporaryFolder();

  function dataFolder(): string {
    const folder = mkdtempSync(join(folders, 'data-'));
    writeFileSync(join(folder, 'postgres.location'), `${noted}\n`);
    return folder;
  }

  it('stops the start with words when it was not copied along', () => {
    const folder = dataFolder();
    expect(() => locateData(folder, undefined)).toThrow(/which does not exist: copy that folder/);
  });

  it('follows a data folder that moved, and refuses its copy', () => {
    mkdirSync(noted, { recursive: true });
    const [original, copy] = [dataFolder(), dataFolder()];
    expect(locateData(original, undefined)).toBe(noted);
    expect(() => locateData(copy, undefined)).toThrow(/belong to .*, of which .* is a copy/);
    rmSync(original, { recursive: true });
    expect(locateData(copy, undefined)).toBe(noted);
  });

  it('leaves a folder alone that holds no databases', () => {
    const folder = dataFolder();
    const strange = join(place, 'strange');
    mkdirSync(strange);
    writeFileSync(join(strange, 'passwd'), '');
    symlinkSync(noted, join(place, 'way'));
    for (const path of [strange, join(place, 'way')]) {
      writeFileSync(join(folder, 'postgres.location'), path);
      const user = { name: 'nobody', uid: 65_534, gid: 65_534 };
      expect(() => locateData(folder, user)).toThrow(/names .*, which is no folder of databases/);
      expect(statSync(path).uid).toBe(process.getuid?.());
    }
  });
});

describe('a copy that is kept before a start', () => {
  const dataDir = temporaryFolder();

  it('holds the cluster as it was, and is made once', async () => {
    const copyTo = join(dataDir, 'backups', '0.0.9', 'postgres');
    const start = (more = {}) =>
      startEmbeddedPostgres({ dataDir, port: 0, log, clock: systemClock, ...more });
    const first = await start({ copyTo });
    const uri = await first.ensureDatabase({ database: 'kube', role: 'kube', connectionLimit: 3 });
    await query(uri, 'CREATE TABLE kept AS SELECT 42 AS answer');
    await first.stop();
    // nothing was there to be copied at the first start
    expect(existsSync(copyTo)).toBe(false);
    const second = await start({ copyTo });
    expect(existsSync(join(copyTo, 'PG_VERSION'))).toBe(true);
    const made = statSync(join(copyTo, 'PG_VERSION')).ino;
    await second.stop();
    const third = await start({ copyTo });
    expect(statSync(join(copyTo, 'PG_VERSION')).ino).toBe(made);
    await third.stop();
  });
});
