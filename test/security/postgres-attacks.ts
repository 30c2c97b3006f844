import pg from 'pg';
import { databaseSecretName, RESOURCES, SECRETS } from '#lib/resources';
import { waitFor } from '#lib/testing';
import type { Arena, FindArena } from './arena.js';
import type { Tenant } from './tenant.js';

/** The address of a deployment's database, as its agent has it in its environment. */
async function databaseOf({ kube }: Arena, { namespace, project }: Tenant): Promise<string> {
  const { items } = await kube.list(RESOURCES.AgentDeployment, { namespace });
  const name = items.find(({ spec }) => spec.name === project)?.metadata.name ?? '';
  const { data } = await kube.get(SECRETS, { namespace, name: databaseSecretName(name) });
  return Buffer.from(data?.['POSTGRES_URI'] ?? '', 'base64').toString();
}

/** The error code of a statement, or `accepted` with what it answered. */
async function outcome(uri: string, sql?: string): Promise<string> {
  const client = new pg.Client({ connectionString: uri, connectionTimeoutMillis: 30_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    if (sql === undefined) return 'accepted';
    return `accepted: ${JSON.stringify((await client.query(sql)).rows ?? [])}`;
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

const DENIED = '42501';
/** Statements of the role of an agent, and what may come of them. */
const STATEMENTS: readonly (readonly [string, string, readonly string[]])[] = [
  ['reads a file', "SELECT pg_read_file('/etc/passwd')", [DENIED]],
  ['reads a file as bytes', "SELECT pg_read_binary_file('/etc/passwd')", [DENIED]],
  ['lists a folder', "SELECT pg_ls_dir('.')", [DENIED]],
  ['runs a program', "CREATE TEMP TABLE t (x text); COPY t FROM PROGRAM 'id'", [DENIED]],
  ['writes through a program', "COPY (SELECT 1) TO PROGRAM 'cat'", [DENIED]],
  ['copies from a file', "CREATE TEMP TABLE t (x text); COPY t FROM '/etc/passwd'", [DENIED]],
  ['copies to a file', "COPY (SELECT 1) TO '/tmp/agentplane-attack'", [DENIED]],
  ['imports a large object', "SELECT lo_import('/etc/passwd')", [DENIED]],
  ['exports a large object', "SELECT lo_export(lo_create(0), '/tmp/agentplane-attack')", [DENIED]],
  ['reads passwords', 'SELECT rolpassword FROM pg_authid', [DENIED]],
  ['reads passwords of users', 'SELECT passwd FROM pg_shadow', [DENIED]],
  ['makes a role', 'CREATE ROLE attack', [DENIED]],
  ['makes itself a superuser', 'ALTER ROLE CURRENT_USER SUPERUSER', [DENIED]],
  ['makes itself a maker of roles', 'ALTER ROLE CURRENT_USER CREATEROLE', [DENIED]],
  ['becomes the owner of the cluster', 'SET ROLE postgres', [DENIED]],
  ['becomes the platform', 'SET ROLE agentplane', [DENIED]],
  ['becomes another session', 'SET SESSION AUTHORIZATION postgres', [DENIED]],
  ['joins a role', 'GRANT pg_read_all_data TO CURRENT_USER', [DENIED]],
  ['joins the files', 'GRANT pg_read_server_files TO CURRENT_USER', [DENIED]],
  ['makes a database', 'CREATE DATABASE attack', [DENIED]],
  ['drops a database', 'DROP DATABASE agentplane', [DENIED]],
  ['changes a database', 'ALTER DATABASE agentplane CONNECTION LIMIT 0', [DENIED]],
  ['changes the server', "ALTER SYSTEM SET log_statement = 'all'", [DENIED]],
  ['reloads the server', 'SELECT pg_reload_conf()', [DENIED]],
  ['makes a language', 'CREATE EXTENSION plpython3u', [DENIED, '0A000', '58P01']],
  ['makes a link', 'CREATE EXTENSION dblink', [DENIED, '0A000', '58P01']],
  ['reads through a wrapper', 'CREATE EXTENSION file_fdw', [DENIED, '0A000', '58P01']],
  ['loads a library', "LOAD '/tmp/attack.so'", [DENIED, '58P01']],
  ['makes a function in C', "CREATE FUNCTION f() RETURNS int AS '/tmp/a.so', 'f' LANGUAGE c", [DENIED]],
  [
    'makes a trigger on events',
    'CREATE EVENT TRIGGER e ON ddl_command_start EXECUTE FUNCTION x()',
    [DENIED, '42883'],
  ],
  ['makes a tablespace', "CREATE TABLESPACE t LOCATION '/tmp'", [DENIED]],
  ['reads the configuration of hosts', 'SELECT * FROM pg_hba_file_rules', [DENIED]],
  ['subscribes elsewhere', "CREATE SUBSCRIPTION s CONNECTION 'host=127.0.0.1' PUBLICATION p", [DENIED]],
];

/** Postgres: what the role of an agent can reach. */
export function attackPostgres(arena: FindArena): void {
  describe('Postgres', () => {
    let own: string;
    let other: string;
    beforeAll(async () => {
      own = await databaseOf(arena(), arena().attacker);
      other = await databaseOf(arena(), arena().victim);
    });

    const at = (change: (url: URL) => void): string => {
      const url = new URL(own);
      change(url);
      return url.href;
    };

    it('opens its own database to the role of an agent', async () => {
      expect(await outcome(own, 'SELECT 1 AS one')).toBe('accepted: [{"one":1}]');
    });

    it('opens no other database to it', async () => {
      const names = ['postgres', 'template1', 'template0', 'agentplane', 'kube', 'deployments'];
      for (const name of names) {
        const code = await outcome(at((url) => (url.pathname = `/${name}`)));
        // 3D000: none of that name; 55000: one that takes no connection
        expect([name, [DENIED, '3D000', '55000'].includes(code) ? 'refused' : code]).toEqual([
          name,
          'refused',
        ]);
      }
      expect(await outcome(at((url) => (url.pathname = new URL(other).pathname)))).toBe(DENIED);
    });

    it('refuses other passwords and roles', async () => {
      const wrong = [
        at((url) => (url.password = 'wrong')),
        at((url) => (url.password = '')),
        at((url) => (url.username = 'postgres')),
        at((url) => (url.username = 'agentplane')),
        at((url) => (url.username = new URL(other).username)),
      ];
      for (const uri of wrong) expect(await outcome(uri)).not.toMatch(/^accepted/);
    });

    it.each(STATEMENTS)('refuses a role of an agent that %s', async (_, sql, codes) => {
      const code = await outcome(own, sql);
      expect(codes.includes(code) ? 'refused' : code).toBe('refused');
    });

    it('ends no session of others and reads none of their statements', async () => {
      const client = new pg.Client({ connectionString: other });
      await client.connect();
      try {
        const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
        const pid = rows[0]?.pid ?? 0;
        for (const what of ['pg_terminate_backend', 'pg_cancel_backend'])
          expect(await outcome(own, `SELECT ${what}(${pid})`)).toBe(DENIED);
        const seen = await outcome(own, `SELECT query FROM pg_stat_activity WHERE pid = ${pid}`);
        expect(seen).toMatch(/^accepted: \[(\{"query":"<insufficient privilege>"\})?\]$/);
        expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
      } finally {
        await client.end();
      }
    });

    it('leaves locks to others when one agent takes all', async () => {
      const client = new pg.Client({ connectionString: own });
      client.on('error', () => undefined);
      await client.connect();
      try {
        const taken = client.query('SELECT pg_advisory_lock(i) FROM generate_series(1, 300000) AS i');
        // all were taken, or the guard was faster
        await expect(taken).rejects.toMatchObject({ code: expect.stringMatching(/^(53200|57P01)$/) });
        await waitFor(async () => (await outcome(other, 'SELECT 1 AS one')) === 'accepted: [{"one":1}]');
        await waitFor(async () => (await arena().victim.rest.get('/sessions')).status === 200);
        await expect(client.query('SELECT 1')).rejects.toThrow();
      } finally {
        await client.end().catch(() => undefined);
      }
    });

    it('leaves connections to others when one agent takes all it gets', async () => {
      const clients = Array.from({ length: 60 }, () => new pg.Client({ connectionString: own }));
      for (const client of clients) client.on('error', () => undefined);
      try {
        const opened = await Promise.allSettled(clients.map((client) => client.connect()));
        const refused = opened.filter(({ status }) => status === 'rejected');
        expect(refused.length).toBeGreaterThan(0);
        expect(refused.map((one) => (one as { reason: { code?: string } }).reason.code)).toEqual(
          refused.map(() => '53300'),
        );
        expect(await outcome(other, 'SELECT 1 AS one')).toBe('accepted: [{"one":1}]');
        expect((await arena().victim.rest.get('/sessions')).status).toBe(200);
      } finally {
        await Promise.allSettled(clients.map((client) => client.end()));
      }
    });
  });
}
