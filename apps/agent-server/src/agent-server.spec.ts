import { testPostgres, temporaryFolder, waitFor } from '#lib/testing';
import type { Client } from '@langchain/langgraph-sdk';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { testDeltaThreads } from '../testdata/delta-threads.js';
import { testRefusedWrites } from '../testdata/refused-writes.js';
import { SAMPLE_AGENT, ServerProcess } from '../testdata/start-server.js';
import { prepareDatabase } from '../testdata/store-fixture.js';
import { endsRun, namesOf, threadEvents } from '../testdata/thread-events.js';

interface Event {
  readonly event: string;
  readonly data: unknown;
}

interface Steps {
  readonly steps: string[];
}

const postgres = testPostgres();
const folder = temporaryFolder();
let uri: string;
let server: ServerProcess;
let client: Client;

beforeAll(async () => {
  uri = (await postgres.freshDatabase(prepareDatabase)).uri;
  server = await ServerProcess.start({ uri });
  client = server.client();
});

afterAll(async () => {
  await server?.stop('SIGKILL');
});

async function collect(stream: AsyncIterable<unknown>): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of stream) events.push(event as Event);
  return events;
}

async function active(threadId: string): Promise<string[]> {
  return (await client.runs.list(threadId))
    .map((run) => run.status)
    .filter((s) => s === 'pending' || s === 'running');
}

describe('a run on a thread', () => {
  it('leaves no trace when it is rolled back', async () => {
    const { thread_id } = await client.threads.create();
    await client.runs.wait(thread_id, 'counter', { input: {} });
    const first = await client.runs.create(thread_id, 'slow', { input: { waitMs: 300 } });
    await waitFor(async () => (await client.threads.getState<Steps>(thread_id)).values.steps.length > 1);
    const values = await client.runs.wait(thread_id, 'counter', { input: {}, multitaskStrategy: 'rollback' });
    expect(values).toMatchObject({ steps: ['step 1', 'step 2'] });
    await expect(client.runs.get(thread_id, first.run_id)).rejects.toThrow(/404/);
  });

  it('leaves the checkpoint that it continued from as it was when it is rolled back', async () => {
    const { thread_id } = await client.threads.create();
    await client.runs.wait(thread_id, 'pondering', { input: { waitMs: 20_000 } });
    const before = await client.threads.get(thread_id);
    const first = await client.runs.create(thread_id, 'pondering', { command: { resume: 'rashly' } });
    await waitFor(async () => (await client.runs.get(thread_id, first.run_id)).status === 'running');
    await client.runs.cancel(thread_id, first.run_id, true, 'rollback');
    await expect(client.runs.get(thread_id, first.run_id)).rejects.toThrow(/404/);
    const after = await client.threads.get(thread_id);
    expect([after.status, after.interrupts]).toEqual(['interrupted', before.interrupts]);
    await client.threads.updateState(thread_id, { values: { waitMs: 1 }, asNode: '__start__' });
    expect(await client.runs.wait(thread_id, 'pondering', { command: { resume: 'wisely' } })).toMatchObject({
      steps: ['answer wisely'],
    });
  });

  it('ends its readers with an error when it is cancelled before it begins', async () => {
    const { thread_id } = await client.threads.create();
    let runId = '';
    const reading = collect(
      client.runs.stream(thread_id, 'counter', {
        input: {},
        afterSeconds: 1000,
        onRunCreated: ({ run_id }) => (runId = run_id),
      }),
    );
    await waitFor(() => runId !== '');
    await client.runs.cancel(thread_id, runId, true);
    expect(await reading).toMatchObject([{ event: 'error', data: { error: 'UserInterrupt' } }]);
  });

  it('leaves the thread as it was when it is cancelled before it begins', async () => {
    const { thread_id } = await client.threads.create();
    await client.runs.wait(thread_id, 'asking', { input: {} });
    const later = await client.runs.create(thread_id, 'counter', { input: {}, afterSeconds: 1000 });
    expect((await client.threads.get(thread_id)).status).toBe('busy');
    await client.runs.cancel(thread_id, later.run_id, true);
    expect((await client.threads.get(thread_id)).status).toBe('interrupted');
    expect((await client.runs.get(thread_id, later.run_id)).status).toBe('interrupted');
  });

  it('has the reason for which it was cancelled, the first of several', async () => {
    const { thread_id } = await client.threads.create();
    const reasonOf = async (runId: string): Promise<unknown> => {
      const run: object = await client.runs.get(thread_id, runId);
      return 'cancel_reason' in run && run.cancel_reason;
    };
    const cancel = (runId: string, query = '') =>
      fetch(`${server.url}/threads/${thread_id}/runs/${runId}/cancel?${query}`, { method: 'POST' });
    const slow = { input: { waitMs: 20_000 } };
    const working = await client.runs.create(thread_id, 'slow', slow);
    expect(await reasonOf(working.run_id)).toBeNull();
    const waiting = await client.runs.create(thread_id, 'slow', slow);
    expect((await cancel(waiting.run_id, `cancel_reason=${'x'.repeat(1_001)}`)).status).toBe(400);
    await cancel(waiting.run_id, 'cancel_reason=out%20of%20budget');
    expect(await reasonOf(waiting.run_id)).toBe('out of budget');
    const newer = await client.runs.create(thread_id, 'slow', { ...slow, multitaskStrategy: 'interrupt' });
    await cancel(working.run_id, 'wait=1&cancel_reason=later');
    expect(await reasonOf(working.run_id)).toBe('A newer run took its place');
    await cancel(newer.run_id, 'wait=1');
    expect(await reasonOf(newer.run_id)).toBe('Cancelled by request');
    const left = new AbortController();
    const url = `${server.url}/threads/${thread_id}/runs/stream`;
    const body = JSON.stringify({ assistant_id: 'slow', ...slow, on_disconnect: 'cancel' });
    const headers = { 'content-type': 'application/json' };
    const streamed = await fetch(url, { method: 'POST', headers, body, signal: left.signal });
    const [, leftRun = ''] = /runs\/(.*)$/.exec(streamed.headers.get('content-location') ?? '') ?? [];
    left.abort();
    await waitFor(async () => (await client.runs.get(thread_id, leftRun)).status === 'interrupted');
    expect(await reasonOf(leftRun)).toBe('The client disconnected');
  });

  it('stops soon when it is cancelled, though the node ignores the signal', async () => {
    const { thread_id } = await client.threads.create();
    const stream = collect(client.runs.stream(thread_id, 'slow', { input: { waitMs: 20_000 } }));
    const [run] = await waitFor(async () => {
      const runs = await client.runs.list(thread_id, { status: 'running' });
      return runs.length > 0 && runs;
    });
    await client.runs.cancel(thread_id, run?.run_id ?? '', true);
    expect((await client.runs.get(thread_id, run?.run_id ?? '')).status).toBe('interrupted');
    const last = (await stream).at(-1);
    expect(last).toMatchObject({ event: 'error', data: { error: 'UserInterrupt' } });
    expect(await active(thread_id)).toEqual([]);
  });
});

