import { IDLE_HEADER, type IdleAnswer, readIdle } from '#lib/lifecycle';
import { digestIdleToken } from '#lib/resources';
import { waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { testServer } from '../testdata/test-server.js';

const TOKEN = '6f0c7b58-8a39-4f0e-9d3c-6f1f6c6f2a11';
const server = testServer({
  env: { AGENTPLANE_IDLE_TOKEN_SHA256: digestIdleToken(TOKEN), CRON_MIN_INTERVAL_SECONDS: '1' },
});

async function ask(how: 'ask' | 'close' = 'ask', token = TOKEN): Promise<IdleAnswer | undefined> {
  const answer = await fetch(`${server.url}/ok?idle=${how}`, { headers: { [IDLE_HEADER]: token } });
  return readIdle(await answer.json());
}

async function isIdle(): Promise<void> {
  await waitFor(async () => {
    const answer = await ask();
    return answer?.isBusy === false && answer.idleMs > 0;
  });
}

describe('a probe', () => {
  it('checks the database on request', async () => {
    const answer = await fetch(`${server.url}/ok?check_db=1`);
    expect(await answer.json()).toEqual({ ok: true, services: { database: 'healthy' } });
  });
});

describe('idleness of a server', () => {
  afterEach(async () => {
    await ask();
    const client = server.client();
    for (const { cron_id: cronId } of await client.crons.search()) await client.crons.delete(cronId);
    for (const { thread_id: threadId } of await client.threads.search())
      await client.threads.delete(threadId);
  });

  it('answers callers with the token alone', async () => {
    for (const token of ['', 'x', `${TOKEN}x`, TOKEN.replace('6', '7'), digestIdleToken(TOKEN)])
      expect(await ask('close', token)).toBeUndefined();
    expect((await fetch(`${server.url}/info`)).status).toBe(200);
    await server.client().threads.search();
  });

  it('grows while probes alone arrive, and begins anew with a request', async () => {
    await server.client().threads.search();
    await waitFor(async () => {
      for (const path of ['/ok', '/info']) await fetch(server.url + path);
      return ((await ask())?.idleMs ?? 0) > 300;
    });
    const beforeMs = performance.now();
    await server.client().threads.search();
    const idleMs = (await ask())?.idleMs;
    expect(idleMs).toBeLessThanOrEqual(performance.now() - beforeMs);
  });

  it('refuses to close while a stream is open, and while a run without readers is at work', async () => {
    const client = server.client();
    const stream = client.runs.stream(null, 'ticking', { input: { count: 100, waitMs: 20 } });
    await stream.next();
    expect(await ask('close')).toMatchObject({ idleMs: 0, isBusy: true, isClosed: false });
    await stream.return(undefined);
    const { thread_id: threadId } = await client.threads.create();
    const { run_id: runId } = await client.runs.create(threadId, 'ticking', {
      input: { count: 1000, waitMs: 20 },
    });
    await waitFor(async () => (await client.runs.get(threadId, runId)).status === 'running');
    expect(await ask('close')).toMatchObject({ isBusy: true, isClosed: false });
    await client.runs.cancel(threadId, runId, true);
    for (const run of await client.runs.list(threadId)) await client.runs.delete(threadId, run.run_id);
  });

  it('refuses requests once it is closed, answers probes, and opens when it is asked again', async () => {
    await isIdle();
    expect(await ask('close')).toMatchObject({ isBusy: false, workInMs: undefined, isClosed: true });
    const refused = await fetch(`${server.url}/threads`, { method: 'POST' });
    expect([refused.status, refused.headers.get('connection')]).toEqual([503, 'close']);
    expect(await refused.json()).toEqual({ detail: 'The deployment is idle and going to sleep; retry' });
    expect((await fetch(`${server.url}/ok`)).status).toBe(200);
    expect((await ask())?.isClosed).toBe(false);
    await server.client().threads.search();
  });

  it('ends with the next delayed run, and refuses to close shortly before it', async () => {
    const client = server.client();
    const { thread_id: threadId } = await client.threads.create();
    await client.runs.create(threadId, 'counter', { input: {}, afterSeconds: 100 });
    await isIdle();
    const { workInMs = 0, isClosed } = (await ask('close')) ?? {};
    expect(isClosed).toBe(true);
    expect(workInMs).toBeGreaterThan(90_000);
    expect(workInMs).toBeLessThanOrEqual(100_000);
    await ask();
    await client.runs.create(threadId, 'counter', { input: {}, afterSeconds: 8 });
    await waitFor(async () => ((await ask())?.idleMs ?? 0) > 0);
    expect(await ask('close')).toMatchObject({ isBusy: true, isClosed: false });
  });

  it('ends with the next cron that is enabled', async () => {
    const { crons } = server.client();
    const inSeconds = (seconds: number): string => {
      const at = new Date(systemClock.now().getTime() + seconds * 1000);
      return `${at.getUTCSeconds()} ${at.getUTCMinutes()} ${at.getUTCHours()} * * *`;
    };
    await crons.create('counter', { schedule: inSeconds(1000), input: {} });
    const sooner = await crons.create('counter', { schedule: inSeconds(100), input: {} });
    await isIdle();
    expect((await ask())?.workInMs).toBeLessThanOrEqual(100_000);
    await crons.update((sooner as unknown as { cron_id: string }).cron_id, { enabled: false });
    expect((await ask())?.workInMs).toBeGreaterThan(900_000);
  });

  it('ends once an hour at most for threads that expire', async () => {
    const client = server.client();
    await client.threads.create({ ttl: { ttl: 5, strategy: 'delete' } });
    await isIdle();
    expect((await ask())?.workInMs).toBe(3_600_000);
  });
});
