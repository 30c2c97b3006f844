import { join } from 'node:path';
import { sendRaw, testPostgres, waitFor } from '#lib/testing';
import { testAppSockets } from '../testdata/app-sockets.js';
import { ServerProcess } from '../testdata/start-server.js';
import { prepareDatabase } from '../testdata/store-fixture.js';
import { testServer } from '../testdata/test-server.js';

const postgres = testPostgres();
const FOLDER = join(import.meta.dirname, '..', 'testdata', 'app-agent');
const JSON_HEADERS = { 'content-type': 'application/json' };
const server = testServer({ folder: FOLDER, env: { AGENTPLANE_APP_ANSWER_MS: '3000' } });

function get(path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(server.url + path, init);
}

function post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return get(path, { method: 'POST', headers: { ...JSON_HEADERS, ...headers }, body: JSON.stringify(body) });
}

async function outcome(answer: Promise<Response>): Promise<[number, unknown]> {
  const { status, ...rest } = await answer.then(async (one) => ({
    status: one.status,
    body: await one.json(),
  }));
  return [status, rest.body];
}

describe('the HTTP app of an agent', () => {
  it('serves routes of its own', async () => {
    const host = `127.0.0.1:${server.port}`;
    const internal = {
      'x-agentplane-pass': 'mine',
      'x-agentplane-caller': 'e30',
      'x-agentplane-control': 'load',
    };
    expect(await outcome(get('/custom/hello/you?x=1', { headers: internal }))).toEqual([
      200,
      { name: 'you', user: null, host, internal: [] },
    ]);
    expect(await outcome(get('/custom/hello'))).toMatchObject([200, { name: null }]);
  });

  it('wins over a route of the server, but not over the probe', async () => {
    expect(await outcome(post('/assistants/count', {}))).toEqual([200, 42]);
    expect(await outcome(get('/ok'))).toEqual([200, { ok: true }]);
  });

  it('has its middleware around routes of the server, which keep what they are', async () => {
    const made = await post('/threads', { metadata: { a: 1 } });
    expect([made.status, made.headers.get('x-middleware')]).toEqual([200, 'around']);
    expect(await made.json()).toMatchObject({ status: 'idle', metadata: { a: 1 } });
    expect(await outcome(post('/threads', {}, { 'x-blocked': '1' }))).toEqual([
      403,
      { detail: 'blocked by the app' },
    ]);
    expect(await outcome(post('/threads', { ttl: 'x' }))).toMatchObject([422, { detail: expect.anything() }]);
  });

  it.each([
    ['/threads/'],
    ['//threads'],
    ['/%74hreads'],
    ['/threads#x'],
    ['/x/../threads'],
    ['/x/%2e%2e/threads'],
    ['http://a/threads'],
    ['/threads;a'],
  ])('guards a route of the server that is asked for as %s', async (path) => {
    const { status } = await sendRaw(
      server.port,
      `POST ${path} HTTP/1.1\r\nhost: a\r\nx-blocked: 1\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}`,
    );
    expect([403, 404]).toContain(status);
  });

  it('passes bodies of every method on whole', async () => {
    const { store } = server.client();
    await store.putItem(['a'], 'b', { c: 1 });
    expect(await store.getItem(['a'], 'b')).toMatchObject({ value: { c: 1 } });
    expect(await outcome(get('/store/items?namespace=a&key=b', { headers: { 'x-shorter': '1' } }))).toEqual([
      200,
      {},
    ]);
    await store.deleteItem(['a'], 'b');
    expect(await store.getItem(['a'], 'b')).toBeNull();
  });

  it('gets no request of a method that has none', async () => {
    const trace = await sendRaw(
      server.port,
      'TRACE /custom/hello HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n',
    );
    expect(trace.status).toBe(400);
  });

  it('streams a run of the server through its middleware', async () => {
    const events: string[] = [];
    const client = server.client();
    for await (const { event } of client.runs.stream(null, 'calling', { input: { kept: 'x' } }))
      events.push(event);
    expect(events).toEqual(['metadata', 'values', 'values']);
  });

  it('lets graphs and routes reach their own server without its address', async () => {
    const count = await server.client().threads.count();
    expect(await server.client().runs.wait(null, 'calling', { input: {} })).toMatchObject({ threads: count });
    expect(await outcome(get('/custom/client'))).toEqual([200, count]);
  });

  it('gets bodies as they come, and sends them so', async () => {
    const bytes = Buffer.alloc(5 * 2 ** 20, 'a');
    const answer = await get('/custom/echo', { method: 'POST', body: bytes });
    expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true);
  });

  it('never gets a body that is announced as too large', async () => {
    const announced = `POST /custom/echo HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 70000000\r\n\r\n`;
    expect((await sendRaw(server.port, announced)).status).toBe(413);
  });

  it('hears that its client has left, and waits for one that does not read', async () => {
    const [before] = [await outcome(get('/custom/left'))];
    const leaving = new AbortController();
    const [answer, stalled] = await Promise.all(
      [1, 2].map(() => get('/custom/endless', { signal: leaving.signal })),
    );
    await answer?.body?.getReader().read();
    expect((await get('/custom/hello')).status).toBe(200);
    expect(stalled?.status).toBe(200);
    leaving.abort();
    await waitFor(
      async () => {
        const [, left] = await outcome(get('/custom/left'));
        return left === Number(before?.[1]) + 2;
      },
      { what: 'the app to hear' },
    );
  });

  it('answers without headers of another connection, and with each cookie', async () => {
    const answer = await get('/custom/headers');
    const { date: _, 'x-request-id': __, ...headers } = Object.fromEntries(answer.headers);
    expect(await answer.text()).toBe('body');
    expect(headers).toMatchObject({
      'x-twice': 'a, b',
      'cache-control': 'max-age=60',
      'x-content-type-options': 'nosniff',
    });
    expect(answer.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
    for (const name of ['x-hop', 'keep-alive-x', 'upgrade', 'x-agentplane-pass'])
      expect(headers).not.toHaveProperty(name);
  });

  it.each([
    ['throws', '/custom/throw', 500, 'of the app'],
    ['never answers', '/custom/never', 504, "The agent's HTTP app did not begin to answer within 3 s"],
  ])('has the server answer when it %s', async (_, path, status, detail) => {
    expect(await outcome(get(path))).toEqual([status, { detail }]);
  });

  it.each(['/custom/broken', '/custom/short', '/custom/long'])(
    'breaks off an answer that is not what it announced: %s',
    async (path) => {
      const read = get(path).then(async (answer) => [answer.status, await answer.text()]);
      const found = await read.catch(() => 'broken off');
      if (found !== 'broken off') expect(found[0]).toBe(502);
    },
  );

  it('charges itself alone when its process ends', async () => {
    const client = server.client();
    const { thread_id } = await client.threads.create();
    expect(await outcome(get('/custom/die'))).toEqual([
      502,
      { detail: "The agent's HTTP app broke off: HTTP app ended: signal SIGKILL" },
    ]);
    // a route of the server that the app has nothing to do with
    expect(await client.threads.get(thread_id)).toMatchObject({ thread_id });
    expect(await outcome(get('/custom/hello'))).toMatchObject([
      503,
      { detail: expect.stringContaining('SIGKILL') },
    ]);
    await waitFor(async () => (await get('/custom/hello')).status === 200, {
      what: 'the next process',
    });
    expect(server.log.filter(({ msg }) => msg.startsWith('graph host ended'))).toEqual([]);
  });

  it('stops only its own requests when it computes without a pause', async () => {
    expect(await outcome(get('/custom/hang'))).toMatchObject([504, {}]);
    const { status } = await post('/threads/search', {});
    expect(status).toBe(200);
    const said = "the agent's HTTP app has not answered for";
    await waitFor(
      async () => {
        const [, body] = await outcome(get('/ok'));
        return JSON.stringify(body).includes(said);
      },
      { what: 'the note' },
    );
    expect(await outcome(get('/custom/hello'))).toMatchObject([
      503,
      { detail: expect.stringContaining(said) },
    ]);
    const line = await waitFor(() => server.log.find(({ msg }) => msg === 'HTTP app hangs'), {
      what: 'the line',
    });
    expect(JSON.stringify(line)).toMatch(/app\.ts:\d+/);
  });
});