describe('a thread', () => {
  testDeltaThreads(() => server);
  testRefusedWrites(() => server);
});

it('cancels all runs that wait, of one thread or of every one', async () => {
  const delayed = { input: {}, afterSeconds: 3_600 };
  const [first, second] = [await client.threads.create(), await client.threads.create()];
  for (const { thread_id: id } of [first, second]) await client.runs.create(id, 'counter', delayed);
  await client.runs.cancelMany({ threadId: first.thread_id, status: 'pending' });
  expect((await client.runs.list(second.thread_id))[0]?.status).toBe('pending');
  await client.runs.cancelMany({ status: 'all', action: 'rollback' });
  expect(await client.runs.list(second.thread_id)).toEqual([]);
});

describe('the events of a thread', () => {
  it.each([
    ['counter', 'completed'],
    ['failing', 'failed'],
  ])('ends the run of %s as its row says when its output is lost', async (graph, end) => {
    const threadId = randomUUID();
    const other = await ServerProcess.start({ uri });
    const run = { assistant_id: graph, input: {} };
    await threadEvents(() => other.url).give(threadId, 'run.start', run);
    await waitFor(
      async () =>
        !['pending', 'running'].includes((await client.runs.list(threadId))[0]?.status ?? 'pending'),
    );
    other.child.kill('SIGKILL');
    const { eventsUntil } = threadEvents(() => server.url);
    const events = await eventsUntil(threadId, { channels: ['lifecycle'] }, endsRun);
    expect(namesOf(events).at(-1)).toBe(end);
    await other.stop();
  });
});

