import { randomUUID } from 'node:crypto';
import { waitFor } from '#lib/testing';
import { announce, open, send, type RawRequest } from '../clients/raw-http.js';
import { type Row, rowsOf, type Target } from '../target.js';

const ABSENT = '6f7f0f43-0b1c-4f0e-9f0e-222222222222';
const RUN = { assistant_id: 'counter', input: {} };

const json = (body: unknown): RawRequest => ({ body });

async function made(target: Target, path: string, body: unknown = {}): Promise<Record<string, string>> {
  const answer = await send(target, 'POST', path, { body });
  expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
  return answer.body as Record<string, string>;
}

const ROUTES: readonly Row[] = rowsOf('raw HTTP', {
  'shows that it serves, what it is and what it counts': async (target) => {
    expect((await send(target, 'GET', '/ok')).body).toEqual({ ok: true });
    expect((await send(target, 'GET', '/ok?check_db=1')).status).toBe(200);
    const info = (await send(target, 'GET', '/info')).body as Readonly<Record<string, unknown>>;
    expect(info).toMatchObject({
      version: expect.any(String) as unknown,
      flags: { assistants: true, crons: true, mcp: true },
      host: { kind: 'self-hosted', project_id: null, tenant_id: null },
    });
    const library = info['context'] === 'python' ? 'langgraph_py_version' : 'langgraph_js_version';
    expect(info[library]).toMatch(/^\d+\.\d+\.\d+/);
    expect((await send(target, 'GET', '/metrics')).text).toMatch(/^# HELP agentplane_/m);
    expect((await send(target, 'GET', '/metrics?format=json')).status).toBe(200);
  },
  'describes its routes': async (target) => {
    const { body } = await send(target, 'GET', '/openapi.json');
    expect(body).toMatchObject({ openapi: expect.stringMatching(/^3\./) as unknown });
    const page = await open(target, 'GET', '/docs');
    expect([page.status, page.headers.get('content-type')]).toEqual([
      200,
      expect.stringContaining('text/html'),
    ]);
  },
  'serves pages to talk with the agent': async (target) => {
    expect((await open(target, 'GET', '/chat')).status).toBe(200);
    const { thread_id: id } = await made(target, '/threads');
    const talk = `/chat/threads/${id}`;
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const said = await open(target, 'POST', talk, { text: 'text=hello', headers: form });
    expect(said.url).toMatch(new RegExp(`${talk}$`));
    expect(await said.text()).toContain('hello');
    const begun = await open(target, 'POST', '/chat/threads', { text: '', headers: form });
    expect(await begun.text()).toContain('Message <textarea');
    expect(await (await open(target, 'GET', '/chat/threads')).text()).toContain(id);
  },
  'answers nothing to a change of a thread that wants no answer': async (target) => {
    const { thread_id: id } = await made(target, '/threads');
    const headers = { prefer: 'return=minimal' };
    const answer = await send(target, 'PATCH', `/threads/${id}`, { headers, body: { metadata: { a: 1 } } });
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect((await send(target, 'GET', `/threads/${id}`)).body).toMatchObject({ metadata: { a: 1 } });
  },
  'counts the bytes that the states of a thread take': async (target) => {
    const { thread_id: id } = await made(target, '/threads');
    await made(target, `/threads/${id}/runs/wait`, RUN);
    const { body } = await send(target, 'GET', `/threads/${id}/storage`);
    const some = { count: expect.any(Number) as unknown, bytes: expect.any(Number) as unknown };
    expect(body).toMatchObject({
      thread_id: id,
      total_bytes: expect.any(Number) as unknown,
      checkpoints: some,
      channel_values: { ...some, by_channel: { steps: { versions: 1 } } },
      pending_writes: some,
    });
  },
  'names the next page of a search and how many there are': async (target) => {
    const metadata = { mark: randomUUID() };
    for (let n = 0; n < 3; n++) await made(target, '/threads', { metadata });
    const { headers } = await send(target, 'POST', '/threads/search', { body: { metadata, limit: 2 } });
    expect([headers.get('x-pagination-total'), headers.get('x-pagination-next')]).toEqual(['3', '2']);
  },
  'shows states by GET and by POST': async (target) => {
    const { thread_id: id } = await made(target, '/threads');
    await made(target, `/threads/${id}/runs/wait`, RUN);
    const state = (await send(target, 'GET', `/threads/${id}/state?subgraphs=true`)).body as {
      checkpoint: { checkpoint_id: string };
    };
    const { checkpoint } = state;
    expect(
      (await send(target, 'GET', `/threads/${id}/state/${checkpoint.checkpoint_id}`)).body,
    ).toMatchObject({ checkpoint });
    expect(await made(target, `/threads/${id}/state/checkpoint`, { checkpoint })).toMatchObject({
      checkpoint,
    });
    const listed = await send(target, 'GET', `/threads/${id}/history?limit=2`);
    expect(listed.body).toHaveLength(2);
    expect(await made(target, `/threads/${id}/history`, { limit: 2 })).toEqual(listed.body);
  },
  'shows of a state what is asked for, of the values too': async (target) => {
    const { thread_id: id } = await made(target, '/threads');
    await made(target, `/threads/${id}/runs/wait`, { ...RUN, input: { waitMs: 7 } });
    const look = async (path: string): Promise<unknown> =>
      (await send(target, 'GET', `/threads/${id}/state${path}`)).body;
    const { checkpoint } = (await look('')) as { checkpoint: { checkpoint_id: string } };
    const steps = ['step 1'];
    expect(await look('?select=next&select=values.steps')).toEqual({ values: { steps }, next: [] });
    expect(await look('?select=values')).toEqual({ values: { steps, waitMs: 7 } });
    expect(await look(`/${checkpoint.checkpoint_id}?select=values.absent`)).toEqual({ values: {} });
    const asked = { checkpoint, select: ['checkpoint'] };
    expect(await made(target, `/threads/${id}/state/checkpoint`, asked)).toEqual({ checkpoint });
    const newest = { limit: 1, select: ['created_at', 'values.waitMs'] };
    expect(await made(target, `/threads/${id}/history`, newest)).toEqual([
      { created_at: expect.any(String) as unknown, values: { waitMs: 7 } },
    ]);
    const msg: unknown = expect.stringMatching(/^must be values, next, .* values\.KEY/);
    expect(await look('?select=value')).toMatchObject({ detail: [{ loc: ['query', 'select', 0], msg }] });
  },
  'names the field of a configuration that no run can have': async (target) => {
    for (const config of [{ tags: 'a' }, { recursion_limit: '9' }, { configurable: [] }]) {
      const { status, body } = await send(
        target,
        'POST',
        '/assistants',
        json({ graph_id: 'counter', config }),
      );
      const loc = ['body', 'config', ...Object.keys(config)];
      expect([status, body]).toMatchObject([422, { detail: [{ loc }] }]);
    }
  },
  'shows the reasons for which a run waits': async (target) => {
    const { thread_id: id } = await made(target, '/threads');
    const long = { assistant_id: 'slow', input: { waitMs: 60_000 } };
    const { run_id: first } = await made(target, `/threads/${id}/runs`, { ...RUN, after_seconds: 1_000 });
    const { run_id: working } = await made(target, `/threads/${id}/runs`, long);
    const { run_id: second } = await made(target, `/threads/${id}/runs`, RUN);
    const reason = async (run: string | undefined) =>
      (await send(target, 'GET', `/threads/${id}/runs/${run}`)).body as { waiting_for: string };
    expect([(await reason(first)).waiting_for, (await reason(second)).waiting_for]).toEqual([
      'time',
      'thread',
    ]);
    await send(target, 'POST', `/threads/${id}/runs/${working}/cancel?wait=1`);
  },
  'shows, counts and finds crons': async (target) => {
    const { cron_id: id, assistant_id } = await made(target, '/runs/crons', { ...RUN, schedule: '@daily' });
    expect((await send(target, 'GET', `/runs/crons/${id}`)).body).toMatchObject({
      cron_id: id,
      schedule: '@daily',
    });
    expect(await made(target, '/runs/crons/count', { assistant_id })).toBeGreaterThan(0);
    expect((await send(target, 'DELETE', `/runs/crons/${id}`)).status).toBe(204);
    expect((await send(target, 'GET', `/runs/crons/${id}`)).status).toBe(404);
  },
  'answers null for an item that does not exist': async (target) => {
    const answer = await send(target, 'GET', `/store/items?namespace=a.${randomUUID()}&key=x`);
    expect([answer.status, answer.text]).toEqual([200, 'null']);
  },
  'passes headers of a request to its run, and no key': async (target) => {
    const headers = { 'x-tag': 'tagged' };
    const { body } = await send(target, 'POST', '/runs/wait', {
      headers,
      body: { assistant_id: 'seeing', input: {} },
    });
    expect(body).toMatchObject({ seen: { tag: 'tagged' } });
    expect(JSON.stringify(body)).not.toContain('"key"');
  },
  'counts and deletes what metadata name': async (target) => {
    const metadata = { mark: randomUUID() };
    const { thread_id: id } = await made(target, '/threads', { metadata });
    const reached = { threads: 1, crons: 0, items: 0 };
    expect(await made(target, '/threads/erase', { metadata, dry_run: true })).toMatchObject(reached);
    expect((await send(target, 'GET', `/threads/${id}`)).status).toBe(200);
    expect(await made(target, '/threads/erase', { metadata })).toMatchObject({
      ...reached,
      is_complete: true,
    });
    expect((await send(target, 'GET', `/threads/${id}`)).status).toBe(404);
  },
  'serves the app of the agent, which calls its own server': async (target) => {
    const echo = await send(target, 'PUT', '/custom/echo?a=1', { text: 'as it is' });
    expect([echo.status, echo.headers.get('x-app'), echo.text]).toEqual([200, 'PUT', 'as it is']);
    const ran = await send(target, 'GET', '/custom/run');
    expect([ran.status, ran.body]).toMatchObject([200, { steps: ['step 1'] }]);
    expect((await send({ ...target, headers: {} }, 'GET', '/custom/absent')).status).toBe(404);
  },
  'calls the webhook of a run that is a path of the app of the agent': async (target) => {
    const { thread_id: id } = await made(target, '/threads');
    const { run_id } = await made(target, `/threads/${id}/runs`, { ...RUN, webhook: '/custom/hook' });
    const item = await waitFor(
      async () => (await send(target, 'GET', `/store/items?namespace=hooks&key=${run_id}`)).body,
    );
    expect(item).toMatchObject({ value: { values: { steps: ['step 1'] } } });
  },
  'lets pages of other origins read answers': async (target) => {
    const headers = { origin: 'https://studio.example', 'access-control-request-method': 'POST' };
    const asked = await send(target, 'OPTIONS', '/threads', { headers });
    expect([asked.status, asked.headers.get('access-control-allow-origin')]).toEqual([204, '*']);
    const answer = await send(target, 'GET', '/ok', { headers: { origin: 'https://studio.example' } });
    expect(answer.headers.get('access-control-expose-headers')?.toLowerCase()).toContain('content-location');
  },
});

const TUNED: readonly Row[] = rowsOf(
  'raw HTTP',
  {
    'fires a cron and shows what it did': async (target) => {
      const { thread_id: id } = await made(target, '/threads');
      const cron = await made(target, `/threads/${id}/runs/crons`, { ...RUN, schedule: '* * * * * *' });
      const path = `/runs/crons/${cron['cron_id']}`;
      const lastRun = async () =>
        ((await send(target, 'GET', path)).body as { last_run_id: string | null }).last_run_id;
      const run_id = await waitFor(lastRun);
      expect((await send(target, 'DELETE', path)).status).toBe(204);
      expect((await send(target, 'GET', `/threads/${id}/runs/${run_id}`)).body).toMatchObject({
        metadata: { cron_id: cron['cron_id'] },
      });
    },
    'calls the webhook of a run with its output': async (target) => {
      const { WebhookReceiver } = await import('../../../../apps/agent-server/testdata/webhook-receiver.js');
      const receiver = await WebhookReceiver.start();
      try {
        const { thread_id: id } = await made(target, '/threads');
        const { run_id } = await made(target, `/threads/${id}/runs`, { ...RUN, webhook: receiver.url });
        const [call] = await waitFor(() => {
          const calls = receiver.of(run_id ?? '');
          return calls.length > 0 && calls;
        });
        expect(call?.body).toMatchObject({
          run_id,
          thread_id: id,
          status: 'success',
          values: { steps: ['step 1'] },
        });
        expect(call?.headers['content-type']).toContain('application/json');
      } finally {
        receiver.stop();
      }
    },
  },
  'tuned',
);

type Refusal = readonly [title: string, status: number, method: string, path: string, asked?: RawRequest];
const FORM: RawRequest = { text: 'a=b', headers: { 'content-type': 'application/x-www-form-urlencoded' } };

const ELEVEN = Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`path ${n}`, 'values']));

