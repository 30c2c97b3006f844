import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { itLong, testPostgres, waitFor } from '#lib/testing';
import { ServerProcess } from '../testdata/start-server.js';
import { prepareDatabase } from '../testdata/store-fixture.js';
import { WebhookReceiver } from '../testdata/webhook-receiver.js';

const KEY = Buffer.from('the secret of a deployment');
const SECRETS = `whsec_${KEY.toString('base64')}, the one before`;
const ENV = { RUN_WEBHOOK_PRIVATE_ADDRESSES: 'true', RUN_WEBHOOK_SECRET: SECRETS };

/** Node drops an upgrade without a listener. */
const UPGRADE = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n';

const postgres = testPostgres();
const servers: ServerProcess[] = [];
const receivers: WebhookReceiver[] = [];

async function serve(
  uri: string,
  env: Readonly<Record<string, string>> = ENV,
  folder?: string,
): Promise<ServerProcess> {
  const server = await ServerProcess.start({ uri, env, ...(folder === undefined ? {} : { folder }) });
  servers.push(server);
  return server;
}

async function receive(): Promise<WebhookReceiver> {
  const receiver = await WebhookReceiver.start();
  receivers.push(receiver);
  return receiver;
}

afterEach(async () => {
  for (const receiver of receivers.splice(0)) receiver.stop();
  await Promise.all(servers.splice(0).map((server) => server.stop('SIGKILL')));
});

