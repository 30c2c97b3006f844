import { openPool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { postgresProcesses, testPostgres, temporaryFolder, waitFor } from '#lib/testing';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseProxy } from '../testdata/database-proxy.js';
import { ServerProcess } from '../testdata/start-server.js';

const postgres = testPostgres();
const folder = temporaryFolder();
let proxy: DatabaseProxy;
let server: ServerProcess;
let files = 0;

beforeAll(async () => {
  proxy = await DatabaseProxy.start((await postgres.freshDatabase()).uri);
  server = await ServerProcess.start({ uri: proxy.uri });
});

afterAll(async () => {
  await server?.stop();
  await proxy?.stop();
});

/** A run that has begun its first step. */
async function begun(waitMs: number): Promise<{ threadId: string; runId: string; file: string }> {
  const file = join(folder, String(files++));
  const { thread_id: threadId } = await server.client().threads.create();
  const { run_id: runId } = await server.client().runs.create(threadId, 'slow', { input: { waitMs, file } });
  await reached(file, 'first');
  return { threadId, runId, file };
}

function stepsIn(file: string): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
}

function reached(file: string, step: string): Promise<boolean> {
  return waitFor(() => stepsIn(file).some((line) => line.startsWith(step)));
}

/** Cuts the way to the database until something holds and the server has tried to connect again several times. */
async function cutUntil<T>(probe: () => T | Promise<T>) {
  proxy.cut();
  const refused = proxy.refused + 3;
  const answer = await waitFor(() => proxy.refused >= refused && probe());
  proxy.mend();
  return answer;
}

async function expectDoneOnce({ threadId, runId, file }: Awaited<ReturnType<typeof begun>>): Promise<void> {
  const client = server.client();
  await waitFor(async () => (await client.runs.get(threadId, runId)).status === 'success');
  expect(stepsIn(file).map((line) => line.split(' ')[0])).toEqual(['first', 'second', 'third']);
  const { values } = await client.threads.getState<{ steps: string[] }>(threadId);
  expect(values.steps).toEqual(['first', 'second', 'third']);
}

describe('an unavailable database', () => {
  it('lets runs at work continue, with nothing lost or done twice', async () => {
    const run = await begun(200);
    await cutUntil(() => stepsIn(run.file).length > 1);
    await expectDoneOnce(run);
  });

  it('delays the end of a run until it is back', async () => {
    const run = await begun(50);
    await reached(run.file, 'third');
    await cutUntil(() => true);
    await expectDoneOnce(run);
  });

  it('fails no run that reads its state or the store just then', async () => {
    const client = server.client();
    const threads = await Promise.all(Array.from({ length: 40 }, () => client.threads.create()));
    const runs = await Promise.all(
      threads.map(async ({ thread_id: threadId }) => {
        const { run_id: runId } = await client.runs.create(threadId, 'remembering', {
          input: { word: threadId },
        });
        return { threadId, runId };
      }),
    );
    const statuses = (): Promise<string[]> =>
      Promise.all(runs.map(async ({ threadId, runId }) => (await client.runs.get(threadId, runId)).status));
    for (let breaks = 0; breaks < 20; breaks++) {
      const answers = proxy.answers;
      await waitFor(() => proxy.answers > answers + 5); // some of them get on
      proxy.cut();
      proxy.mend();
    }
    const isOver = async (): Promise<boolean> =>
      (await statuses()).every((status) => status !== 'pending' && status !== 'running');
    await waitFor(isOver);
    expect(new Set(await statuses())).toEqual(new Set(['success']));
  });

  it('gives a run without a thread to who waits for it, although the answer to its end is lost', async () => {
    const client = server.client();
    proxy.loseAnswerTo('end-temporary-runs');
    expect(await client.runs.wait(null, 'counter', { input: {} })).toMatchObject({ steps: ['step 1'] });
    expect(proxy.hasLostAnswer).toBe(true);
  });

  it('answers requests with 503, and those that wait for a run with its result', async () => {
    const client = server.client();
    const { thread_id } = await client.threads.create();
    const file = join(folder, String(files++));
    const values = client.runs.wait(thread_id, 'slow', { input: { waitMs: 500, file } });
    await reached(file, 'first');
    const answer = await cutUntil(async () => {
      const response = await fetch(`${server.url}/threads/${thread_id}`);
      return response.status === 200 ? undefined : response;
    });
    expect([answer.status, await answer.json()]).toEqual([503, { detail: expect.any(String) }]);
    expect(await values).toMatchObject({ steps: ['first', 'second', 'third'] });
    expect(await client.runs.wait(null, 'counter', { input: {} })).toMatchObject({ steps: ['step 1'] });
  });
});

describe('a database whose processes are stopped', () => {
  const stopped = testPostgres({ ownServer: true });

  it('lets requests fail with 503 and Retry-After within 5 s, and loses no run', async () => {
    const { uri } = await stopped.freshDatabase();
    const pool = openPool({ uri, applicationName: 'test', log: createLogger('test', 'silent') });
    const other = await ServerProcess.start({ uri });
    const processes = await postgresProcesses(pool);
    try {
      const client = other.client();
      const { thread_id: threadId } = await client.threads.create();
      const file = join(folder, String(files++));
      const run = client.runs.wait(threadId, 'slow', { input: { waitMs: 500, file } });
      await reached(file, 'first');
      processes.signal('SIGSTOP');
      const asks = [
        ['GET', `/threads/${threadId}`],
        ['GET', `/threads/${threadId}/state`],
        ['GET', `/threads/${threadId}/history`],
        ['POST', '/threads/search'],
        ['POST', '/threads'],
        ['POST', `/threads/${threadId}/runs`],
        ['POST', '/runs'],
        ['POST', '/store/items/search'],
      ] as const;
      const beganMs = performance.now();
      const answers = await Promise.all(
        asks.map(async ([method, path]) => {
          const body =
            method === 'GET' ? {} : { body: JSON.stringify({ assistant_id: 'counter', input: {} }) };
          const headers = { 'content-type': 'application/json' };
          const { status, headers: given } = await fetch(`${other.url}${path}`, { method, headers, ...body });
          return [method, path, status, given.get('retry-after')];
        }),
      );
      const tookMs = performance.now() - beganMs;
      expect(answers).toEqual(asks.map(([method, path]) => [method, path, 503, '1']));
      expect(tookMs).toBeLessThan(5_000);
      processes.signal('SIGCONT');
      expect(await run).toMatchObject({ steps: ['first', 'second', 'third'] });
      await waitFor(async () => (await fetch(`${other.url}/threads/${threadId}`)).status === 200);
      expect(await client.runs.wait(null, 'counter', { input: {} })).toMatchObject({ steps: ['step 1'] });
    } finally {
      processes.signal('SIGCONT');
      await other.stop();
      await pool.end();
    }
  });
});