/** Everything that is refused, with `detail` for people. */
const REFUSALS: readonly Refusal[] = [
  ['a thread that does not exist', 404, 'GET', `/threads/${ABSENT}`],
  ['the state of a thread that does not exist', 404, 'GET', `/threads/${ABSENT}/state`],
  ['the history of a thread that does not exist', 404, 'POST', `/threads/${ABSENT}/history`, json({})],
  ['a change of a thread that does not exist', 404, 'PATCH', `/threads/${ABSENT}`, json({ metadata: {} })],
  ['copying a thread that does not exist', 409, 'POST', `/threads/${ABSENT}/copy`],
  ['a run on a thread that does not exist', 404, 'POST', `/threads/${ABSENT}/runs`, json(RUN)],
  ['waiting on a thread that does not exist', 404, 'POST', `/threads/${ABSENT}/runs/wait`, json(RUN)],
  ['streaming on a thread that does not exist', 404, 'POST', `/threads/${ABSENT}/runs/stream`, json(RUN)],
  ['a run that does not exist', 404, 'GET', `/runs/${ABSENT}`],
  ['a run that does not exist on its thread', 404, 'GET', `/threads/${ABSENT}/runs/${ABSENT}`],
  ['the runs of a thread that does not exist', 404, 'GET', `/threads/${ABSENT}/runs`],
  ['joining a run that does not exist', 404, 'GET', `/threads/${ABSENT}/runs/${ABSENT}/join`],
  ['the stream of a run that does not exist', 404, 'GET', `/threads/${ABSENT}/runs/${ABSENT}/stream`],
  ['the stream of a thread that does not exist', 404, 'GET', `/threads/${ABSENT}/stream`],
  ['cancelling a run that does not exist', 404, 'POST', `/threads/${ABSENT}/runs/${ABSENT}/cancel`],
  ['a run of an assistant that does not exist', 404, 'POST', '/runs', json({ assistant_id: 'absent' })],
  ['an assistant that does not exist', 404, 'GET', `/assistants/${ABSENT}`],
  ['the graph of an assistant that does not exist', 404, 'GET', '/assistants/absent/graph'],
  [
    'a change of an assistant that does not exist',
    404,
    'PATCH',
    `/assistants/${ABSENT}`,
    json({ name: 'x' }),
  ],
  [
    'the versions of an assistant that does not exist',
    404,
    'POST',
    `/assistants/${ABSENT}/versions`,
    json({}),
  ],
  ['an assistant of a graph that does not exist', 404, 'POST', '/assistants', json({ graph_id: 'absent' })],
  ['a cron that does not exist', 404, 'PATCH', `/runs/crons/${ABSENT}`, json({ enabled: false })],
  ['a route that does not exist', 404, 'GET', '/absent'],
  ['a body without an assistant', 422, 'POST', '/runs', json({ input: {} })],
  ['waiting without an assistant', 422, 'POST', '/runs/wait', json({ input: {} })],
  ['a stream mode that does not exist', 422, 'POST', '/runs', json({ ...RUN, stream_mode: 'telepathy' })],
  ['a strategy that does not exist', 422, 'POST', '/runs', json({ ...RUN, multitask_strategy: 'hope' })],
  ['a durability that does not exist', 422, 'POST', '/runs', json({ ...RUN, durability: 'sometimes' })],
  ['a negative delay', 422, 'POST', '/runs', json({ ...RUN, after_seconds: -1 })],
  ['keys of feedback that are empty', 422, 'POST', '/runs', json({ ...RUN, feedback_keys: [''] })],
  ['a recursion limit of zero', 422, 'POST', '/runs', json({ ...RUN, config: { recursion_limit: 0 } })],
  ['a thread id that is no uuid', 422, 'POST', '/threads', json({ thread_id: 'abc' })],
  ['a thread id in the path that is no uuid', 422, 'GET', '/threads/abc'],
  ['a run on a thread id that is no uuid', 422, 'POST', '/threads/abc/runs', json(RUN)],
  ['metadata that are a list', 422, 'POST', '/threads', json({ metadata: [1] })],
  ['a status that does not exist', 422, 'POST', '/threads/search', json({ status: 'lazy' })],
  ['a page of nothing', 422, 'POST', '/threads/search', json({ limit: 0 })],
  ['a page before the first', 422, 'POST', '/assistants/search', json({ offset: -1 })],
  ['a field that threads do not have', 422, 'POST', '/threads/search', json({ select: ['nope'] })],
  ['a path that is none', 422, 'POST', '/threads/search', json({ extract: { a: 'values..x' } })],
  ['more paths than ten', 422, 'POST', '/threads/search', json({ extract: ELEVEN })],
  ['a column that does not exist', 422, 'POST', '/assistants/search', json({ sort_by: 'config' })],
  ['an item without a key', 422, 'PUT', '/store/items', json({ namespace: ['a'], value: {} })],
  [
    'a comparison that does not exist',
    422,
    'POST',
    '/store/items/search',
    json({ filter: { a: { $like: 1 } } }),
  ],
  ['a schedule that does not exist', 422, 'POST', '/runs/crons', json({ ...RUN, schedule: 'never' })],
  [
    'a time zone that does not exist',
    422,
    'POST',
    '/runs/crons',
    json({ ...RUN, schedule: '@daily', timezone: 'Mars' }),
  ],
  [
    'a webhook to a metadata address',
    422,
    'POST',
    '/runs',
    json({ ...RUN, webhook: 'http://169.254.169.254/' }),
  ],
  ['a command of no protocol', 422, 'POST', `/threads/${ABSENT}/commands`, json({ id: 'x' })],
  [
    'a channel that does not exist',
    422,
    'POST',
    `/threads/${ABSENT}/stream/events`,
    json({ channels: ['x'] }),
  ],
  [
    'the stream of a thread id that is no uuid',
    422,
    'POST',
    '/threads/x/stream/events',
    json({ channels: ['values'] }),
  ],
  ['a cancelling of no runs', 422, 'POST', '/runs/cancel', json({})],
  [
    'a way of cancelling that does not exist',
    400,
    'POST',
    `/threads/${ABSENT}/runs/${ABSENT}/cancel?action=hope`,
  ],
  ['a body that is no JSON', 400, 'POST', '/threads', { text: '{"metadata":' }],
  [
    'a body nested too deep',
    422,
    'POST',
    '/threads',
    { text: `{"metadata":${'['.repeat(5_000)}${']'.repeat(5_000)}}` },
  ],
  [
    'an event id that names no event',
    400,
    'GET',
    `/threads/${ABSENT}/stream`,
    { headers: { 'last-event-id': 'x' } },
  ],
  ['a body of another type', 415, 'POST', '/threads', FORM],
];

