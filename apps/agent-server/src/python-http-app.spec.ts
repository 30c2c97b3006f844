import { once } from 'node:events';
import { mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sendRaw, testPostgres, waitFor } from '#lib/testing';
import { testAppSockets } from '../testdata/app-sockets.js';
import { ServerProcess } from '../testdata/start-server.js';
import { prepareDatabase } from '../testdata/store-fixture.js';
import { testServer } from '../testdata/test-server.js';

const python = process.env['AGENTPLANE_TEST_PYTHON'] ?? '';
if (!python)
  process.stderr.write('SKIPPED: HTTP apps in Python: AGENTPLANE_TEST_PYTHON names no interpreter\n');

const testdata = join(import.meta.dirname, '..', 'testdata');
const JSON_HEADERS = { 'content-type': 'application/json' };

async function outcome(answer: Promise<Response>): Promise<[number, unknown]> {
  const found = await answer;
  return [found.status, await found.json()];
}

(python ? describe : describe.skip)('the HTTP app of an agent in Python', () => {
  const postgres = testPostgres();
  let server: ServerProcess;
  let folder: string;

  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase(prepareDatabase);
    folder = await mkdtemp(join(tmpdir(), 'python-app-'));
    const env = {
      AGENTPLANE_PYTHON: python,
      AGENTPLANE_APP_ANSWER_MS: '3000',
      CLOSED_FILE: join(folder, 'closed'),
      RUN_WEBHOOK_SECRET: 'of the app',
    };
    server = await ServerProcess.start({ uri, folder: join(testdata, 'app-python'), env });
  });

  afterAll(async () => {
    await server?.stop('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });

  const get = (path: string, init: RequestInit = {}): Promise<Response> => fetch(server.url + path, init);
  const post = (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
    get(path, { method: 'POST', headers: { ...JSON_HEADERS, ...headers }, body: JSON.stringify(body) });

  it('serves routes of its own, with the state of its lifespan', async () => {
    const host = `127.0.0.1:${server.port}`;
    const forged = { 'x-agentplane-pass': 'mine', 'x-agentplane-caller': 'e30' };
    expect(await outcome(get('/custom/hello?x=1', { headers: forged }))).toEqual([
      200,
      { host, url: `http://${host}/custom/hello?x=1`, internal: [], opened: 'a pool', user: null },
    ]);
    expect(await outcome(get('/custom/late'))).toEqual([200, 'added when it started']);
    expect(await outcome(post('/custom/items/a%20b', { name: 'n', count: 2 }))).toEqual([
      200,
      { key: 'a b', name: 'n', count: 2 },
    ]);
    expect(await outcome(post('/custom/items/a', { name: 'n', count: 'many' }))).toMatchObject([422, {}]);
    expect(await outcome(get('/custom/refuses'))).toEqual([418, { detail: 'of the app' }]);
  });

  testAppSockets(() => server, 'calling');

  it('answers its server alone', async () => {
    const fds = `/proc/${server.child.pid}/fd`;
    const named = (await readdir(fds)).map(async (fd) => [
      fd,
      await readlink(`${fds}/${fd}`).catch(() => ''),
    ]);
    const found = (await Promise.all(named)).find(([, link]) => link?.includes('/agentplane-app-'));
    expect(found?.[1]).toMatch(/ \(deleted\)$/);
    const asked = request({ socketPath: `${fds}/${found?.[0]}`, path: '/custom/hello', agent: false });
    const answered = once(asked.end(), 'response').then(() => 'an answer');
    await expect(answered).rejects.toMatchObject({ code: 'ECONNRESET' });
  });

  it('wins over a route of the server, but neither over the probe nor over its description', async () => {
    expect(await outcome(post('/assistants/count', {}))).toEqual([200, 42]);
    expect(await outcome(get('/ok'))).toEqual([200, { ok: true }]);
    expect(await outcome(get('/openapi.json'))).toMatchObject([200, { paths: { '/threads': {} } }]);
  });

  it('leaves what it has no route for to the server, within its middleware', async () => {
    const made = await post('/threads', { metadata: { a: 1 } });
    expect([made.status, made.headers.get('x-middleware')]).toEqual([200, 'around']);
    expect(await made.json()).toMatchObject({ status: 'idle', metadata: { a: 1 } });
    expect(await outcome(post('/threads', {}, { 'x-blocked': '1' }))).toEqual([
      403,
      { detail: 'blocked by the app' },
    ]);
    // a route of the app has the path, and another method
    expect((await get('/assistants/count')).status).toBe(404);
    const { store } = server.client();
    await store.putItem(['a'], 'b', { c: 1 });
    await store.deleteItem(['a'], 'b');
    expect(await store.getItem(['a'], 'b')).toBeNull();
  });

  it.each(['//threads', '/%74hreads', '/threads#x', '/x/../threads', '/threads;a', '/threads/'])(
    'guards a route of the server that is asked for as %s',
    async (path) => {
      const { status } = await sendRaw(
        server.port,
        `POST ${path} HTTP/1.1\r\nhost: a\r\nx-blocked: 1\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}`,
      );
      expect([403, 404]).toContain(status);
    },
  );

  it('streams a run of the server, whose graph reaches its own server', async () => {
    const client = server.client();
    const count = await client.threads.count();
    const events: [string, unknown][] = [];
    for await (const { event, data } of client.runs.stream(null, 'calling', { input: { kept: 'x' } }))
      events.push([event, data]);
    expect(events.slice(1)).toEqual([
      ['values', { kept: 'x' }],
      ['values', { kept: 'x', threads: count }],
    ]);
    expect(await outcome(get('/custom/client'))).toEqual([200, count]);
  });

  it('gets bodies as they come, and sends them so', async () => {
    const bytes = Buffer.alloc(5 * 2 ** 20, 'a');
    const answer = await get('/custom/echo', { method: 'POST', body: bytes });
    expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true);
  });

  it('hears that its client has left, and waits for one that does not read', async () => {
    const leaving = new AbortController();
    const answer = await get('/custom/endless', { signal: leaving.signal });
    await answer.body?.getReader().read();
    expect((await get('/custom/hello')).status).toBe(200);
    leaving.abort();
    await waitFor(async () => (await outcome(get('/custom/left')))[1] === 1, {
      what: 'the app to hear',
      timeoutMs: 60_000,
    });
  });

  it('gets the webhook of a run, signed', async () => {
    const { runs, threads } = server.client();
    const { thread_id: id } = await threads.create();
    const { run_id: runId } = await runs.create(id, 'calling', { input: {}, webhook: '/custom/hook' });
    const hook = await waitFor(
      async () => {
        const [, found] = await outcome(get('/custom/hooks'));
        return (found as { run_id: string }[]).find(({ run_id }) => run_id === runId);
      },
      { what: 'the call' },
    );
    expect(hook).toMatchObject({
      headers: { 'webhook-signature': expect.stringContaining('v1,') as unknown },
    });
  });

  it('answers 500 when it raises, with the reason in the log alone', async () => {
    const answer = await get('/custom/throw');
    expect([answer.status, await answer.text()]).toEqual([500, 'Internal Server Error']);
    const line = await waitFor(() =>
      server.log.find(({ msg }) => msg.startsWith('HTTP app failed: GET /custom/throw')),
    );
    expect(JSON.stringify(line)).toMatch(/hunter2.*app\.py:\d+/);
  });

  it('breaks off an answer that is shorter than it announced', async () => {
    await expect(get('/custom/short').then((answer) => answer.text())).rejects.toThrow();
  });

  it('splits no answer by what stands in a header', async () => {
    const answer = await get('/custom/split');
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([500, null]);
  });

  it('answers before it has read the body', async () => {
    const body = JSON.stringify({ text: 'a'.repeat(500_000) });
    const headers = { ...JSON_HEADERS, 'x-blocked': '1' };
    const all = await Promise.all(
      Array.from(
        { length: 20 },
        async () => (await get('/threads', { method: 'POST', headers, body })).status,
      ),
    );
    expect(all).toEqual(all.map(() => 403));
  });

  it('has the server answer when it never does', async () => {
    expect(await outcome(get('/custom/never'))).toEqual([
      504,
      { detail: "The agent's HTTP app did not begin to answer within 3 s" },
    ]);
  });

  it('charges itself alone when its process ends', async () => {
    expect(await outcome(get('/custom/die'))).toEqual([
      502,
      { detail: "The agent's HTTP app broke off: HTTP app ended: signal SIGKILL" },
    ]);
    expect((await get('/custom/hello')).status).toBe(503);
    await waitFor(async () => (await get('/custom/hello')).status === 200, {
      what: 'the next process',
      timeoutMs: 30_000,
    });
    expect(server.log.filter(({ msg }) => msg.startsWith('graph host ended'))).toEqual([]);
  });

  it('stops only its own requests when it computes without a pause', async () => {
    expect((await get('/custom/hang')).status).toBe(504);
    // one that loads slowly hangs too, elsewhere
    const isMeant = (line: object) => /hang \(app\.py:\d+\).*HTTP app hangs/.test(JSON.stringify(line));
    await waitFor(() => server.log.some(isMeant), { what: 'the line' });
    // the process was heard of up to half a second after its last beat, from which the line counts
    const isNoted = async (): Promise<boolean> =>
      JSON.stringify(await outcome(get('/ok'))).includes('has not answered for');
    await waitFor(isNoted, { what: 'a note' });
    expect(await outcome(get('/custom/hello'))).toMatchObject([
      503,
      { detail: expect.stringContaining("the agent's HTTP app has not answered for") as unknown },
    ]);
  });

  it('ends what it began when its server ends', async () => {
    const { uri } = await postgres.freshDatabase(prepareDatabase);
    const file = join(folder, 'other');
    const env = { AGENTPLANE_PYTHON: python, CLOSED_FILE: file };
    const other = await ServerProcess.start({ uri, folder: join(testdata, 'app-python'), env });
    await other.stop();
    expect(await readFile(file, 'utf8')).toBe('closed');
  });

  describe('that is of no framework, behind authentication', () => {
    const plain = testServer({ folder: join(testdata, 'plain-python'), env: { AGENTPLANE_PYTHON: python } });

    const ask = (path: string, headers: Record<string, string> = {}): Promise<[number, unknown]> =>
      outcome(fetch(plain.url + path, { headers }));
    const alice = { authorization: 'Bearer alice' };

    it('gets what the server has no route for, from callers that it knows', async () => {
      expect(await ask('/p/any/path?x', alice)).toEqual([200, { path: '/any/path', user: 'alice' }]);
      expect(await ask('/p/assistants/idle', alice)).toMatchObject([200, { graph_id: 'idle' }]);
      expect((await ask('/p/any', { 'x-agentplane-caller': 'e30' }))[0]).toBe(401);
    });

    it('breaks off an answer in whose middle it fails', async () => {
      const read = fetch(`${plain.url}/p/broken`, { headers: alice }).then((answer) => answer.text());
      await expect(read).rejects.toThrow();
    });

    it.each(['/p/nothing', '/p/throw'])('has the server answer where it fails: %s', async (path) => {
      expect(await ask(path, alice)).toEqual([
        500,
        { detail: "The agent's HTTP app failed; its log has the reason" },
      ]);
    });
  });
});