describe('a run without a thread', () => {
  it('refuses a body that names a thread', async () => {
    const { thread_id } = await client.threads.create();
    const run = { assistant_id: 'counter', input: {}, thread_id };
    const post = async (path: string, body: object): Promise<unknown> => {
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(server.url + path, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      });
      return [response.status, await response.text()];
    };
    const refusal = [422, expect.stringMatching(/thread_id.*is part of the path/)];
    for (const path of ['/runs', '/runs/wait', '/runs/stream'])
      expect(await post(path, run)).toEqual(refusal);
    expect(await post('/runs/batch', [run])).toEqual(refusal);
    expect(await client.runs.list(thread_id)).toEqual([]);
    expect(await post('/runs/wait', { ...run, thread_id: null })).toEqual([200, expect.any(String)]);
    expect(await post(`/threads/${thread_id}/runs/wait`, run)).toEqual([200, expect.any(String)]);
  });

  it('runs in the background too', async () => {
    const file = join(folder, 'background');
    await client.runs.create(null, 'slow', { input: { waitMs: 1, file } });
    await waitFor(() => readFileSync(file, 'utf8').trim().split('\n').length === 3);
  });

  it('ends also when there are more runs than places', async () => {
    const runs = Array.from({ length: 40 }, () => client.runs.wait(null, 'slow', { input: { waitMs: 5 } }));
    const values = await Promise.all(runs);
    expect(values.map((value) => (value as unknown as Steps).steps.length)).toEqual(
      Array<number>(40).fill(3),
    );
  });
});

describe('a graph', () => {
  it.each([
    ['made by a factory for each run', 'made', { configurable: { word: 'hello' } }, ['hello']],
    ['not compiled by its module', 'builder', {}, ['built']],
  ])('loads a graph %s', async (_title, graph, config, steps) => {
    expect(await client.runs.wait(null, graph, { input: {}, config })).toMatchObject({ steps });
  });
});

describe('the sample agent', () => {
  const seen: string[] = [];
  let store: Server;
  let sample: ServerProcess;

  beforeAll(async () => {
    store = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        if (request.method === 'POST') seen.push(Buffer.concat(parts).toString());
        response.setHeader('content-type', 'application/json').end('{}');
      });
    }).listen(0, '127.0.0.1');
    sample = await ServerProcess.start({
      uri: (await postgres.freshDatabase(prepareDatabase)).uri,
      folder: SAMPLE_AGENT,
      env: {
        LANGSMITH_TRACING: 'true',
        LANGSMITH_ENDPOINT: `http://127.0.0.1:${(store.address() as AddressInfo).port}`,
        LANGSMITH_API_KEY: 'key',
        LANGSMITH_PROJECT: 'sample',
      },
    });
  });

  afterAll(async () => {
    await sample?.stop('SIGKILL');
    store?.close();
  });

  it('calculates with its tool and streams its answer', async () => {
    const input = { messages: [{ role: 'user', content: 'What is 12 + 30?' }] };
    const values = (await sample.client().runs.wait(null, 'agent', { input })) as unknown as {
      messages: { type: string; content: string }[];
    };
    expect(values.messages.map((message) => message.type)).toEqual(['human', 'ai', 'tool', 'ai']);
    expect(values.messages.at(-1)?.content).toBe('The answer is 42.');
  });

  it('sends a trace under the id of its run while the server serves, or at the latest before it ends', async () => {
    const input = { messages: [{ role: 'user', content: 'hi' }] };
    const { runs, threads } = sample.client();
    const { thread_id } = await threads.create();
    const run = await runs.create(thread_id, 'agent', { input });
    await runs.join(thread_id, run.run_id);
    const first = await waitFor(() => seen.find((text) => text.includes(`"id":"${run.run_id}"`)));
    expect(first).toContain(`"thread_id":"${thread_id}"`);
    expect(first).toContain('"session_name":"sample"');
    const last = await runs.create(thread_id, 'agent', { input });
    await runs.join(thread_id, last.run_id);
    await sample.stop();
    expect(seen.some((text) => text.includes(`"id":"${last.run_id}"`))).toBe(true);
  });
});