async function post(
  server: ServerProcess,
  path: string,
  body: unknown,
): Promise<{ status: number; text: string }> {
  const response = await fetch(server.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
}

/** Delivery state of a run's webhook. */
async function stateOf(server: ServerProcess, threadId: string, runId: string): Promise<unknown> {
  const run: object = await server.client().runs.get(threadId, runId);
  return 'webhook' in run ? run.webhook : undefined;
}

describe('the sender of webhooks', () => {
  let server: ServerProcess;
  beforeAll(async () => {
    server = await ServerProcess.start({
      uri: (await postgres.freshDatabase(prepareDatabase)).uri,
      env: ENV,
    });
  });
  afterAll(() => server?.stop('SIGKILL'));

  it('sends only the fields that the agent allows', async () => {
    const folder = join(import.meta.dirname, '..', 'testdata', 'mounted');
    const mounted = await serve((await postgres.freshDatabase(prepareDatabase)).uri, ENV, folder);
    const receiver = await receive();
    const asked = { assistant_id: 'seen', input: {}, webhook: receiver.url };
    const { text } = await post(mounted, '/team/agent/runs', asked);
    const { run_id: runId } = JSON.parse(text) as { run_id: string };
    const [call] = await waitFor(() => receiver.of(runId).length > 0 && receiver.of(runId));
    expect(Object.keys(call?.body ?? {})).toEqual(['run_id', 'status', 'webhook_sent_at']);
  });

  it('sends the run, its values and times, signed with every secret, once the run has ended', async () => {
    const receiver = await receive();
    const client = server.client();
    const { thread_id: threadId } = await client.threads.create();
    const run = await client.runs.create(threadId, 'counter', {
      input: {},
      webhook: receiver.url,
      metadata: { order: 7 },
    });
    const [call] = await waitFor(() => receiver.of(run.run_id).length > 0 && receiver.of(run.run_id));
    expect(call?.body).toMatchObject({
      run_id: run.run_id,
      thread_id: threadId,
      assistant_id: run.assistant_id,
      status: 'success',
      metadata: { order: 7 },
      error: null,
      values: { steps: ['step 1'] },
      multitask_strategy: 'enqueue',
      kwargs: { webhook: receiver.url },
    });
    expect(call?.body['kwargs']).not.toHaveProperty('caller');
    const times = ['created_at', 'run_started_at', 'run_ended_at', 'webhook_sent_at'].map((name) =>
      Date.parse(String(call?.body[name])),
    );
    expect([...times].sort((a, b) => a - b)).toEqual(times);
    expect(call?.headers).toMatchObject({ 'content-type': 'application/json', 'webhook-id': run.run_id });
    const { 'webhook-timestamp': timestamp, 'webhook-signature': signature } = call?.headers ?? {};
    const sign = (key: Buffer | string) =>
      `v1,${createHmac('sha256', key)
        .update(`${run.run_id}.${String(timestamp)}.${call?.text}`)
        .digest('base64')}`;
    expect(signature).toBe(`${sign(KEY)} ${sign('the one before')}`);
    await waitFor(async () => {
      const state = await stateOf(server, threadId, run.run_id);
      return JSON.stringify(state)?.includes('delivered') && state;
    });
    expect(await stateOf(server, threadId, run.run_id)).toEqual({
      url: receiver.url,
      state: 'delivered',
      attempts: 1,
      next_attempt_at: null,
      last_error: null,
    });
  });

  it('sends runs without a thread, that fail, that are interrupted and that never begin', async () => {
    const receiver = await receive();
    const client = server.client();
    const webhook = receiver.url;
    await client.runs.wait(null, 'counter', { input: {}, webhook });
    const failed = await post(server, '/runs/wait', { assistant_id: 'failing', input: {}, webhook });
    expect(failed.text).toContain('the node gave up');
    const { thread_id: threadId } = await client.threads.create();
    await client.runs.wait(threadId, 'asking', { input: {}, webhook });
    const waiting = await client.runs.create(threadId, 'counter', {
      input: { file: '\u0000' },
      webhook,
      afterSeconds: 1_000,
    });
    await client.runs.cancel(threadId, waiting.run_id);
    await waitFor(() => receiver.calls.length === 4);
    const told = receiver.calls.map(({ body: { status, values, error } }) => ({ status, values, error }));
    expect(told).toEqual(
      expect.arrayContaining([
        { status: 'success', values: { steps: ['step 1'] }, error: null },
        {
          status: 'error',
          values: { steps: ['good'] },
          error: { error: 'RangeError', message: 'the node gave up' },
        },
        { status: 'success', values: expect.anything(), error: null },
        { status: 'interrupted', values: null, error: null },
      ]),
    );
  });

  itLong(
    'repeats a call with the same id after another protocol, a reset and a redirect, which it does not follow',
    async () => {
      const [receiver, forbidden] = [await receive(), await receive()];
      receiver.answers((response, nth) => {
        if (nth === 1) response.socket?.write(UPGRADE);
        else if (nth === 2) response.socket?.resetAndDestroy();
        else if (nth === 3) response.writeHead(307, { location: forbidden.url }).end();
        else response.writeHead(200).end();
      });
      const { thread_id: threadId } = await server.client().threads.create();
      const { run_id: runId } = await server
        .client()
        .runs.create(threadId, 'counter', { input: {}, webhook: receiver.url });
      await waitFor(() => receiver.calls.length === 1);
      await waitFor(async () =>
        JSON.stringify(await stateOf(server, threadId, runId)).includes('the receiver answered 101'),
      );
      await waitFor(() => receiver.calls.length === 4);
      expect(new Set(receiver.calls.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([runId]));
      expect(forbidden.calls).toEqual([]);
      const warnings = server.log
        .filter(({ msg }) => msg.startsWith('webhook failed'))
        .map(({ error }) => error);
      expect(warnings).toEqual([
        'the receiver answered 101',
        'calling failed: ECONNRESET',
        'the receiver answered 307; redirects are not followed',
      ]);
    },
  );

  it('ends with the time for retries, or at once when the receiver answers 410', async () => {
    const impatient = await serve((await postgres.freshDatabase(prepareDatabase)).uri, {
      ...ENV,
      RUN_WEBHOOK_RETRY_SECONDS: '1',
    });
    const receiver = await receive();
    receiver.answers((response, nth) => response.writeHead(nth === 1 ? 410 : 503).end());
    for (const status of [410, 503]) {
      const { thread_id: threadId } = await impatient.client().threads.create();
      const { run_id: runId } = await impatient
        .client()
        .runs.create(threadId, 'counter', { input: {}, webhook: receiver.url });
      const state = await waitFor(async () => {
        const found = await stateOf(impatient, threadId, runId);
        return JSON.stringify(found)?.includes('failed') && found;
      });
      expect(state).toMatchObject({
        state: 'failed',
        attempts: 1,
        next_attempt_at: null,
        last_error: `the receiver answered ${status}`,
      });
    }
  });

  it('delays neither runs nor other webhooks when a receiver hangs', async () => {
    const [hanging, good] = [await receive(), await receive()];
    hanging.answers(() => undefined);
    const submit = (webhook: string) => server.client().runs.wait(null, 'counter', { input: {}, webhook });
    await Promise.all(Array.from({ length: 60 }, () => submit(hanging.url)));
    await waitFor(() => hanging.calls.length === 1);
    await Promise.all(Array.from({ length: 20 }, () => submit(good.url)));
    await waitFor(() => good.calls.length === 20);
    // its first call waits still
    expect(hanging.calls.length).toBe(1);
  });

  it('delays no webhook of a receiver that answers while sixty others hang', async () => {
    const good = await receive();
    const hanging = await Promise.all(Array.from({ length: 60 }, receive));
    for (const receiver of hanging) receiver.answers(() => undefined);
    const submit = (webhook: string) => server.client().runs.wait(null, 'counter', { input: {}, webhook });
    await submit(good.url);
    await waitFor(() => good.calls.length === 1);
    await Promise.all([...hanging, ...hanging].map(({ url }) => submit(url)));
    await waitFor(() => hanging.filter(({ calls }) => calls.length > 0).length >= 12);
    await Promise.all(Array.from({ length: 20 }, () => submit(good.url)));
    await waitFor(() => good.calls.length === 21);
  });

  it('makes a large call of a receiver that answers while those to others hang', async () => {
    const [good, ...hanging] = await Promise.all(Array.from({ length: 5 }, receive));
    if (!good) throw new Error('no receiver');
    for (const receiver of hanging) receiver.answers(() => undefined);
    const called = (): number => hanging.filter(({ calls }) => calls.length > 0).length;
    const submit = (webhook: string, input = {}) =>
      server.client().runs.wait(null, 'counter', { input, webhook });
    const large = { file: 'x'.repeat(1_500_000) };
    await submit(good.url);
    await waitFor(() => good.calls.length === 1);
    await Promise.all(hanging.map(({ url }) => submit(url, large)));
    await waitFor(() => called() > 0);
    await submit(good.url, large);
    await waitFor(async () => {
      if (good.calls.some(({ text }) => text.length > large.file.length)) return true;
      // on a busy machine its last call may have taken so long that it counts as slow
      await submit(good.url);
      return false;
    });
    expect(called()).toBeLessThan(hanging.length);
  });

  itLong('repeats the call of a server that died', async () => {
    const { uri } = await postgres.freshDatabase(prepareDatabase);
    const [first, second] = [await serve(uri), await serve(uri)];
    const receiver = await receive();
    receiver.answers((response, nth) => {
      if (nth > 1) response.writeHead(204).end();
      else {
        first.signal('SIGKILL');
        second.signal('SIGKILL');
      }
    });
    const { thread_id: threadId } = await first.client().threads.create();
    const { run_id: runId } = await first
      .client()
      .runs.create(threadId, 'counter', { input: {}, webhook: receiver.url });
    await Promise.all([first.exited, second.exited]);
    const third = await serve(uri);
    await waitFor(async () =>
      JSON.stringify(await stateOf(third, threadId, runId))?.includes('"state":"delivered"'),
    );
    expect(receiver.of(runId)).toHaveLength(2);
  });

  it('calls once for each of many runs of three servers', async () => {
    const { uri } = await postgres.freshDatabase(prepareDatabase);
    const three = await Promise.all([serve(uri), serve(uri), serve(uri)]);
    const receiver = await receive();
    await Promise.all(
      three.flatMap((server) =>
        Array.from({ length: 20 }, () =>
          server.client().runs.wait(null, 'counter', { input: {}, webhook: receiver.url }),
        ),
      ),
    );
    await waitFor(() => receiver.calls.length >= 60);
    expect(new Set(receiver.calls.map(({ body }) => body['run_id'])).size).toBe(60);
    expect(receiver.calls).toHaveLength(60);
  });
});

describe('the policy of webhooks', () => {
  let server: ServerProcess;
  beforeAll(async () => {
    server = await ServerProcess.start({ uri: (await postgres.freshDatabase(prepareDatabase)).uri });
  });
  afterAll(() => server.stop('SIGKILL'));

  it.each([
    ['http://127.0.0.1:1/', /loopback or a private network; set RUN_WEBHOOK_PRIVATE_ADDRESSES=true/],
    ['http://localhost/', /loopback or a private network/],
    ['http://2130706433/', /loopback or a private network/],
    ['http://[::1]/', /loopback or a private network/],
    ['http://[::ffff:10.0.0.1]/', /loopback or a private network/],
    ['http://192.168.1.1/', /loopback or a private network/],
    ['http://169.254.169.254/latest/meta-data', /link-local, metadata/],
    ['http://0xa9fea9fe/', /link-local, metadata/],
    ['http://metadata.google.internal/', /link-local, metadata/],
    ['http://0.0.0.0/', /link-local, metadata/],
    ['https://user:password@example.com/', /holds a user name or a password/],
    ['ftp://example.com/', /only http and https/],
    ['file:///etc/passwd', /only http and https/],
    ['example.com/hook', /not an absolute URL/],
    ['/hook', /names an HTTP app of the agent \(http\.app\), and the agent has none/],
    [`https://example.com/${'x'.repeat(2_048)}`, /longer than 2048 characters/],
  ])('refuses %s', async (webhook, why) => {
    const body = { assistant_id: 'counter', input: {}, webhook };
    const batch = [{ assistant_id: 'counter', input: {} }, body];
    for (const answer of [await post(server, '/runs/wait', body), await post(server, '/runs/batch', batch)]) {
      expect(answer.status).toBe(422);
      expect(JSON.parse(answer.text)).toEqual({
        detail: [{ loc: ['body', 'webhook'], msg: expect.stringMatching(why), type: 'webhook_refused' }],
      });
    }
  });
});