const REFUSED: readonly Row[] = rowsOf(
  'raw HTTP',
  Object.fromEntries(
    REFUSALS.map(([title, status, method, path, asked]) => [
      `refuses ${title} with ${status}`,
      async (target: Target) => {
        const answer = await send(target, method, path, asked);
        expect([answer.status, answer.text]).toEqual([status, expect.any(String)]);
        const { detail } = answer.body as { detail: unknown };
        if (status === 422 && Array.isArray(detail))
          expect(detail).toContainEqual(
            expect.objectContaining({
              loc: expect.any(Array),
              msg: expect.any(String),
              type: expect.any(String),
            }),
          );
        else expect(detail).toEqual(expect.any(String));
      },
    ]),
  ),
);

const TOO_MUCH: readonly Row[] = rowsOf('raw HTTP', {
  'refuses a body that is announced as too large with 413, before it is sent': async (target) => {
    expect(await announce(target, '/threads', 80_000_000)).toEqual({
      status: 413,
      body: { detail: expect.stringContaining('too large') as unknown },
    });
  },
});

const CONFLICTS: readonly Row[] = rowsOf('raw HTTP', {
  'refuses a second run of the strategy reject with 409 and a detail': async (target) => {
    const { thread_id: id } = await made(target, '/threads');
    await made(target, `/threads/${id}/runs`, { ...RUN, after_seconds: 1_000 });
    for (const way of ['', '/wait', '/stream']) {
      const asked = json({ ...RUN, multitask_strategy: 'reject' });
      const answer = await send(target, 'POST', `/threads/${id}/runs${way}`, asked);
      expect([way, answer.status, answer.body]).toEqual([
        way,
        409,
        { detail: expect.stringContaining('has an active run') as unknown },
      ]);
    }
  },
  'gives a thread to one of many runs of the strategy reject': async (target) => {
    const { thread_id: id } = await made(target, '/threads');
    const body = { assistant_id: 'slow', input: { waitMs: 1_000 }, multitask_strategy: 'reject' };
    const asked = Array.from({ length: 8 }, () => send(target, 'POST', `/threads/${id}/runs`, { body }));
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(statuses.sort()).toEqual([200, ...Array<number>(7).fill(409)]);
  },
  'refuses a thread that exists with 409 and a detail': async (target) => {
    const { thread_id } = await made(target, '/threads');
    const answer = await send(target, 'POST', '/threads', json({ thread_id }));
    expect([answer.status, answer.body]).toEqual([409, { detail: expect.any(String) as unknown }]);
  },
});

const KEYS: readonly Row[] = rowsOf(
  'raw HTTP',
  {
    'refuses callers without a key, and with a wrong one, with 401': async ({ url }) => {
      for (const headers of [{}, { 'x-api-key': 'wrong' }] as Record<string, string>[]) {
        for (const path of ['/threads/search', '/a2a/echo', '/mcp']) {
          const answer = await send({ url, headers }, 'POST', path, { body: {} });
          expect([path, answer.status]).toEqual([path, 401]);
        }
        expect((await send({ url, headers }, 'GET', '/ok')).status).toBe(200);
      }
    },
  },
  'key',
);

export const HTTP_ROWS: readonly Row[] = [
  ...ROUTES,
  ...TUNED,
  ...REFUSED,
  ...TOO_MUCH,
  ...CONFLICTS,
  ...KEYS,
];
