import { join } from 'node:path';
import { testPostgres, waitFor } from '#lib/testing';
import { ServerProcess } from '../testdata/start-server.js';
import { prepareDatabase } from '../testdata/store-fixture.js';

const folder = join(import.meta.dirname, '..', 'testdata', 'ending-agent');
const postgres = testPostgres();

it('reports that it is not ready when its agent ends the graph host again and again', async () => {
  const { uri } = await postgres.freshDatabase(prepareDatabase);
  const server = await ServerProcess.start({ uri, folder });
  try {
    const answer = await waitFor(
      async () => {
        const response = await fetch(`${server.url}/ok`);
        return response.status === 503 && ((await response.json()) as { detail: string });
      },
      { what: 'the answer' },
    );
    expect(answer.detail).toMatch(
      /^graph host ended \d+ times with nothing to do: graph host ended: signal SIGKILL/,
    );
  } finally {
    await server.stop('SIGKILL');
  }
});
