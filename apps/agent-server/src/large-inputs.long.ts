import { openPool, type Pool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { testPostgres, waitFor } from '#lib/testing';
import { ServerProcess } from '../testdata/start-server.js';

const postgres = testPostgres();
let server: ServerProcess;
let pool: Pool;

/** SQL of inputs that are 300 MB each once they are parsed. */
const FEW_BYTES_MANY_VALUES = `('{"input": [' || repeat('{},', 5000000) || '{}], "stream_mode": ["values"], "caller": {"a": 1}}')::json`;
const RUNS = 4;

/** Runs as servers of an earlier version left them, which took bodies of any number of values. */
function insertRuns(columns: string, values: string): Promise<unknown> {
  return pool.query(
    `INSERT INTO agentplane.runs (run_id, thread_id, temporary, assistant_id, graph_id, multitask_strategy, metadata, kwargs,
      ${columns})
     SELECT gen_random_uuid(), gen_random_uuid(), true, gen_random_uuid(), 'of another revision', 'enqueue', '{}',
       ${FEW_BYTES_MANY_VALUES}, ${values} FROM generate_series(1, ${RUNS})`,
  );
}

beforeAll(async () => {
  const { uri } = await postgres.freshDatabase();
  pool = openPool({ uri, applicationName: 'test', log: createLogger('test', 'silent') });
  const env = { NODE_OPTIONS: '--max-old-space-size=256', AGENTPLANE_RUN_LEASE_MS: '1000' };
  server = await ServerProcess.start({ uri, env });
});

afterAll(() => Promise.all([server?.stop(), pool?.end()]));

describe('a server with 256 MB and runs whose inputs are larger', () => {
  it('calls the webhooks of those that have ended', async () => {
    await pool.query(
      `INSERT INTO agentplane.webhooks (run_id, thread_id, temporary, metadata, url, run)
       SELECT gen_random_uuid(), gen_random_uuid(), true, '{}', 'http://127.0.0.1:1/',
         json_build_object('kwargs', ${FEW_BYTES_MANY_VALUES}) FROM generate_series(1, ${RUNS})`,
    );
    const refused = async () =>
      (await pool.query(`SELECT FROM agentplane.webhooks WHERE state = 'failed'`)).rowCount;
    await waitFor(async () => (await refused()) === RUNS);
    expect(server.child.exitCode).toBeNull();
  });

  it('answers who reads the output of one', async () => {
    await insertRuns('status', `'success'`);
    const { rows } = await pool.query<{ run_id: string }>(
      `UPDATE agentplane.runs SET outline = '{"bytes": 15000000}' WHERE status = 'success' RETURNING run_id`,
    );
    const answers = await Promise.all(
      rows.map(({ run_id: id }) => fetch(`${server.url}/runs/${id}/join`).then(({ status }) => status)),
    );
    expect(answers).toEqual(rows.map(() => 200));
    expect(server.child.exitCode).toBeNull();
  });

  it('ends those that lost their servers too often', async () => {
    await insertRuns('status, takeovers, lease_until', `'running', 3, clock_timestamp()`);
    const left = async () =>
      (await pool.query(`SELECT FROM agentplane.runs WHERE status = 'running'`)).rowCount;
    await waitFor(async () => (await left()) === 0);
    expect((await fetch(`${server.url}/ok`)).status).toBe(200);
    expect(server.child.exitCode).toBeNull();
  });
});