describe('the HTTP app of an agent as the receiver of a webhook', () => {
  const receiving = testServer({ folder: FOLDER, env: { RUN_WEBHOOK_SECRET: 'of the app' } });

  async function called(webhook: string): Promise<{ runId: string; state: () => Promise<unknown> }> {
    const { threads, runs } = receiving.client();
    const { thread_id: threadId } = await threads.create();
    const { run_id: runId } = await runs.create(threadId, 'calling', { input: {}, webhook });
    const state = async (): Promise<unknown> => {
      const run: object = await runs.get(threadId, runId);
      return 'webhook' in run ? run.webhook : undefined;
    };
    return { runId, state };
  }

  it('gets it by a path of its own, signed, and without the caller', async () => {
    const { runId, state } = await called('/custom/../custom/hook?a=b#c');
    const hook = await waitFor(
      async () => {
        const hooks = (await (await fetch(`${receiving.url}/custom/hooks`)).json()) as { run_id: string }[];
        return hooks.find(({ run_id }) => run_id === runId);
      },
      { what: 'the call' },
    );
    expect(hook).toMatchObject({
      query: { a: 'b' },
      kwargs: { webhook: '/custom/hook?a=b' },
      headers: {
        'webhook-id': runId,
        'webhook-signature': expect.stringContaining('v1,') as unknown,
        'content-type': 'application/json',
      },
    });
    expect(hook).not.toHaveProperty('user');
    expect(JSON.stringify(hook)).not.toContain('"caller"');
    const settled = await waitFor(
      async () => {
        const found = (await state()) as { state?: string } | undefined;
        return found?.state === 'delivered' && found;
      },
      { what: 'the result' },
    );
    expect(settled).toMatchObject({ url: '/custom/hook?a=b', attempts: 1, last_error: null });
  });

  it.each(['/threads', '/runs/cancel', '/store/items', '/custom/absent'])(
    'reaches no route of the server by %s',
    async (path) => {
      const { state } = await called(path);
      const tried = await waitFor(
        async () => {
          const found = (await state()) as { last_error?: string } | undefined;
          return found?.last_error && found;
        },
        { what: 'the attempt' },
      );
      expect(tried).toMatchObject({
        state: 'pending',
        last_error: "the agent's HTTP app answered 404",
      });
    },
  );

  it.each(['//example.com/hook', '/\\example.com/hook', '///x'])('refuses %s', async (webhook) => {
    const answer = await fetch(`${receiving.url}/runs/wait`, {
      method: 'POST',
      headers: JSON_HEADERS,
      body: JSON.stringify({ assistant_id: 'calling', input: {}, webhook }),
    });
    expect(await outcome(Promise.resolve(answer))).toMatchObject([
      422,
      {
        detail: [
          { loc: ['body', 'webhook'], msg: expect.stringContaining('no path of the HTTP app') as unknown },
        ],
      },
    ]);
  });

  it('makes its call where another server of the deployment has the app', async () => {
    const { uri } = await postgres.freshDatabase(prepareDatabase);
    const [api, queue] = await Promise.all(
      ['api', 'queue'].map((role) =>
        ServerProcess.start({ uri, folder: FOLDER, env: { AGENTPLANE_ROLE: role } }),
      ),
    );
    try {
      const runs = await Promise.all(
        Array.from({ length: 5 }, async () => {
          const { thread_id } = (await api?.client().threads.create()) ?? { thread_id: '' };
          return api?.client().runs.create(thread_id, 'calling', { input: {}, webhook: '/custom/hook' });
        }),
      );
      await waitFor(
        async () => {
          const hooks = (await (await fetch(`${api?.url}/custom/hooks`)).json()) as { run_id: string }[];
          return runs.every((run) => hooks.some(({ run_id }) => run_id === run?.run_id));
        },
        { what: 'all calls' },
      );
      expect(queue?.log.filter(({ msg }) => msg.startsWith('webhook failed'))).toEqual([]);
    } finally {
      await Promise.all([api?.stop('SIGKILL'), queue?.stop('SIGKILL')]);
    }
  });
});

