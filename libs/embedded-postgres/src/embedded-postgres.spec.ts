import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { findProcess, isRunning } from '#lib/process-identity';
import { createLogger } from '#lib/telemetry';
import { freePort, temporaryFolder, waitFor } from '#lib/testing';
import { type Clock, systemClock } from '#lib/time';
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
      const error: unknown = await query(uri.replace(/kube$/, 'other'), 'SELECT 1').catch((thrown) => thrown);
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
      { timeoutMs: 20_000, what: 'the server to be back' },
    );
    expect(answer).toEqual([{ one: 1 }]);
  });
});
