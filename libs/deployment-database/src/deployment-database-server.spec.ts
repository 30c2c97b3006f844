import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { TerminalError } from '#lib/errors';
import { testPostgres } from '#lib/testing';
import { deploymentDatabases } from './deployment-database-server.js';
import type { DeploymentDatabase } from './deployment-databases.js';
import { parseRoleNote } from './role-note.js';

describe('databases of deployments, made by an administrator that is no superuser', () => {
  const postgres = testPostgres();
  let adminUri = '';

  async function query(uri: string, text: string): Promise<unknown[]> {
    const client = new pg.Client({ connectionString: uri });
    await client.connect();
    try {
      return (await client.query(text)).rows;
    } finally {
      await client.end();
    }
  }

  const ensure = (
    request: Omit<Parameters<typeof deploymentDatabases.ensure>[0], 'workspace'>,
  ): Promise<DeploymentDatabase> => deploymentDatabases.ensure({ workspace: 'one', ...request });

  beforeAll(async () => {
    await query(postgres.uri, `CREATE ROLE maker LOGIN CREATEDB CREATEROLE PASSWORD 'secret'`);
    const uri = new URL(postgres.uri);
    uri.username = 'maker';
    uri.password = 'secret';
    adminUri = uri.toString();
  });

  it('makes a database, and changes its password when it is called again', async () => {
    await ensure({ adminUri, name: 'dep_one', password: 'first' });
    const { uri } = await ensure({ adminUri, name: 'dep_one', password: 'second' });
    await query(uri, 'CREATE TABLE notes (id int)');
    const [role] = await query(
      uri,
      `SELECT rolsuper, rolcreatedb, rolcreaterole FROM pg_roles WHERE rolname = current_user`,
    );
    expect(role).toEqual({ rolsuper: false, rolcreatedb: false, rolcreaterole: false });
    await expect(query(uri.replace('second', 'first'), 'SELECT 1')).rejects.toThrow(/password/);
  });

  it('demands of the server what the administrator demands of it', async () => {
    const demanding = { adminUri: `${adminUri}?require_auth=scram-sha-256`, name: 'dep_demanding' };
    const { uri } = await ensure(demanding);
    expect(uri).toMatch(/\/dep_demanding\?require_auth=scram-sha-256$/);
  });

  it('makes a database while another session holds template1', async () => {
    const holder = new pg.Client({ connectionString: postgres.uri.replace(/[^/]*$/, 'template1') });
    await holder.connect();
    try {
      const { uri } = await ensure({ adminUri, name: 'dep_held' });
      expect(await query(uri, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    } finally {
      await holder.end();
    }
  });

  it('closes the database of one deployment to the role of another', async () => {
    await ensure({ adminUri, name: 'dep_mine' });
    const { uri } = await ensure({ adminUri, name: 'dep_other' });
    await expect(query(uri.replace(/dep_other$/, 'dep_mine'), 'SELECT 1')).rejects.toThrow(
      /permission denied/,
    );
  });

  it('limits how long a session of the deployment may work or wait', async () => {
    const { uri } = await ensure({ adminUri, name: 'dep_limits' });
    expect(await query(uri, 'SHOW statement_timeout')).toEqual([{ statement_timeout: '5min' }]);
    expect(await query(uri, 'SHOW idle_in_transaction_session_timeout')).toEqual([
      { idle_in_transaction_session_timeout: '1min' },
    ]);
  });

  it('gives a role a third of the connections that the server has for all', async () => {
    const limitOf = async (name: string): Promise<unknown> =>
      query(postgres.uri, `SELECT rolconnlimit FROM pg_roles WHERE rolname = '${name}'`);
    const request = { adminUri, name: 'dep_many' };
    // of 100 less three of superusers
    const { connections } = await ensure({ ...request, maxConnections: 10_000 });
    expect([connections, await limitOf('dep_many')]).toEqual([32, [{ rolconnlimit: 32 }]]);
    const whole = await ensure({ ...request, isShared: false, maxConnections: 10_000 });
    expect([whole.connections, await limitOf('dep_many')]).toEqual([97, [{ rolconnlimit: 97 }]]);
    const fewer = await ensure({ ...request, maxConnections: 5 });
    expect([fewer.connections, await limitOf('dep_many')]).toEqual([5, [{ rolconnlimit: 5 }]]);
  });

  it('notes the workspace and the connections of a role, and leaves the comment of a person', async () => {
    const commentOf = async (name: string): Promise<string> =>
      JSON.stringify(
        await query(
          postgres.uri,
          `SELECT shobj_description(oid, 'pg_authid') AS comment FROM pg_roles WHERE rolname = '${name}'`,
        ),
      );
    const noteOf = async (name: string) =>
      parseRoleNote(/"comment":"(.*)"/.exec(await commentOf(name))?.[1] ?? '');
    for (const [name, workspace] of [
      ['dep_noted', 'first'],
      ['dep_beside', 'first'],
      ['dep_else', 'second'],
    ] as const)
      await deploymentDatabases.ensure({ adminUri, name, workspace, maxConnections: 7 });
    const noted = await noteOf('dep_noted');
    expect(noted).toMatchObject({ connections: 7, isSuspended: false });
    expect((await noteOf('dep_beside'))?.workspace).toBe(noted?.workspace);
    expect((await noteOf('dep_else'))?.workspace).not.toBe(noted?.workspace);
    await query(postgres.uri, `COMMENT ON ROLE dep_noted IS 'of a person'`);
    await ensure({ adminUri, name: 'dep_noted' });
    expect(await commentOf('dep_noted')).toContain('of a person');
  });

  it('lets a role in again that shut itself out', async () => {
    const request = { adminUri, name: 'dep_shut_out', password: 'known' };
    const { uri } = await ensure(request);
    await query(uri, `REVOKE CONNECT ON DATABASE dep_shut_out FROM dep_shut_out`);
    await query(
      postgres.uri,
      `ALTER ROLE dep_shut_out PASSWORD 'other'; ALTER DATABASE dep_shut_out ALLOW_CONNECTIONS false`,
    );
    await expect(query(uri, 'SELECT 1')).rejects.toThrow(/password authentication/);
    await ensure(request);
    expect(await query(uri, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('leaves a role suspended that may not log in', async () => {
    const request = { adminUri, name: 'dep_suspended' };
    await ensure(request);
    await query(postgres.uri, 'ALTER ROLE dep_suspended NOLOGIN');
    const { uri } = await ensure(request);
    await expect(query(uri, 'SELECT 1')).rejects.toThrow(/not permitted to log in/);
  });

  it('gives up a lock that another role of the server holds', async () => {
    await query(postgres.uri, `CREATE ROLE holder LOGIN PASSWORD 'held'`);
    const uri = new URL(adminUri);
    uri.username = 'holder';
    uri.password = 'held';
    const holder = new pg.Client({ connectionString: uri.toString() });
    await holder.connect();
    try {
      const lock = createHash('sha256').update('deployment database dep_locked').digest().readBigInt64BE(0);
      await holder.query(`SELECT pg_advisory_lock(${lock})`);
      await expect(ensure({ adminUri, name: 'dep_locked' })).rejects.toThrow(/lock timeout/);
    } finally {
      await holder.end();
    }
  });

  it('refuses names that belong to the platform, and those that Postgres would cut', async () => {
    for (const name of ['agentplane', 'postgres', '', 'x'.repeat(64)])
      await expect(ensure({ adminUri, name })).rejects.toThrow(TerminalError);
  });

  it('removes a database with everything in it, and accepts one that does not exist', async () => {
    await ensure({ adminUri, name: 'dep_two' });
    await deploymentDatabases.drop({ adminUri, name: 'dep_two' });
    await deploymentDatabases.drop({ adminUri, name: 'dep_two' });
    expect(await query(postgres.uri, `SELECT 1 FROM pg_roles WHERE rolname = 'dep_two'`)).toEqual([]);
  });

  it('makes one database of a name that needs quoting when two processes ask at once, and drops it in use', async () => {
    const name = 'agent "one" of ä';
    const request = { adminUri, name, password: 'p/w:1?' };
    const [{ uri }] = await Promise.all([ensure(request), ensure(request)]);
    const client = new pg.Client({ connectionString: uri });
    client.on('error', () => undefined);
    await client.connect();
    await client.query('CREATE SCHEMA agentplane');
    expect((await client.query('SELECT current_user AS u, current_database() AS d')).rows[0]).toEqual({
      u: name,
      d: name,
    });
    await deploymentDatabases.drop({ adminUri, name });
    await expect(client.query('SELECT 1')).rejects.toThrow();
    await client.end().catch(() => undefined);
    await expect(query(uri, 'SELECT 1')).rejects.toThrow();
  });
});

describe('a role on a server of the deployment alone', () => {
  const postgres = testPostgres();

  it('reaches its own database and no other', async () => {
    const request = { adminUri: postgres.uri, isShared: false, name: 'dep_own', workspace: 'one' };
    const { uri } = await deploymentDatabases.ensure(request);
    for (const [database, reached] of [
      ['dep_own', 'yes'],
      ['postgres', 'permission denied'],
      ['template1', 'permission denied'],
    ] as const) {
      const client = new pg.Client({ connectionString: uri.replace(/dep_own$/, database) });
      const found = await client.connect().then(
        () => 'yes',
        (error: Error) => error.message,
      );
      await client.end();
      expect(found).toContain(reached);
    }
  });
});
