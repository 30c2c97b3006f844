import { randomUUID } from 'node:crypto';
import { openPool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { itLong, steppedClock, testPostgres, waitFor } from '#lib/testing';
import { ServerProcess } from '../testdata/start-server.js';
import { prepareDatabase } from '../testdata/store-fixture.js';
import { WebhookReceiver } from '../testdata/webhook-receiver.js';

const EVERY_SECOND = '* * * * * *';
const ENV = { CRON_MIN_INTERVAL_SECONDS: '1', RUN_WEBHOOK_PRIVATE_ADDRESSES: 'true', MAX_CRONS: '20' };
const postgres = testPostgres();
const clock = steppedClock();
let uri: string;
/** For tests that leave it as it was. */
let usual: ServerProcess;
const servers: ServerProcess[] = [];

beforeAll(async () => {
  uri = (await postgres.freshDatabase(prepareDatabase)).uri;
  usual = await ServerProcess.start({ uri, env: ENV });
});
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop('SIGKILL')));
  await query('TRUNCATE agentplane.crons, agentplane.threads, agentplane.runs CASCADE');
});
afterAll(() => usual?.stop('SIGKILL'));

async function serve(env: Readonly<Record<string, string>> = {}): Promise<ServerProcess> {
  const server = await ServerProcess.start({ uri, env: { ...ENV, ...env } });
  servers.push(server);
  return server;
}

/** Runs of crons, by the moment for which they were made. */
async function query(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  const pool = openPool({ uri, applicationName: 'test', log: createLogger('test', 'silent') });
  try {
    return (await pool.query<Record<string, unknown>>(text, values)).rows;
  } finally {
    await pool.end();
  }
}

