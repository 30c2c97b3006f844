import { openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { deploymentDatabases } from '#lib/deployment-database';
import { createLogger } from '#lib/telemetry';
import { temporaryFolder, waitFor } from '#lib/testing';
import { type Clock, systemClock } from '#lib/time';
import { Connections } from '../../testdata/connections.js';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../embedded-postgres.js';
import { removeData } from '../../testdata/remove-data.js';

/** Number of connections that three pods of an agent take. */
const THREE_PODS = 27;
/** A third of what all roles may have. */
const OF_ONE_ROLE = 59;

describe('a Postgres that workspaces share', () => {
  const dataDir = temporaryFolder();
  const logFile = join(temporaryFolder(), 'log');
  const connections = new Connections();
  let skippedMs = 0;
  /** Looks of the guard so far. */
  let looks = 0;
  const clock: Clock = {
    ...systemClock,
    monotonicMs: () => systemClock.monotonicMs() + skippedMs,
    after: (ms, callback) =>
      systemClock.after(Math.min(ms, 200), () => {
        looks++;
        callback();
      }),
  };
  let postgres: EmbeddedPostgres;
  let adminUri = '';

  const someLooks = (): Promise<boolean> => {
    const before = looks;
    return waitFor(() => looks >= before + 5);
  };
  const logged = (): string => readFileSync(logFile, 'utf8');
  const limitsOf = async (pattern: string): Promise<unknown[]> =>
    (
      await connections.query(
        postgres.superuserUri,
        `SELECT rolconnlimit FROM pg_roles WHERE rolname LIKE '${pattern}' ORDER BY rolname`,
      )
    ).map(({ rolconnlimit }) => rolconnlimit);

  async function deploy(name: string, workspace: string): Promise<string> {
    const { uri, connections: given } = await deploymentDatabases.ensure({
      adminUri,
      name,
      workspace,
      maxConnections: 10_000,
    });
    expect(given).toBe(OF_ONE_ROLE);
    return uri;
  }

  /** Holds all it gets, again and again, until it is aborted. */
  async function takeAll(uri: string, signal: AbortSignal): Promise<void> {
    const held = new Set<pg.Client>();
    while (!signal.aborted) {
      const client = new pg.Client({ connectionString: uri });
      client.on('error', () => held.delete(client)).on('end', () => held.delete(client));
      await client.connect().then(
        () => held.add(client),
        () => systemClock.sleep(20),
      );
    }
    await Promise.all([...held].map((client) => client.end().catch(() => undefined)));
  }

  beforeAll(async () => {
    const log = createLogger('test', 'info', openSync(logFile, 'a'));
    const platformRoles = { deployments: 5 };
    postgres = await startEmbeddedPostgres({ dataDir, port: 0, log, clock, platformRoles });
    adminUri = await postgres.ensureAdministrator({ role: 'deployments', connectionLimit: 5 });
  });

  afterAll(async () => {
    await connections.close();
    await postgres.stop();
    removeData(dataDir);
  });

  it('leaves enough for a new deployment of another workspace while one takes all it gets', async () => {
    const uris = await Promise.all(
      ['greedy_1', 'greedy_2', 'greedy_3', 'greedy_4'].map((name) => deploy(name, 'greedy')),
    );
    const end = new AbortController();
    const taking = uris.map((uri) => takeAll(uri, end.signal));
    try {
      const held = async (): Promise<number> =>
        (
          await connections.query(
            postgres.superuserUri,
            `SELECT FROM pg_stat_activity WHERE usename LIKE 'greedy%'`,
          )
        ).length;
      await waitFor(async () => (await held()) > 140, { what: 'all to be taken' });

      const uri = await deploy('modest', 'modest');
      const own: pg.Client[] = [];
      while (own.length < THREE_PODS) own.push(await waitFor(() => connections.to(uri)));
      // and keeps them, while the others continue
      await someLooks();
      for (const client of own) await client.query('SELECT 1');
      expect(await held()).toBeGreaterThan(60);
      expect(logged()).toMatch(/"roles":\["greedy_/);
    } finally {
      end.abort();
      await Promise.all(taking);
    }
    skippedMs += 61_000;
    await waitFor(async () => (await limitsOf('greedy%')).every((limit) => limit === OF_ONE_ROLE));
  });

  it('gives all connections to one workspace while no other has a role', async () => {
    for (const name of ['greedy_1', 'greedy_2', 'greedy_3', 'greedy_4', 'modest'])
      await deploymentDatabases.drop({ adminUri, name });
    const held: number[] = [];
    for (const name of ['only_1', 'only_2', 'only_3', 'only_4'])
      held.push(await connections.fill(await deploy(name, 'only'), OF_ONE_ROLE));
    await someLooks();
    expect(await limitsOf('only%')).toEqual([OF_ONE_ROLE, OF_ONE_ROLE, OF_ONE_ROLE, OF_ONE_ROLE]);
    expect(held.reduce((sum, one) => sum + one, 0)).toBeGreaterThan(160);
  });
});
