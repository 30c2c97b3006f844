import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import { freePort, testPostgres, waitFor } from '#lib/testing';
import { ServerProcess } from '../testdata/start-server.js';
import { prepareDatabase } from '../testdata/store-fixture.js';

const TENANT = '11111111-1111-4111-8111-111111111111';
const postgres = testPostgres();

describe('a server whose platform restarts', () => {
  it('starts without it, and verifies a key once it is back, in either header', async () => {
    const port = await freePort();
    const server = await ServerProcess.start({
      uri: (await postgres.freshDatabase(prepareDatabase)).uri,
      env: {
        AGENTPLANE_AUTH: 'key',
        AGENTPLANE_AUTH_URL: `http://127.0.0.1:${port}`,
        AGENTPLANE_TENANT_ID: TENANT,
      },
    });
    let platform: Server | undefined;
    let refused = 0;
    let isBack = false;
    try {
      platform = createServer((_request, response) => {
        response.end(JSON.stringify({ tenant_id: TENANT, key_id: 'k1', scope: 'workspace' }));
      });
      platform.on('connection', (socket) => {
        if (isBack) return;
        refused++;
        socket.destroy();
      });
      await once(platform.listen(port, '127.0.0.1'), 'listening');
      const answer = fetch(`${server.url}/threads`, {
        method: 'POST',
        body: '{}',
        headers: { 'content-type': 'application/json', 'x-api-key': 'key' },
      });
      await waitFor(() => refused > 0);
      isBack = true;
      expect((await answer).status).toBe(200);
      const statusWith = async (authorization: string): Promise<number> =>
        (await fetch(`${server.url}/assistants/counter`, { headers: { authorization } })).status;
      expect(await statusWith('Bearer key')).toBe(200);
      expect(await statusWith('Basic key')).toBe(401);
    } finally {
      await server.stop('SIGKILL');
      platform?.close();
    }
  });
});
