import { request } from 'node:http';
import { testPostgres, waitFor } from '#lib/testing';
import { ServerProcess } from '../testdata/start-server.js';
import { prepareDatabase } from '../testdata/store-fixture.js';

const postgres = testPostgres();
let uri: string;
let api: ServerProcess;
let queue: ServerProcess | undefined;

beforeAll(async () => {
  ({ uri } = await postgres.freshDatabase(prepareDatabase));
  api = await ServerProcess.start({ uri, env: { AGENTPLANE_ROLE: 'api' } });
});

afterAll(() => Promise.all([api?.stop('SIGKILL'), queue?.stop('SIGKILL')]));

/** The status that another machine would get. */
function statusElsewhere({ port }: ServerProcess, path: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path, localAddress: '127.0.0.2' }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    asked.on('error', reject).end();
  });
}

describe('servers that answer requests and servers that take runs', () => {
  it('leaves runs pending, with the reason, until a server takes them, and streams them then', async () => {
    const client = api.client();
    const { thread_id: threadId } = await client.threads.create();
    const { run_id: runId } = await client.runs.create(threadId, 'counter', { input: {} });
    const ticks: unknown[] = [];
    const stream = client.runs.stream(null, 'ticking', {
      input: { count: 20, waitMs: 20 },
      streamMode: 'custom',
    });
    const read = (async () => {
      for await (const { event, data } of stream)
        if (event === 'custom') ticks.push((data as { tick: number }).tick);
    })();
    const waited = client.runs.wait(null, 'counter', { input: {} });
    await waitFor(async () => {
      const metrics = await (await fetch(`${api.url}/metrics`)).text();
      return /^agentplane_agent_runs_queued(\{.*\})? 3$/m.test(metrics);
    });
    expect(await client.runs.get(threadId, runId)).toMatchObject({
      status: 'pending',
      waiting_for: 'server',
    });
    queue = await ServerProcess.start({ uri, env: { AGENTPLANE_ROLE: 'queue' } });
    await read;
    expect(ticks).toEqual(Array.from({ length: 20 }, (_none, tick) => tick));
    expect(await waited).toBeDefined();
    await client.runs.join(threadId, runId);
    expect(await client.runs.get(threadId, runId)).toMatchObject({ status: 'success' });
  });

  it('ends a run at the queue that is cancelled at the api', async () => {
    const client = api.client();
    const { thread_id: threadId } = await client.threads.create();
    const { run_id: runId } = await client.runs.create(threadId, 'ticking', {
      input: { count: 1000, waitMs: 50 },
    });
    await waitFor(async () => (await client.runs.get(threadId, runId)).status === 'running');
    await client.runs.cancel(threadId, runId, true);
    expect(await client.runs.get(threadId, runId)).toMatchObject({ status: 'interrupted' });
  });

  it('answers who waits for a run at the queue that ends in a moment, though the api stops', async () => {
    const other = await ServerProcess.start({ uri, env: { AGENTPLANE_ROLE: 'api' } });
    const client = other.client();
    const { thread_id: threadId } = await client.threads.create();
    const waited = client.runs.wait(threadId, 'ticking', { input: { count: 10, waitMs: 100 } });
    const arrived = async () => (await client.runs.list(threadId))[0]?.status === 'running';
    await Promise.all([waited, waitFor(arrived).then(() => other.stop())]);
    expect(await waited).toMatchObject({ said: 10 });
  });

  it('counts runs at the queue for those who decide how many queues there are', async () => {
    const client = api.client();
    const { thread_id: threadId } = await client.threads.create();
    const ticking = { input: { count: 1000, waitMs: 50 } };
    const [working] = [
      await client.runs.create(threadId, 'ticking', ticking),
      await client.runs.create(threadId, 'counter', { input: {} }), // behind the first
    ];
    const loadOf = async (server: ServerProcess | undefined): Promise<unknown> =>
      ((await (await fetch(`${server?.url}/ok?load=1`)).json()) as { load?: { places: number } }).load;
    await waitFor(async () => JSON.stringify(await loadOf(queue))?.includes('"at_work":1'));
    expect(await loadOf(queue)).toEqual({ waiting: 0, at_work: 1, places: expect.any(Number) as unknown });
    expect(await loadOf(api)).toBeUndefined();
    await client.runs.cancel(threadId, working?.run_id ?? '', true);
  });

  (process.platform === 'linux' ? it : it.skip)(
    'answers probes alone at the queue, and its own graphs',
    async () => {
      if (!queue) throw new Error('the queue is not up');
      const { url } = queue;
      const paths = ['/ok', '/info', '/metrics', '/threads/x', '/openapi.json', '/nothing'];
      const found = await Promise.all(
        paths.map((path) =>
          statusElsewhere({ ...queue, port: Number(new URL(url).port) } as ServerProcess, path),
        ),
      );
      expect(found).toEqual([200, 200, 200, 404, 404, 404]);
      expect((await fetch(`${url}/openapi.json`)).status).toBe(200);
    },
  );
});
