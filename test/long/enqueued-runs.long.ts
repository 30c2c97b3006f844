import { openPool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { testPostgres, waitFor } from '#lib/testing';
import { ServerProcess } from '../../apps/agent-server/testdata/start-server.js';

const RUNS = 2_000;
const THREADS = 100;
const CALLERS = 8;
/** After a refusal. */
const PAUSE_MS = 100;
const STEPS = ['first', 'second', 'third'];

interface Counted {
  readonly thread_id: string;
  readonly steps: readonly string[];
  readonly runs: number;
}

/** One of three servers after the other dies by SIGKILL while runs of three steps are enqueued; then all are counted. */
describe('a queue whose servers are killed in a loop', () => {
  const postgres = testPostgres();

  it(`loses none of ${RUNS} runs and commits none twice`, async () => {
    const { uri } = await postgres.freshDatabase();
    const pool = openPool({ uri, applicationName: 'test', log: createLogger('test', 'silent') });
    const env = { AGENTPLANE_RUN_LEASE_MS: '2000', AGENTPLANE_RUN_MAX_TAKEOVERS: '20' };
    const start = () => ServerProcess.start({ uri, env });
    const servers = await Promise.all([start(), start(), start()]);
    const threads = await Promise.all(
      Array.from({ length: THREADS }, async () => (await first(servers).client().threads.create()).thread_id),
    );
    const acknowledged: string[] = [];
    let [asked, refused, killed, isOver] = [0, 0, 0, false];
    const beganMs = performance.now();

    async function kill(): Promise<void> {
      while (!isOver) {
        const at = killed++ % servers.length;
        await servers[at]?.stop('SIGKILL');
        servers[at] = await start();
      }
    }
    async function call(): Promise<void> {
      while (acknowledged.length < RUNS) {
        const at = asked++;
        const server = servers[at % servers.length] ?? first(servers);
        try {
          const { run_id: id } = await server.client().runs.create(threads[at % THREADS] ?? '', 'slow', {
            input: { waitMs: 20 },
            multitaskStrategy: 'enqueue',
          });
          acknowledged.push(id);
        } catch {
          refused++; // whether it was made is not known: it counts by its row
          await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
        }
      }
    }

    try {
      const killing = kill();
      await Promise.all(Array.from({ length: CALLERS }, call));
      const query = async <T extends object>(text: string, values: unknown[] = []): Promise<T[]> =>
        (await pool.query<T>(text, values)).rows;
      const unfinished = (): Promise<object[]> =>
        query(`SELECT 1 FROM agentplane.runs WHERE status IN ('pending', 'running') LIMIT 1`);
      await waitFor(async () => (await unfinished()).length === 0, { timeoutMs: 600_000, intervalMs: 500 });
      isOver = true;
      await killing;
      const [lost] = await query<{ found: number }>(
        `SELECT count(*)::int AS found FROM unnest($1::uuid[]) AS id
        WHERE NOT EXISTS (SELECT 1 FROM agentplane.runs r WHERE r.run_id = id AND r.status = 'success')`,
        [acknowledged],
      );
      const counted = await query<Counted>(
        `SELECT t.thread_id, t.values -> 'steps' AS steps,
          (SELECT count(*) FROM agentplane.runs r WHERE r.thread_id = t.thread_id AND r.status = 'success')::int AS runs
        FROM agentplane.threads t`,
      );
      process.stderr.write(
        `${JSON.stringify({ killed, acknowledged: acknowledged.length, refused, lost: lost?.found, tookMs: Math.round(performance.now() - beganMs) })}\n`,
      );
      expect(lost).toEqual({ found: 0 });
      for (const { steps, runs } of counted)
        expect(steps).toEqual(Array.from({ length: runs }, () => STEPS).flat());
      expect(counted.reduce((sum, { runs }) => sum + runs, 0)).toBeGreaterThanOrEqual(acknowledged.length);
    } finally {
      isOver = true;
      await Promise.all(servers.map((server) => server.stop('SIGKILL')));
      await pool.end();
    }
  });
});

function first(servers: readonly ServerProcess[]): ServerProcess {
  const [server] = servers;
  if (!server) throw new Error('no server was started');
  return server;
}
