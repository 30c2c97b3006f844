import { Client } from '@langchain/langgraph-sdk';
import { itLong, testPostgres, waitFor } from '#lib/testing';
import { GUARDED_AGENT, ServerProcess } from '../testdata/start-server.js';
import { prepareDatabase } from '../testdata/store-fixture.js';

const postgres = testPostgres();

/** A server whose runs may take a second. */
const IMPATIENT = { BG_JOB_TIMEOUT_SECS: '1', MAX_RECURSION_LIMIT: '50' };
let impatient: ServerProcess;

beforeAll(async () => {
  impatient = await ServerProcess.start({
    uri: (await postgres.freshDatabase(prepareDatabase)).uri,
    env: IMPATIENT,
  });
});
afterAll(() => impatient?.stop('SIGKILL'));

describe('the time limit of runs', () => {
  it.each(['slow', 'stubborn'])(
    'ends a run of a graph that does not listen to its signal: %s',
    async (graph) => {
      const client = impatient.client();
      const { thread_id: threadId } = await client.threads.create();
      const run = await client.runs.create(threadId, graph, { input: { waitMs: 1_000_000 } });
      const join = await client.runs.join(threadId, run.run_id);
      expect(join).toEqual({
        __error__: {
          error: 'RunTimeout',
          message: expect.stringMatching(/time limit of 1 s; BG_JOB_TIMEOUT_SECS/),
        },
      });
      expect(await client.runs.get(threadId, run.run_id)).toMatchObject({ status: 'timeout' });
      expect(await client.threads.get(threadId)).toMatchObject({ status: 'error' });
      const next = await client.runs.wait(threadId, 'counter', { input: {} });
      expect(next).toMatchObject({ steps: ['step 1'] });
    },
  );

  itLong('counts the attempts of a run together', async () => {
    const { uri } = await postgres.freshDatabase(prepareDatabase);
    const env = { BG_JOB_TIMEOUT_SECS: '6', AGENTPLANE_RUN_LEASE_MS: '1000', AGENTPLANE_DRAIN_MS: '0' };
    let server = await ServerProcess.start({ uri, env });
    try {
      const { thread_id: threadId } = await server.client().threads.create();
      const { run_id: runId } = await server
        .client()
        .runs.create(threadId, 'slow', { input: { waitMs: 1_000_000 } });
      for (let attempt = 0; attempt < 2; attempt++) {
        await server.stop('SIGTERM');
        server = await ServerProcess.start({ uri, env });
      }
      await waitFor(async () => (await server.client().runs.get(threadId, runId)).status === 'timeout');
    } finally {
      await server.stop('SIGKILL');
    }
  });
});

describe('the limit of runs of an assistant', () => {
  it('holds at two servers, delays no other assistant, and is named by the runs that wait', async () => {
    const { uri } = await postgres.freshDatabase(prepareDatabase);
    const env = { MAX_RUNS_PER_ASSISTANT: '2' };
    const servers = await Promise.all([ServerProcess.start({ uri, env }), ServerProcess.start({ uri, env })]);
    const [first, second] = servers;
    try {
      const begin = async (server: ServerProcess) => {
        const { thread_id: threadId } = await server.client().threads.create();
        const input = { waitMs: 300 };
        const { run_id: runId } = await server.client().runs.create(threadId, 'slow', { input });
        return { threadId, runId };
      };
      const begun = await Promise.all([first, second, first, second, first, second].map(begin));
      const look = () =>
        Promise.all(begun.map(({ threadId, runId }) => first.client().runs.get(threadId, runId)));
      await waitFor(async () => (await look()).filter(({ status }) => status === 'running').length === 2);
      const waiting = (await look()).filter(({ status }) => status === 'pending');
      expect(waiting.length).toBeGreaterThan(0);
      for (const run of waiting) expect(run).toMatchObject({ waiting_for: 'assistant_limit' });
      expect(await second.client().runs.wait(null, 'counter', { input: {} })).toMatchObject({
        steps: ['step 1'],
      });
      let most = 0;
      await waitFor(async () => {
        const states = (await look()).map(({ status }) => status);
        most = Math.max(most, states.filter((status) => status === 'running').length);
        return states.every((status) => status === 'success');
      });
      expect(most).toBe(2);
    } finally {
      await Promise.all(servers.map((server) => server.stop('SIGKILL')));
    }
  });
});

