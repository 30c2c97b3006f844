import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { RestClient } from '#lib/rest-client';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { FakeClock, waitFor } from '#lib/testing';
import { KubeClient } from '#lib/kube';
import { printOnce } from '../screen/print-once.js';
import { KubeWorld } from './kube-world.js';
import { runLines, threadLines } from '../texts/run-text.js';
import type { StepItem } from './items.js';
import { RestItems, type RestSource } from './rest-items.js';

type Json = Readonly<Record<string, unknown>>;

/** A REST interface with keys that a test changes. */
describe('RestItems', () => {
  let server: Server;
  let url: string;
  let answer: { status: number; body: unknown } = { status: 200, body: [] };
  const seen: (string | undefined)[] = [];
  /** Answers by path, before the general one. */
  let answers: Readonly<Record<string, unknown>> = {};
  const bodies: Json[] = [];
  afterEach(() => (answers = {}));

  beforeAll(async () => {
    server = createServer((request, response) => {
      seen.push(request.headers['x-api-key']?.toString());
      const [path = ''] = (request.url ?? '').split('?');
      void text(request).then((body) => {
        if (body !== '') bodies.push(JSON.parse(body) as Json);
        const own = answers[path];
        const shown: unknown = typeof own === 'function' ? (own as () => unknown)() : own;
        response.writeHead(shown === undefined ? answer.status : 200, { 'content-type': 'application/json' });
        response.end(JSON.stringify(shown ?? answer.body));
      });
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => server.close());

  const key = (id: string): object => ({
    id,
    description: `key ${id}`,
    scope: 'read',
    created_at: '2026-05-01T00:00:00Z',
    expires_at: null,
  });

  it('reads a list once rows are asked for, again while they are shown, and reports what fails', async () => {
    answer = { status: 200, body: [key('a'), key('b')] };
    const clock = new FakeClock();
    const keys = { kind: 'rest', name: 'keys' } as const;
    const items = new RestItems(new RestClient({ url, key: 'secret' }), keys, () => undefined, clock);
    const readAgain = async () => {
      await waitFor(() => clock.pending === 1, { what: 'the end of a read' });
      await clock.advance(3_000);
    };
    expect(items.hasSynced).toBe(false);
    const kinds: string[] = [];
    items.on(({ kind, object }) => kinds.push(`${kind} ${object.metadata.name}`));
    await waitFor(() => items.hasSynced, { what: 'the first list' });
    expect(kinds).toEqual(['added a', 'added b']);
    expect(seen).toContain('secret');
    answer = { status: 200, body: [key('b')] };
    await readAgain();
    await waitFor(() => kinds.includes('deleted a'), { what: 'the second list' });
    answer = { status: 403, body: { detail: 'this key may not list keys' } };
    await readAgain();
    await waitFor(() => items.problem !== undefined, { what: 'the refusal' });
    expect(items.problem).toMatch(/^this key may not list keys \(GET \/api\/v1\/api-key.* at http/);
    expect(items.list()).toHaveLength(1);
    await items.stop();
  });

  /** Items of a list, and the bodies of the requests for runs and threads. */
  async function readOnce(source: RestSource): Promise<{ items: RestItems; asked: Json[] }> {
    const before = bodies.length;
    const items = new RestItems(new RestClient({ url, key: 'secret' }), source, () => undefined, systemClock);
    const end = items.on(() => undefined);
    await waitFor(() => items.hasSynced, { what: 'the list' });
    end();
    await items.stop();
    expect(items.problem).toBeUndefined();
    return { items, asked: bodies.slice(before) };
  }

  const root = {
    id: 'r',
    trace_id: 't',
    name: 'agent',
    run_type: 'chain',
    status: 'success',
    start_time: '2026-05-01T00:00:00Z',
    end_time: '2026-05-01T00:00:02Z',
    latency: 2,
    total_tokens: 3,
    total_cost: '0.1',
    error: null,
    session_id: 'p',
    thread_id: 'h',
    parent_run_id: null,
    tags: [],
    dotted_order: '1',
    inputs: { messages: [{ role: 'user', content: 'hello' }] },
    outputs: { messages: [{ type: 'ai', content: 'hi' }] },
  };

  it('asks for the traces of one project that meet a condition, however many others there are', async () => {
    answers = { '/sessions': [{ id: 'p', name: 'stocks' }], '/runs/query': { runs: [root] } };
    const query = { project: 'stocks', thread: 'h', filter: 'eq(status, "error")' };
    const { items, asked } = await readOnce({ kind: 'rest', name: 'traces', query });
    expect(asked[0]).toMatchObject({
      is_root: true,
      session: ['p'],
      filter: 'and(eq(thread_id, "h"), eq(status, "error"))',
    });
    expect(items.list()).toMatchObject([
      { metadata: { name: 'r' }, run: { project: 'stocks', asked: 'hello', answered: 'hi' } },
    ]);
  });

  it('asks once more where the first page of a search is not full', async () => {
    answers = { '/sessions': [], '/runs/query': { runs: [root], cursors: { next: 'rest' } } };
    const query = { filter: 'search("hello")' };
    const { asked } = await readOnce({ kind: 'rest', name: 'traces', query });
    const both = { is_root: true, filter: 'search("hello")' };
    expect(asked.slice(0, 3)).toMatchObject([
      { ...both, limit: 100 },
      { ...both, limit: 99, cursor: 'rest' },
      { id: ['r', 'r'] },
    ]);
  });

  it('lists the threads of a project by what was said last', async () => {
    const thread = { thread_id: 'h', count: 2, num_errored_turns: 1, trace_id: 'r', total_tokens: 3 };
    const page = { items: [{ ...thread, start_time: root.start_time, total_cost: 0.1 }] };
    answers = {
      '/sessions': [{ id: 'p', name: 'stocks' }],
      '/runs/query': { runs: [root] },
      '/api/v2/threads/query': page,
    };
    const { items, asked } = await readOnce({ kind: 'rest', name: 'threads', query: { project: 'stocks' } });
    expect(asked[0]).toMatchObject({ project_id: 'p' });
    expect(items.list()).toMatchObject([
      { metadata: { name: 'h' }, thread: { count: 2, failed: 1, asked: 'hello', answered: 'hi' } },
    ]);
  });

  it('lists the runs of a trace in the order of its tree, page by page', async () => {
    const child = { ...root, id: 'c', name: 'model', parent_run_id: 'r', dotted_order: '1.2' };
    const pages = [
      { runs: [root], cursors: { next: 'more' } },
      { runs: [child], cursors: { next: null } },
    ];
    answers = { '/runs/query': () => pages.shift() };
    const { items, asked } = await readOnce({ kind: 'rest', name: 'steps', query: { trace: 't' } });
    expect(asked).toMatchObject([{ trace: 't' }, { trace: 't', cursor: 'more' }]);
    expect(items.list().map((item) => (item as StepItem).row.title)).toEqual(['agent', '└─ model']);
  });

  it('shows a run and a thread as messages, and as JSON', async () => {
    answers = { '/runs/r': root, '/runs/query': { runs: [root] } };
    const rest = new RestClient({ url, key: 'secret' });
    expect(await runLines('r', { rest, isRaw: false })).toEqual([
      'agent  chain · success · 2.00 s · 3 tokens · $0.1000',
      '',
      'inputs',
      '  human hello',
      '',
      'outputs',
      '  ai    hi',
    ]);
    expect(JSON.parse((await runLines('r', { rest, isRaw: true })).join('\n'))).toEqual(root);
    expect(await threadLines('h', { rest, isRaw: false })).toEqual(['human hello', 'ai    hi']);
  });

  it('appears among printed views, and so does its trouble', async () => {
    answer = { status: 200, body: [key('a')] };
    const client = new KubeClient({
      server: 'https://127.0.0.1:1',
      namespace: 'x',
      auth: { authorization: () => Promise.resolve(undefined) },
    });
    const rest = new RestClient({ url, key: 'secret' });
    const world = new KubeWorld({
      client,
      rest: (source, changed) => new RestItems(rest, source, changed, systemClock),
      clock: systemClock,
      log: createLogger('test', 'silent'),
    });
    expect(await printOnce(world, 'x', systemClock, ['keys'])).toMatch(
      /^KEYS 1\nNAME .*\nkey a +InForce +a +read/,
    );
    answer = { status: 500, body: { detail: 'database unavailable; retry' } };
    expect(await printOnce(world, 'x', systemClock, ['traces'])).toMatch(
      /^database unavailable; retry \(POST \/runs\/query at .*\)\n\nTRACES: none/,
    );
    await world.stop();
    await client.close();
  });
});