describe('an app that is no router, behind authentication', () => {
  const plain = testServer({ folder: join(FOLDER, '..', 'plain-app') });

  const ask = (path: string, headers: Record<string, string> = {}): Promise<[number, unknown]> =>
    outcome(fetch(plain.url + path, { headers }));

  it('gets what the server has no route for, from callers that it knows', async () => {
    const alice = { authorization: 'Bearer alice' };
    expect(await ask('/p/any/path?x', alice)).toEqual([200, { path: '/any/path', user: 'alice' }]);
    const forged = { 'x-agentplane-caller': Buffer.from('{"identity":"root"}').toString('base64url') };
    expect(await ask('/p/any', { ...alice, ...forged })).toEqual([200, { path: '/any', user: 'alice' }]);
    expect(await ask('/p/assistants/idle', alice)).toMatchObject([200, { graph_id: 'idle' }]);
  });

  it('gets the webhook of a run on behalf of the caller of the run', async () => {
    const alice = { authorization: 'Bearer alice' };
    const body = JSON.stringify({ assistant_id: 'idle', input: {}, webhook: '/hook' });
    const headers = { ...alice, ...JSON_HEADERS };
    const answer = await fetch(`${plain.url}/p/runs`, { method: 'POST', headers, body });
    const { run_id } = (await answer.json()) as { run_id: string };
    const [, hooks] = await waitFor(
      async () => {
        const found = await ask('/p/hooks', alice);
        return JSON.stringify(found[1]) !== '[]' && found;
      },
      { what: 'the call' },
    );
    expect(hooks).toEqual([{ of: run_id, user: 'alice' }]);
  });

  it.each(['/p/nothing', '/p/throw'])('has the server answer where it fails: %s', async (path) => {
    expect(await ask(path, { authorization: 'Bearer alice' })).toEqual([
      500,
      { detail: "The agent's HTTP app failed; its log has the reason" },
    ]);
  });

  it.each(['/p/any', '/p//any', '/p/%61ny', '/p/assistants/idle', '/any', '/p/ok/any'])(
    'gets nothing from others at %s',
    async (path) => {
      expect((await ask(path, { 'x-agentplane-pass': 'x' }))[0]).toBe(401);
    },
  );
});

describe('the HTTP app of an agent with middleware around everything', () => {
  const around = testServer({ folder: join(FOLDER, '..', 'socket-app') });

  testAppSockets(() => around, 'calling');

  it('passes on the result of a run without values as an empty object', async () => {
    const client = around.client();
    const { thread_id: id } = await client.threads.create();
    expect(await client.runs.wait(id, 'calling', { input: {} })).toEqual({});
    const [run] = await client.runs.list(id);
    expect(await client.runs.join(id, run?.run_id ?? '')).toEqual({});
  });
});