describe('the limit of steps', () => {
  it('refuses a recursion_limit above its setting by name', async () => {
    const { assistants, runs, crons } = impatient.client();
    const wait = (limit: number) =>
      runs.wait(null, 'counter', { input: {}, config: { recursion_limit: limit } });
    await expect(wait(51)).rejects.toThrow(/recursion_limit.*must not be above 50; MAX_RECURSION_LIMIT/);
    expect(await wait(50)).toMatchObject({ steps: ['step 1'] });
    // nor by way of an assistant or a cron
    const config = { recursion_limit: 51 };
    const { assistant_id } = await assistants.create({ graphId: 'counter', config });
    await expect(runs.wait(null, assistant_id, { input: {} })).rejects.toThrow(/must not be above 50/);
    const cron = crons.create('counter', { schedule: '@yearly', input: {}, config });
    await expect(cron).rejects.toThrow(/must not be above 50/);
    const { cron_id } = await crons.create('counter', { schedule: '@yearly', input: {} });
    await expect(crons.update(cron_id, { config })).rejects.toThrow(/must not be above 50/);
  });
});

describe('a server', () => {
  itLong('gives ten places to runs that compute, and as many as they need to runs that wait', async () => {
    const server = await ServerProcess.start({ uri: (await postgres.freshDatabase(prepareDatabase)).uri });
    const read = async (name: string): Promise<number> => {
      const text = await (await fetch(`${server.url}/metrics`)).text();
      return Number(new RegExp(`^agentplane_agent_${name} (\\d+)`, 'm').exec(text)?.[1]);
    };
    try {
      const client = server.client();
      const input = { act: 'block:150' };
      let open = 24;
      const all = Array.from({ length: open }, () =>
        client.runs.wait(null, 'hostile', { input }).finally(() => open--),
      );
      const seen: number[] = [];
      while (open > 0) seen.push(await read('run_places'));
      await Promise.all(all);
      expect(Math.max(...seen)).toBe(10);

      for (let n = 0; n < 40; n++)
        await client.runs.create(null, 'ticking', { input: { count: 1, waitMs: 30_000 } });
      await waitFor(async () => (await read('runs_in_progress')) === 40);
    } finally {
      await server.stop('SIGKILL');
    }
  });
});

describe('a server with few places', () => {
  it('gives the next one to a caller without a run at work, however many runs another one has queued', async () => {
    const { uri } = await postgres.freshDatabase(prepareDatabase);
    const env = { N_JOBS_PER_WORKER: '2' };
    const server = await ServerProcess.start({ uri, folder: GUARDED_AGENT, env });
    try {
      const [alice, bob] = ['alice', 'bob'].map(
        (name) =>
          new Client({
            apiUrl: server.url,
            apiKey: null,
            defaultHeaders: { authorization: `Bearer ${name}` },
          }),
      );
      if (!alice || !bob) throw new Error('no clients');
      const begin = async (client: Client) => {
        const { thread_id: threadId } = await client.threads.create();
        const { run_id: runId } = await client.runs.create(threadId, 'slow', {
          input: { waitMs: 1_000_000 },
        });
        return async () => (await client.runs.get(threadId, runId)).status;
      };
      const alices: (() => Promise<string>)[] = [];
      for (let n = 0; n < 30; n++) alices.push(await begin(alice));
      const stillWaiting = async () => {
        const statuses = await Promise.all(alices.map((status) => status()));
        return statuses.filter((status) => status === 'pending').length;
      };
      await waitFor(async () => (await stillWaiting()) === 28);
      const bobs = await begin(bob);
      expect(await bobs()).toBe('pending');
      await alice.runs.cancelMany({ status: 'running' });
      await waitFor(async () => (await bobs()) === 'running');
      expect(await stillWaiting()).toBeGreaterThanOrEqual(27);
    } finally {
      await server.stop('SIGKILL');
    }
  });
});
