import { openPool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { postgresProcesses, testPostgres, waitFor } from '#lib/testing';
import { prepareKube, prepareStore, runApi } from './testdata/running-api.js';

const postgres = testPostgres();
const stopped = testPostgres({ ownServer: true });

describe('an api whose Postgres is stopped', () => {
  it('answers requests with 503 and Retry-After in place of waiting, and serves once it continues', async () => {
    const { uri } = await stopped.freshDatabase(prepareStore);
    const log = createLogger('test', 'silent');
    const pool = openPool({ uri, applicationName: 'test', log });
    const api = await runApi(uri, (await postgres.freshDatabase(prepareKube)).uri, { log });
    const server = await postgresProcesses(pool);
    try {
      const { key } = await api.workspace();
      const ask = () => fetch(`${api.url}/sessions`, { headers: { 'x-api-key': key } });
      expect((await ask()).status).toBe(200);
      server.signal('SIGSTOP');
      const answers = await Promise.all(Array.from({ length: 12 }, ask));
      expect(answers.map((answer) => [answer.status, answer.headers.get('retry-after')])).toEqual(
        Array.from(answers, () => [503, '2']),
      );
      server.signal('SIGCONT');
      await waitFor(async () => (await ask()).status === 200);
    } finally {
      server.signal('SIGCONT');
      await api.stop();
      await pool.end();
    }
  });
});