describe('a server', () => {
  it('accepts keys of its own tenant that may call it, and no others', async () => {
    const own = { deployment: 'ours-1', project: 'ours' };
    const other = { deployment: 'ours', project: 'second' };
    const known: Record<string, object> = {
      workspace: { scope: 'workspace' },
      invoke: { scope: 'invoke' },
      own: { scope: 'deployment', ...own },
      other: { scope: 'deployment', ...other },
      nameless: { scope: 'deployment' },
      ingest: { scope: 'ingest' },
      read: { scope: 'read' },
      newer: { scope: 'all' },
      unscoped: {},
      theirs: { scope: 'workspace', tenant_id: 'another' },
      ending: { scope: 'workspace', expires_in_ms: 1 },
    };
    const tenant = '11111111-1111-4111-8111-111111111111';
    let asked = 0;
    const platform: Server = createServer((request, response) => {
      asked++;
      const key = request.headers['x-api-key'];
      if (key === 'down') return response.writeHead(500).end();
      if (key === 'wrong') return response.writeHead(401).end('{"detail":"no"}');
      return response.end(JSON.stringify({ tenant_id: tenant, key_id: 'k1', ...known[String(key)] }));
    }).listen(0, '127.0.0.1');
    const guarded = await ServerProcess.start({
      uri: (await postgres.freshDatabase(prepareDatabase)).uri,
      env: {
        AGENTPLANE_AUTH: 'key',
        AGENTPLANE_AUTH_URL: `http://127.0.0.1:${(platform.address() as AddressInfo).port}`,
        AGENTPLANE_TENANT_ID: tenant,
        AGENTPLANE_DEPLOYMENT: 'ours',
      },
    });
    try {
      const statuses: Record<string, number> = {};
      const keys = ['workspace', ...Object.keys(known), 'wrong', 'down', '', 'ending'];
      for (const key of keys) {
        const headers: Record<string, string> = {
          'content-type': 'application/json',
          ...(key && { 'x-api-key': key }),
        };
        const response = await fetch(`${guarded.url}/threads`, { method: 'POST', body: '{}', headers });
        statuses[key] = response.status;
        await response.text();
      }
      expect(statuses).toEqual({
        workspace: 200,
        invoke: 200,
        own: 200,
        ending: 200,
        other: 403,
        nameless: 403,
        ingest: 403,
        read: 403,
        newer: 403,
        unscoped: 403,
        theirs: 401,
        wrong: 401,
        down: 503,
        '': 401,
      });
      // each key once, and the expired one twice
      expect(asked).toBe(Object.keys(known).length + 3);
      expect((await fetch(`${guarded.url}/ok`)).status).toBe(200);
    } finally {
      await guarded.stop('SIGKILL');
      platform.close();
    }
  });

  it('refuses to start without authentication unless AGENTPLANE_AUTH is off', async () => {
    expect(await ServerProcess.startAndEnd({ uri, env: { AGENTPLANE_AUTH: '' } })).toBe(1);
  });

  it('exits with 78 and the reason when a graph does not load', async () => {
    const broken = join(folder, 'broken');
    mkdirSync(broken);
    writeFileSync(join(broken, 'langgraph.json'), '{"graphs": {"agent": "./agent.mjs:graph"}}');
    writeFileSync(join(broken, 'agent.mjs'), 'throw new Error("no model configured");');
    const path = join(folder, 'termination');
    expect(
      await ServerProcess.startAndEnd({ uri, folder: broken, env: { TERMINATION_MESSAGE_PATH: path } }),
    ).toBe(78);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({
      reason: 'GraphLoadFailed',
      message: 'graph "agent" of agent.mjs failed to load: no model configured (agent.mjs:1:7)',
    });
  });

  it('exits with 78 and the versions when the LangGraph of the agent is too old', async () => {
    const old = join(folder, 'old');
    const library = join(old, 'node_modules', '@langchain', 'langgraph');
    mkdirSync(library, { recursive: true });
    writeFileSync(join(library, 'package.json'), '{"version": "0.2.3"}');
    writeFileSync(join(old, 'langgraph.json'), '{"graphs": {"agent": "./agent.mjs:graph"}}');
    writeFileSync(join(old, 'agent.mjs'), 'export const graph = {};');
    const path = join(folder, 'termination-old');
    const env = { TERMINATION_MESSAGE_PATH: path };
    expect(await ServerProcess.startAndEnd({ uri, folder: old, env })).toBe(78);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({
      reason: 'GraphLoadFailed',
      message: expect.stringMatching(/@langchain\/langgraph 0\.2\.3 is too old .* 0\.2\.5 or newer$/),
    });
  });
});
