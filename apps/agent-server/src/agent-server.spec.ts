import { testPostgres, temporaryFolder, waitFor } from '#lib/testing';
import type { Client } from '@langchain/langgraph-sdk';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { SAMPLE_AGENT, ServerProcess } from '../testdata/start-server.js';

interface Event {
  readonly event: string;
  readonly data: unknown;
  readonly id?: string;
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
  uri = (await postgres.freshDatabase()).uri;
  server = await ServerProcess.start({ uri });
  client = server.client();
});

afterAll(async () => {
  await server?.stop();
});

async function collect(stream: AsyncIterable<unknown>): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of stream) events.push(event as Event);
  return events;
}

function names(events: readonly Event[]): string[] {
  return events.map((event) => event.event);
}

async function json(path: string, init?: RequestInit): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${server.url}${path}`, init);
  return { status: response.status, body: await response.json() };
}

function post(path: string, body: unknown): Promise<{ status: number; body: unknown }> {
  return json(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

async function active(threadId: string): Promise<string[]> {
  return (await client.runs.list(threadId))
    .map((run) => run.status)
    .filter((s) => s === 'pending' || s === 'running');
}

describe('a run on a thread', () => {
  it('continues from the state of the run before', async () => {
    const { thread_id } = await client.threads.create();
    expect(await client.runs.wait(thread_id, 'counter', { input: {} })).toMatchObject({ steps: ['step 1'] });
    expect(await client.runs.wait(thread_id, 'counter', { input: {} })).toMatchObject({
      steps: ['step 1', 'step 2'],
    });
    const state = await client.threads.getState<Steps>(thread_id);
    expect(state.values.steps).toEqual(['step 1', 'step 2']);
    expect(state.next).toEqual([]);
    expect(state.checkpoint).toMatchObject({ thread_id, checkpoint_ns: '' });
    expect(await client.threads.get(thread_id)).toMatchObject({
      status: 'idle',
      values: { steps: ['step 1', 'step 2'] },
      metadata: { graph_id: 'counter' },
    });
    const history = await client.threads.getHistory<Steps>(thread_id, { limit: 10 });
    expect(history.map((entry) => entry.metadata?.['source'])).toEqual([
      'loop',
      'loop',
      'input',
      'loop',
      'loop',
      'input',
    ]);
    expect(history.map((entry) => entry.values.steps.length)).toEqual([2, 1, 1, 1, 0, 0]);
  });

  it('streams its output in the modes that were asked for, metadata first', async () => {
    const { thread_id } = await client.threads.create();
    const one = await collect(client.runs.stream(thread_id, 'counter', { input: {}, streamMode: 'values' }));
    expect(names(one)).toEqual(['metadata', 'values']);
    expect(one[0]?.data).toEqual({ run_id: expect.any(String), attempt: 1 });
    expect(one.map((event) => event.id)).toEqual(['1-0', '1-1']);
    const many = await collect(
      client.runs.stream(thread_id, 'counter', {
        input: {},
        streamMode: ['updates', 'tasks', 'debug', 'checkpoints'],
      }),
    );
    expect(new Set(names(many))).toEqual(new Set(['metadata', 'updates', 'tasks', 'debug', 'checkpoints']));
    expect(many.find((event) => event.event === 'updates')?.data).toEqual({ count: { steps: ['step 2'] } });
    expect(JSON.stringify(many)).not.toMatch(/"__pregel_\w+":/);
  });

  it('answers with its own address', async () => {
    const { thread_id } = await client.threads.create();
    let created: unknown;
    await client.runs.wait(thread_id, 'counter', { input: {}, onRunCreated: (run) => (created = run) });
    const { run_id } = created as { run_id: string };
    expect(created).toMatchObject({ thread_id });
    expect(await client.runs.get(thread_id, run_id)).toMatchObject({ run_id, thread_id, status: 'success' });
    await client.runs.delete(thread_id, run_id);
    await expect(client.runs.get(thread_id, run_id)).rejects.toThrow(/404/);
  });

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

describe('a join', () => {
  it('shows only what comes after it, and the run with its attempt', async () => {
    const { thread_id } = await client.threads.create();
    const run = await client.runs.create(thread_id, 'slow', {
      input: { waitMs: 250 },
      streamMode: ['updates', 'custom'],
    });
    await waitFor(async () =>
      (await client.threads.getState<Steps>(thread_id)).values.steps?.includes('first'),
    );
    const all = await collect(client.runs.joinStream(thread_id, run.run_id));
    expect(all[0]).toMatchObject({ event: 'metadata', data: { run_id: run.run_id, attempt: 1 } });
    const updates = all
      .filter((event) => event.event === 'updates')
      .map((event) => Object.keys(event.data as object)[0]);
    expect(updates).toEqual(['second', 'third']);
  });

  it('filters by mode', async () => {
    const { thread_id } = await client.threads.create();
    const run = await client.runs.create(thread_id, 'slow', {
      input: { waitMs: 60 },
      streamMode: ['updates', 'custom'],
    });
    const events = await collect(client.runs.joinStream(thread_id, run.run_id, { streamMode: ['custom'] }));
    expect(new Set(names(events))).toEqual(new Set(['metadata', 'custom']));
  });

  it('ends when the run has ended before', async () => {
    const { thread_id } = await client.threads.create();
    const run = await client.runs.create(thread_id, 'counter', { input: {} });
    expect(await client.runs.join(thread_id, run.run_id)).toMatchObject({ steps: ['step 1'] });
    expect(await client.runs.join(thread_id, run.run_id)).toMatchObject({ steps: ['step 1'] });
    expect(await collect(client.runs.joinStream(thread_id, run.run_id))).toEqual([]);
  });
});

describe('a run without a thread', () => {
  it('answers and leaves nothing behind', async () => {
    const response = await fetch(`${server.url}/runs/wait`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ assistant_id: 'counter', input: {} }),
    });
    expect(await response.json()).toMatchObject({ steps: ['step 1'] });
    const location = response.headers.get('content-location') ?? '';
    expect(location).toMatch(/^\/runs\/[0-9a-f-]{36}$/);
    expect((await json(location)).status).toBe(404);
  });

  it('streams, stops for interrupts and reaches into subgraphs like others', async () => {
    const events = await collect(
      client.runs.stream(null, 'nested', {
        input: {},
        streamMode: ['updates', 'values'],
        streamSubgraphs: true,
      }),
    );
    expect(names(events).some((name) => /^updates\|child:[0-9a-f-]+$/.test(name))).toBe(true);
    expect(events.at(-1)?.data).toMatchObject({ steps: ['inner'] });
    expect(await client.runs.wait(null, 'asking', { input: {} })).toMatchObject({
      __interrupt__: [{ value: 'what now?' }],
    });
  });

  it('runs in the background too', async () => {
    const file = join(folder, 'background');
    await client.runs.create(null, 'slow', { input: { waitMs: 1, file } });
    await waitFor(() => readFileSync(file, 'utf8').trim().split('\n').length === 3);
  });

  it('keeps the thread of a run when on_completion is "keep"', async () => {
    const { body } = await post('/runs', { assistant_id: 'counter', input: {}, on_completion: 'keep' });
    const run = body as { thread_id: string; run_id: string };
    await client.runs.join(run.thread_id, run.run_id);
    expect((await client.threads.getState<Steps>(run.thread_id)).values.steps).toEqual(['step 1']);
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

  it('finds the assistant of a graph by name and by id', async () => {
    const found = await client.assistants.search({ graphId: 'slow' });
    expect(found).toHaveLength(1);
    const [assistant] = found;
    expect(await client.assistants.get('slow')).toEqual(assistant);
    expect(
      await client.runs.wait(null, assistant?.assistant_id ?? '', { input: { waitMs: 1 } }),
    ).toHaveProperty('steps');
    expect((await client.assistants.getGraph('slow')).nodes.map((node) => node.id)).toContain('second');
  });

  it('configures a graph as further assistants', async () => {
    const made = await client.assistants.create({
      graphId: 'made',
      config: { configurable: { word: 'mine' } },
      name: 'Mine',
    });
    expect(await client.runs.wait(null, made.assistant_id, { input: {} })).toMatchObject({ steps: ['mine'] });
    await client.assistants.delete(made.assistant_id);
    await expect(client.runs.wait(null, made.assistant_id, { input: {} })).rejects.toThrow(/404/);
  });
});

describe('a thread', () => {
  it('makes a thread with a given id, finds, changes and removes it', async () => {
    const thread_id = '6f7f0f43-0b1c-4f0e-9f0e-111111111111';
    await client.threads.create({ threadId: thread_id, metadata: { color: 'blue' } });
    await expect(client.threads.create({ threadId: thread_id })).rejects.toThrow(/409/);
    expect(
      (await client.threads.create({ threadId: thread_id, ifExists: 'do_nothing' })).metadata,
    ).toMatchObject({ color: 'blue' });
    await client.threads.update(thread_id, { metadata: { size: 1 } });
    expect(await client.threads.search({ metadata: { color: 'blue', size: 1 } })).toHaveLength(1);
    await client.threads.delete(thread_id);
    await expect(client.threads.get(thread_id)).rejects.toThrow(/404/);
  });

  it('has an empty state before its first run', async () => {
    const { thread_id } = await client.threads.create();
    expect(await client.threads.getState(thread_id)).toMatchObject({
      values: {},
      next: [],
      tasks: [],
      checkpoint: null,
    });
  });

  it('takes a change of its state, but not under a run', async () => {
    const { thread_id } = await client.threads.create();
    await client.runs.wait(thread_id, 'counter', { input: {} });
    await client.threads.updateState(thread_id, { values: { steps: ['by hand'] } });
    expect((await client.threads.getState<Steps>(thread_id)).values.steps).toEqual(['step 1', 'by hand']);
    expect((await client.threads.get(thread_id)).values).toMatchObject({ steps: ['step 1', 'by hand'] });
    await client.runs.create(thread_id, 'slow', { input: { waitMs: 100 } });
    await expect(client.threads.updateState(thread_id, { values: { steps: ['no'] } })).rejects.toThrow(/409/);
  });
});

describe('a request that cannot be served', () => {
  it.each([
    [
      'a thread that does not exist',
      '/threads/6f7f0f43-0b1c-4f0e-9f0e-222222222222/runs',
      { assistant_id: 'counter' },
      404,
    ],
    ['an assistant that does not exist', '/runs', { assistant_id: 'absent' }, 404],
    [
      'a stream mode that does not exist',
      '/runs',
      { assistant_id: 'counter', stream_mode: 'telepathy' },
      422,
    ],
    ['a body without an assistant', '/runs/wait', { input: {} }, 422],
    ['a thread id that is no uuid', '/threads/abc/runs', { assistant_id: 'counter' }, 422],
  ])('refuses %s with a readable answer', async (_title, path, body, status) => {
    const answer = await post(path, body);
    expect(answer.status).toBe(status);
    expect(answer.body).toHaveProperty('detail');
  });
});

describe('the sample agent', () => {
  it('calculates with its tool and streams its answer', async () => {
    const sample = await ServerProcess.start({
      uri: (await postgres.freshDatabase()).uri,
      folder: SAMPLE_AGENT,
    });
    try {
      const input = { messages: [{ role: 'user', content: 'What is 12 + 30?' }] };
      const values = (await sample.client().runs.wait(null, 'agent', { input })) as unknown as {
        messages: { type: string; content: string }[];
      };
      expect(values.messages.map((message) => message.type)).toEqual(['human', 'ai', 'tool', 'ai']);
      expect(values.messages.at(-1)?.content).toBe('The answer is 42.');
    } finally {
      await sample.stop();
    }
  });
});

describe('a trace', () => {
  it('arrives under the id of its run while the server serves, or at the latest before it ends', async () => {
    const seen: string[] = [];
    const store = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        if (request.method === 'POST') seen.push(Buffer.concat(parts).toString());
        response.setHeader('content-type', 'application/json').end('{}');
      });
    }).listen(0, '127.0.0.1');
    const traced = await ServerProcess.start({
      uri: (await postgres.freshDatabase()).uri,
      folder: SAMPLE_AGENT,
      env: {
        LANGSMITH_TRACING: 'true',
        LANGSMITH_ENDPOINT: `http://127.0.0.1:${(store.address() as AddressInfo).port}`,
        LANGSMITH_API_KEY: 'key',
        LANGSMITH_PROJECT: 'sample',
      },
    });
    try {
      const input = { messages: [{ role: 'user', content: 'hi' }] };
      const { thread_id } = await traced.client().threads.create();
      const run = await traced.client().runs.create(thread_id, 'agent', { input });
      await traced.client().runs.join(thread_id, run.run_id);
      const first = await waitFor(() => seen.find((text) => text.includes(`"id":"${run.run_id}"`)));
      expect(first).toContain(`"thread_id":"${thread_id}"`);
      expect(first).toContain('"session_name":"sample"');
      const last = await traced.client().runs.create(thread_id, 'agent', { input });
      await traced.client().runs.join(thread_id, last.run_id);
      await traced.stop();
      expect(seen.some((text) => text.includes(`"id":"${last.run_id}"`))).toBe(true);
    } finally {
      await traced.stop();
      store.close();
    }
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
      uri: (await postgres.freshDatabase()).uri,
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
        ...{ workspace: 200, invoke: 200, own: 200, ending: 200 },
        ...{ other: 403, nameless: 403, ingest: 403, read: 403, newer: 403, unscoped: 403 },
        ...{ theirs: 401, wrong: 401, down: 503, '': 401 },
      });
      // each key once, but for the one that is expired since
      expect(asked).toBe(Object.keys(known).length + 3);
      expect((await fetch(`${guarded.url}/ok`)).status).toBe(200);
    } finally {
      await guarded.stop();
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
});
