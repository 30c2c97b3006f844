import pg from 'pg';
import { encryptPostgres, selfSigned, testPostgres, waitFor } from '#lib/testing';
import { ServerProcess } from '../testdata/start-server.js';
import { prepareDatabase } from '../testdata/store-fixture.js';

const postgres = testPostgres();

describe('a server whose database has a certificate of an authority of its own', () => {
  it('trusts it by AGENTPLANE_TRUSTED_CA', async () => {
    const own = await selfSigned();
    await encryptPostgres(postgres.uri, own);
    const { uri } = await postgres.freshDatabase(prepareDatabase);
    const verified = `${uri}?sslmode=verify-full`;
    const connect = async (ca?: string): Promise<void> => {
      const client = new pg.Client({
        connectionString: ca === undefined ? verified : uri,
        ...(ca === undefined ? {} : { ssl: { ca } }),
      });
      await client.connect();
      await client.end();
    };
    // the settings of a server are reloaded in the background
    await waitFor(() =>
      connect(own.certificate).then(
        () => true,
        () => false,
      ),
    );
    await expect(connect()).rejects.toThrow(/self-signed certificate/);
    const server = await ServerProcess.start({
      uri: verified,
      env: { AGENTPLANE_TRUSTED_CA: own.certificate },
    });
    try {
      const answer = await fetch(`${server.url}/ok`);
      expect([answer.status, await answer.json()]).toEqual([200, { ok: true }]);
      const client = new pg.Client({ connectionString: uri });
      await client.connect();
      const { rows } = await client.query(
        'SELECT DISTINCT s.ssl FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid) WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()',
      );
      await client.end();
      expect(rows).toEqual([{ ssl: true }]);
    } finally {
      await server.stop('SIGKILL');
    }
  });
});
