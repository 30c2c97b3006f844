import { beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { testPostgres } from '#lib/testing';
import { deploymentDatabases } from './deployment-database-server.js';

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

  beforeAll(async () => {
    await query(postgres.uri, `CREATE ROLE maker LOGIN CREATEDB CREATEROLE PASSWORD 'secret'`);
    const uri = new URL(postgres.uri);
    uri.username = 'maker';
    uri.password = 'secret';
    adminUri = uri.toString();
  });

  it('makes one, and a second time changes its password', async () => {
    await deploymentDatabases.ensure({ adminUri, name: 'dep_one', password: 'first' });
    const { uri } = await deploymentDatabases.ensure({ adminUri, name: 'dep_one', password: 'second' });
    await query(uri, 'CREATE TABLE notes (id int)');
    const [role] = await query(
      uri,
      `SELECT rolsuper, rolcreatedb, rolcreaterole FROM pg_roles WHERE rolname = current_user`,
    );
    expect(role).toEqual({ rolsuper: false, rolcreatedb: false, rolcreaterole: false });
    await expect(query(uri.replace('second', 'first'), 'SELECT 1')).rejects.toThrow(/password/);
  });

  it('removes it with everything in it, and does nothing when it is gone', async () => {
    await deploymentDatabases.ensure({ adminUri, name: 'dep_two' });
    await deploymentDatabases.drop({ adminUri, name: 'dep_two' });
    await deploymentDatabases.drop({ adminUri, name: 'dep_two' });
    expect(await query(postgres.uri, `SELECT 1 FROM pg_roles WHERE rolname = 'dep_two'`)).toEqual([]);
  });
});