async function send(server: ServerProcess, method: string, path: string, body?: unknown) {
  const response = await fetch(server.url + path, {
    method,
    headers: { 'content-type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : (JSON.parse(text) as unknown) };
}

describe('the crons of the SDK', () => {
  it('creates, finds, changes, counts and removes crons with all their fields', async () => {
    const server = usual;
    const { crons, threads } = server.client();
    const { thread_id: threadId } = await threads.create();
    const made = await crons.create('counter', {
      schedule: '0 9 * * MON-FRI',
      timezone: 'Europe/Berlin',
      endTime: '2099-01-01T00:00:00Z',
      input: { waitMs: 1 },
      config: { configurable: { word: 'a' } },
      context: { b: 1 },
      metadata: { owner: 'alice' },
      interruptBefore: ['count'],
      durability: 'sync',
      streamMode: 'updates',
      onRunCompleted: 'keep',
      multitaskStrategy: 'reject',
      webhook: 'https://example.com/hook',
    });
    expect(made).toMatchObject({
      schedule: '0 9 * * MON-FRI',
      timezone: 'Europe/Berlin',
      end_time: '2099-01-01T00:00:00.000Z',
      thread_id: null,
      on_run_completed: 'keep',
      enabled: true,
      metadata: { owner: 'alice' },
      next_run_date: expect.stringMatching(/T0[78]:00:00\.000Z$/),
      payload: {
        input: { waitMs: 1 },
        config: { configurable: { word: 'a' } },
        context: { b: 1 },
        interrupt_before: ['count'],
        durability: 'sync',
        stream_mode: ['updates'],
        multitask_strategy: 'reject',
        webhook: 'https://example.com/hook',
      },
    });
    const onThread = await crons.createForThread(threadId, 'counter', { schedule: '@daily', enabled: false });
    expect(onThread).toMatchObject({ thread_id: threadId, next_run_date: null, on_run_completed: 'keep' });
    expect(await crons.search({ metadata: { owner: 'alice' } })).toEqual([
      expect.objectContaining({ cron_id: made.cron_id }),
    ]);
    expect(await crons.search({ threadId, select: ['cron_id', 'enabled'] })).toEqual([
      { cron_id: onThread.cron_id, enabled: false },
    ]);
    expect(await crons.search({ enabled: true, sortBy: 'next_run_date', sortOrder: 'asc' })).toHaveLength(1);
    expect([await crons.count(), await crons.count({ threadId })]).toEqual([2, 1]);
    const changed = await crons.update(made.cron_id, {
      schedule: '0 10 * * *',
      timezone: 'UTC',
      endTime: null,
      metadata: { more: 1 },
      input: { waitMs: 2 },
    });
    expect(changed).toMatchObject({
      schedule: '0 10 * * *',
      timezone: 'UTC',
      end_time: null,
      metadata: { owner: 'alice', more: 1 },
      next_run_date: expect.stringContaining('T10:00:00.000Z'),
      payload: { input: { waitMs: 2 }, context: { b: 1 }, webhook: 'https://example.com/hook' },
    });
    expect(await crons.update(made.cron_id, { enabled: false })).toMatchObject({ next_run_date: null });
    expect(await crons.update(made.cron_id, { enabled: true })).toMatchObject({
      next_run_date: changed.next_run_date,
    });
    expect((await send(server, 'GET', `/runs/crons/${made.cron_id}`)).body).toMatchObject({ enabled: true });
    await crons.delete(made.cron_id);
    await threads.delete(threadId);
    expect(await crons.count()).toBe(0);
    await expect(crons.delete(made.cron_id)).rejects.toThrow('404');
    const info = await send(server, 'GET', '/info');
    expect(info.body).toMatchObject({ flags: { crons: true } });
  });

  it('keeps both of two changes that are made at the same time', async () => {
    const server = usual;
    const { crons } = server.client();
    const { cron_id: cronId } = await crons.create('counter', { schedule: '@daily', input: {} });
    for (let at = 1; at <= 10; at++) {
      await Promise.all([
        crons.update(cronId, { input: { at } }),
        crons.update(cronId, { context: { at } }),
        crons.update(cronId, { metadata: { at } }),
      ]);
      expect((await send(server, 'GET', `/runs/crons/${cronId}`)).body).toMatchObject({
        payload: { input: { at }, context: { at } },
        metadata: { at },
      });
    }
  });

  it('refuses what cannot fire or belongs to a run, by field and reason', async () => {
    const server = await serve({ CRON_MIN_INTERVAL_SECONDS: '60', MAX_CRONS: '1' });
    const create = (more: object) =>
      send(server, 'POST', '/runs/crons', { assistant_id: 'counter', schedule: '* * * * *', ...more });
    const refusals: [object, string, RegExp][] = [
      [{ schedule: '61 * * * *' }, 'schedule', /Invalid value for minute/],
      [{ schedule: EVERY_SECOND }, 'schedule', /60 s is the least/],
      [{ schedule: `0${',0'.repeat(500)} * * * *` }, 'schedule', /longer than 1000 characters/],
      [{ schedule: '0 0 30 2 *' }, 'schedule', /never fires/],
      [{ timezone: 'Mars/Olympus' }, 'timezone', /not the name of a time zone/],
      [{ end_time: '2020-01-01T00:00:00Z' }, 'end_time', /nothing fires/],
      [{ end_time: 'soon' }, 'end_time', /./],
      [{ after_seconds: 3 }, 'after_seconds', /not supported/],
      [{ webhook: 'http://169.254.169.254/' }, 'webhook', /metadata/],
      [{ thread_id: randomUUID() }, 'thread_id', /POST \/threads\/\{thread_id\}\/runs\/crons/],
    ];
    for (const [more, field, message] of refusals) {
      const { status, body } = await create(more);
      expect([more, status, body]).toEqual([
        more,
        422,
        { detail: [expect.objectContaining({ loc: ['body', field], msg: expect.stringMatching(message) })] },
      ]);
    }
    expect((await create({ assistant_id: 'nobody' })).status).toBe(404);
    expect((await create({})).status).toBe(200);
    expect(await create({})).toMatchObject({
      status: 409,
      body: { detail: expect.stringMatching(/MAX_CRONS/) },
    });
  });

  it('keeps a cron on the thread of its path, and takes the former name of durability', async () => {
    const server = usual;
    const { thread_id: threadId } = await server.client().threads.create();
    const path = `/threads/${threadId}/runs/crons`;
    const order = { assistant_id: 'counter', schedule: '@daily', durability: 'sync' };
    expect((await send(server, 'POST', path, { ...order, thread_id: randomUUID() })).status).toBe(422);
    const { status, body } = await send(server, 'POST', path, { ...order, thread_id: threadId });
    const { cron_id: id } = body as { cron_id: string };
    expect([status, body]).toMatchObject([200, { thread_id: threadId, payload: { durability: 'sync' } }]);
    expect(await send(server, 'PATCH', `/runs/crons/${id}`, { thread_id: randomUUID() })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'thread_id'], msg: expect.stringContaining(threadId) }] },
    });
    const changed = await send(server, 'PATCH', `/runs/crons/${id}`, { checkpoint_during: false });
    expect(changed.body).toMatchObject({ payload: { checkpoint_during: false } });
    expect(changed.body).not.toHaveProperty('payload.durability');
  });
});

describe('the fires of a cron', () => {
  itLong('makes one run for each moment among three servers, some of which die', async () => {
    const three = await Promise.all([serve(), serve(), serve()]);
    const [first, second, third] = three;
    const { crons } = first.client();
    const made = await Promise.all(
      Array.from({ length: 4 }, () =>
        crons.create('counter', {
          schedule: EVERY_SECOND,
          onRunCompleted: 'keep',
          input: {},
          metadata: { a: 1 },
        }),
      ),
    );
    const firesOf = async (cronId: string | undefined) =>
      (
        await query(
          `SELECT created_at FROM agentplane.runs WHERE metadata ->> 'cron_id' = $1 ORDER BY ordinal`,
          [cronId],
        )
      ).map((row) => (row['created_at'] as Date).getTime());
    await waitFor(async () => (await firesOf(made[0]?.cron_id)).length >= 3);
    first.signal('SIGKILL');
    await waitFor(async () => (await firesOf(made[0]?.cron_id)).length >= 5);
    second.signal('SIGKILL');
    await waitFor(async () => (await firesOf(made[0]?.cron_id)).length >= 8);
    await Promise.all(made.map(({ cron_id: id }) => third.client().crons.update(id, { enabled: false })));
    for (const { cron_id: id } of made) {
      const rows = await query(
        `SELECT count(*)::int AS runs, count(DISTINCT thread_id)::int AS threads FROM agentplane.runs WHERE metadata ->> 'cron_id' = $1`,
        [id],
      );
      expect(rows[0]?.['runs']).toBeGreaterThanOrEqual(6);
      expect(rows[0]?.['threads']).toBe(rows[0]?.['runs']);
    }
    const [threads] = await query(
      `SELECT count(*)::int AS found FROM agentplane.threads WHERE metadata @> '{"a": 1}'`,
    );
    const [runs] = await query('SELECT count(*)::int AS found FROM agentplane.runs');
    expect(threads).toEqual(runs);
  });

  itLong('makes one run for all the moments of an hour without servers, and none after the end', async () => {
    const server = await serve();
    const { crons, threads } = server.client();
    const { thread_id: threadId } = await threads.create();
    const { thread_id: endedId } = await threads.create();
    const { cron_id: cronId } = await crons.createForThread(threadId, 'counter', {
      schedule: '* * * * *',
      input: {},
    });
    const { cron_id: endedCron } = await crons.createForThread(endedId, 'counter', {
      schedule: '* * * * *',
      input: {},
      endTime: '2099-01-01T00:00:00Z',
    });
    await server.stop('SIGKILL');
    await query(
      `UPDATE agentplane.crons SET next_run_date = next_run_date - interval '1 hour',
        end_time = CASE WHEN end_time IS NULL THEN NULL ELSE clock_timestamp() - interval '10 minutes' END`,
    );
    const again = await serve();
    const found = await waitFor(async () => {
      const { last_run_id: id, next_run_date: next } = (await send(again, 'GET', `/runs/crons/${cronId}`))
        .body as Record<string, string>;
      return id && Date.parse(String(next)) > Date.now() - 1_000 && id;
    });
    await again.client().runs.join(threadId, found);
    expect((await again.client().runs.list(threadId)).length).toBeLessThanOrEqual(2); // a minute may just begin
    expect(await again.client().threads.get(threadId)).toMatchObject({ status: 'idle' });
    expect((await send(again, 'GET', `/runs/crons/${endedCron}`)).body).toMatchObject({
      next_run_date: null,
      last_run_id: null,
    });
    expect(await again.client().runs.list(endedId)).toEqual([]);
  });

  it('leaves nothing of runs whose threads it deletes, and calls their webhook', async () => {
    const server = usual;
    const receiver = await WebhookReceiver.start();
    try {
      const { cron_id: cronId } = await server.client().crons.create('counter', {
        schedule: EVERY_SECOND,
        input: {},
        webhook: receiver.url,
        metadata: { b: 2 },
      });
      await waitFor(() => receiver.calls.length >= 2);
      await server.client().crons.delete(cronId);
      expect(receiver.calls[0]?.body).toMatchObject({
        status: 'success',
        values: { steps: ['step 1'] },
        metadata: { b: 2, cron_id: cronId },
      });
      await waitFor(async () => (await query('SELECT 1 FROM agentplane.runs')).length === 0);
      expect(await query('SELECT 1 FROM agentplane.threads')).toEqual([]);
    } finally {
      receiver.stop();
    }
  });

  it('disables a cron whose assistant is removed, with the reason, and names why a fire made no run', async () => {
    const server = usual;
    const { assistants, crons, threads, runs } = server.client();
    const assistant = await assistants.create({ graphId: 'counter' });
    const { cron_id: orphan } = await crons.create(assistant.assistant_id, {
      schedule: EVERY_SECOND,
      input: {},
    });
    const { thread_id: threadId } = await threads.create();
    await runs.create(threadId, 'slow', { input: { waitMs: 20_000 } });
    const { cron_id: busy } = await crons.createForThread(threadId, 'counter', {
      schedule: EVERY_SECOND,
      input: {},
      multitaskStrategy: 'reject',
    });
    await assistants.delete(assistant.assistant_id);
    const cron = (id: string) => send(server, 'GET', `/runs/crons/${id}`);
    await waitFor(async () => JSON.stringify(await cron(orphan)).includes('"enabled":false'));
    expect((await cron(orphan)).body).toMatchObject({
      next_run_date: null,
      disabled_reason: `Assistant ${assistant.assistant_id} not found; it was removed`,
    });
    await waitFor(async () => JSON.stringify(await cron(busy)).includes('has an active run'));
    expect((await cron(busy)).body).toMatchObject({ enabled: true, last_run_id: null });
    expect(await runs.list(threadId)).toHaveLength(1);
  });

  it('disables a cron whose schedule cannot be read, and fires those behind it', async () => {
    const server = usual;
    const { crons } = server.client();
    const asked = { schedule: '@yearly', input: {}, onRunCompleted: 'keep' } as const;
    const [odd, good] = [await crons.create('counter', asked), await crons.create('counter', asked)];
    // leftovers of another version, or of other time zones of the machine
    await query(
      `UPDATE agentplane.crons SET timezone = CASE cron_id WHEN $1 THEN 'Mars/Olympus' END,
        next_run_date = date_trunc('second', clock_timestamp()) - CASE cron_id WHEN $1 THEN 2 ELSE 1 END * interval '1 s'`,
      [odd.cron_id],
    );
    await waitFor(async () => (await query('SELECT 1 FROM agentplane.runs')).length > 0);
    expect((await send(server, 'GET', `/runs/crons/${good.cron_id}`)).body).toMatchObject({ enabled: true });
    expect((await send(server, 'GET', `/runs/crons/${odd.cron_id}`)).body).toMatchObject({
      enabled: false,
      next_run_date: null,
      disabled_reason: expect.stringMatching(/schedule or time zone cannot be read/),
    });
  });

  (clock ? itLong : it.skip)(
    'goes by the time of the database at a server whose clock is set by an hour',
    async () => {
      clock?.step(0);
      const server = await serve(clock?.environment);
      const { crons } = server.client();
      const { cron_id: yearly } = await crons.create('counter', {
        schedule: '@yearly',
        input: {},
        onRunCompleted: 'keep',
      });
      clock?.step(3_600);
      const before = Date.now();
      const { cron_id: often } = await crons.create('counter', {
        schedule: EVERY_SECOND,
        input: {},
        onRunCompleted: 'keep',
      });
      const runsOf = (id: string) =>
        query(`SELECT created_at FROM agentplane.runs WHERE metadata ->> 'cron_id' = $1`, [id]);
      await waitFor(async () => (await runsOf(often)).length >= 3);
      clock?.step(-3_600);
      const seen = (await runsOf(often)).length;
      await waitFor(async () => (await runsOf(often)).length >= seen + 2);
      const moments = (await runsOf(often)).map((row) => (row['created_at'] as Date).getTime());
      expect(Math.min(...moments)).toBeGreaterThanOrEqual(before - 1_000);
      expect(Math.max(...moments)).toBeLessThanOrEqual(Date.now() + 1_000);
      expect(moments.length).toBeLessThanOrEqual((Date.now() - before) / 1_000 + 2);
      expect(await runsOf(yearly)).toEqual([]);
    },
  );
});
