import { join } from 'node:path';
import { openPool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { testPostgres, waitFor } from '#lib/testing';
import { ServerProcess } from '../testdata/start-server.js';
import { prepareDatabase } from '../testdata/store-fixture.js';
import { type ReceivedCall, WebhookReceiver } from '../testdata/webhook-receiver.js';

type Json = Readonly<Record<string, unknown>>;

const FOLDER = join(import.meta.dirname, '..', 'testdata', 'talking-agent');
const ENV = {
  RUN_WEBHOOK_PRIVATE_ADDRESSES: 'true',
  RUN_WEBHOOK_SECRET: 'a secret',
  AGENTPLANE_RUN_LEASE_MS: '1000',
};
const TOKEN = 'the-token-of-a-task';
const CREDENTIALS = 'the-credentials-of-a-receiver';
const NOBODYS = '01a2017a-7a97-7479-8f02-e1895e7b3c88';

const postgres = testPostgres();
const receivers: WebhookReceiver[] = [];
let uri: string;
let server: ServerProcess;

beforeAll(async () => {
  uri = (await postgres.freshDatabase(prepareDatabase)).uri;
  server = await ServerProcess.start({ uri, folder: FOLDER, env: ENV });
});
afterAll(() => server?.stop('SIGKILL'));
afterEach(() => {
  for (const receiver of receivers.splice(0)) receiver.stop();
});

async function receive(): Promise<WebhookReceiver> {
  const receiver = await WebhookReceiver.start();
  receivers.push(receiver);
  return receiver;
}

async function call(method: string, params: unknown, agent = 'echo', at = server): Promise<Json> {
  const response = await fetch(`${at.url}/a2a/${agent}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  return (await response.json()) as Json;
}

interface Named {
  readonly id: string;
  readonly contextId: string;
}

async function resultOf<T = Named>(method: string, params: unknown, agent?: string): Promise<T> {
  const answer = await call(method, params, agent);
  if (!('result' in answer)) throw new Error(JSON.stringify(answer));
  return answer['result'] as T;
}

let nth = 0;
const say = (more: object = {}, configuration: object = {}) => ({
  message: { role: 'user', messageId: `m${nth++}`, parts: [{ kind: 'text', text: 'hi' }], ...more },
  configuration,
});
const say10 = (configuration: object) => ({
  message: { role: 'ROLE_USER', messageId: `m${nth++}`, parts: [{ text: 'hi' }] },
  configuration,
});

/** State in the body of a notification of either version. */
function stateIn({ body }: ReceivedCall): unknown {
  const { task = body, statusUpdate = task } = body as Record<string, Json>;
  return (statusUpdate?.['status'] as Json)['state'];
}

async function stateSeen(receiver: WebhookReceiver, state: string): Promise<ReceivedCall> {
  return waitFor(() => receiver.calls.find((one) => stateIn(one) === state) ?? false);
}

describe('a receiver that a message of 0.3 names', () => {
  it('gets the task with its answer, its token, its credentials and a signature', async () => {
    const receiver = await receive();
    const authentication = { schemes: ['Bearer'], credentials: CREDENTIALS };
    const pushNotificationConfig = { url: receiver.url, token: TOKEN, authentication };
    const { id, contextId } = await resultOf('message/send', say({}, { pushNotificationConfig }));
    const { body, headers } = await stateSeen(receiver, 'completed');
    expect(body).toMatchObject({ kind: 'task', id, contextId, artifacts: [{ parts: [{ text: '1: hi' }] }] });
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'x-a2a-notification-token': TOKEN,
      authorization: `Bearer ${CREDENTIALS}`,
      'webhook-signature': expect.stringMatching(/^v1,/) as unknown,
    });
  });

  it('learns of work, of a question and of the end of its task', async () => {
    const receiver = await receive();
    const pushNotificationConfig = { url: receiver.url };
    const { id: taskId } = await resultOf('message/send', say({}, { pushNotificationConfig }), 'asking');
    const { body } = await stateSeen(receiver, 'input-required');
    expect(body).toMatchObject({ id: taskId, status: { message: { parts: expect.anything() as unknown } } });
    await resultOf('message/send', say({ taskId }), 'asking');
    expect((await stateSeen(receiver, 'completed')).body['id']).toBe(taskId);
  });

  it('learns that another message took the place of an answer', async () => {
    const receiver = await receive();
    const pushNotificationConfig = { url: receiver.url };
    const { contextId } = await resultOf('message/send', say({}, { pushNotificationConfig }), 'asking');
    await resultOf('message/send', say({ contextId }), 'asking');
    await stateSeen(receiver, 'canceled');
  });

  it('learns of the work and the end of a cancelled task', async () => {
    const receiver = await receive();
    const pushNotificationConfig = { url: receiver.url };
    const said = say({}, { pushNotificationConfig, blocking: false });
    const { id } = await resultOf('message/send', said, 'endless');
    await stateSeen(receiver, 'working');
    await resultOf('tasks/cancel', { id }, 'endless');
    await stateSeen(receiver, 'canceled');
  });
});

describe('a receiver of 1.0', () => {
  it('gets updates of the status, and the whole task with its answer', async () => {
    const receiver = await receive();
    const taskPushNotificationConfig = { url: receiver.url, token: TOKEN, id: 'mine' };
    const said = () => say10({ taskPushNotificationConfig, returnImmediately: true });
    const { task } = await resultOf<{ task: Named }>('SendMessage', said(), 'endless');
    const { body: working, headers } = await stateSeen(receiver, 'TASK_STATE_WORKING');
    expect(working).toMatchObject({ statusUpdate: { taskId: task.id, contextId: task.contextId } });
    expect(headers).toMatchObject({
      'content-type': 'application/a2a+json',
      'x-a2a-notification-token': TOKEN,
    });
    await resultOf('CancelTask', { id: task.id }, 'endless');
    expect((await stateSeen(receiver, 'TASK_STATE_CANCELED')).body).toHaveProperty('statusUpdate');
    const { task: answered } = await resultOf<{ task: Named }>('SendMessage', said());
    const { body } = await stateSeen(receiver, 'TASK_STATE_COMPLETED');
    expect(body).toMatchObject({ task: { id: answered.id, artifacts: [{ parts: [{ text: '1: hi' }] }] } });
  });
});

describe('a task with receivers', () => {
  it('takes, shows, lists and deletes receivers by 0.3, without their secrets', async () => {
    const { id: taskId } = await resultOf('message/send', say());
    const url = 'http://127.0.0.1:9/hook';
    const authentication = { schemes: ['Basic'], credentials: CREDENTIALS };
    const shown = {
      taskId,
      pushNotificationConfig: { id: taskId, url, authentication: { schemes: ['Basic'] } },
    };
    const config = { url, token: TOKEN, authentication };
    const method = (name: string) => `tasks/pushNotificationConfig/${name}`;
    expect(await resultOf(method('set'), { taskId, pushNotificationConfig: config })).toEqual(shown);
    const other = { id: 'other', url };
    await resultOf(method('set'), { taskId, pushNotificationConfig: other });
    expect(await resultOf(method('get'), { id: taskId })).toEqual(shown);
    const listed = await resultOf(method('list'), { id: taskId });
    expect(listed).toEqual([shown, { taskId, pushNotificationConfig: other }]);
    expect(await resultOf(method('delete'), { id: taskId, pushNotificationConfigId: 'other' })).toBeNull();
    expect(await resultOf(method('delete'), { id: taskId, pushNotificationConfigId: 'other' })).toBeNull();
    expect(await resultOf(method('list'), { id: taskId })).toEqual([shown]);
  });

  it('takes, shows, lists and deletes receivers by 1.0, by both spellings', async () => {
    const { id: taskId } = await resultOf('message/send', say());
    const shown = { taskId, id: 'a', url: 'http://127.0.0.1:9/', authentication: { scheme: 'Bearer' } };
    const authentication = { scheme: 'Bearer', credentials: CREDENTIALS };
    const { taskId: _, ...config } = { ...shown, authentication, task_id: taskId, token: TOKEN };
    expect(await resultOf('CreateTaskPushNotificationConfig', config)).toEqual(shown);
    expect(await resultOf('GetTaskPushNotificationConfig', { taskId, id: 'a' })).toEqual(shown);
    const list = () => resultOf('ListTaskPushNotificationConfigs', { taskId });
    expect(await list()).toEqual({ configs: [shown], nextPageToken: '' });
    expect(await resultOf('DeleteTaskPushNotificationConfig', { taskId, id: 'a' })).toEqual({});
    expect(await list()).toEqual({ configs: [], nextPageToken: '' });
    const gone = await call('GetTaskPushNotificationConfig', { taskId, id: 'a' });
    expect(gone['error']).toMatchObject({ code: -32001 });
  });

  it('takes ten receivers, and replaces one of them', async () => {
    const { id: taskId } = await resultOf('message/send', say());
    const set = (id: string) =>
      call('CreateTaskPushNotificationConfig', { taskId, id, url: 'http://127.0.0.1:9/' });
    for (let at = 0; at < 10; at++) expect(await set(`c${at}`)).toHaveProperty('result');
    expect((await set('c10'))['error']).toMatchObject({ code: -32602 });
    expect(await set('c9')).toHaveProperty('result');
  });

  it.each<[string, object, number]>([
    ['a task that does not exist', { taskId: NOBODYS, url: 'http://127.0.0.1:9/' }, -32001],
    ['no address', {}, -32602],
    ['an address of metadata', { url: 'http://169.254.169.254/' }, -32602],
    ['a path of the agent', { url: '/hook' }, -32602],
    ['an address with a password', { url: 'http://a:b@127.0.0.1:9/' }, -32602],
    ['a token with a line break', { url: 'http://127.0.0.1:9/', token: 'a\nb' }, -32602],
    [
      'a scheme with a space',
      { url: 'http://127.0.0.1:9/', authentication: { scheme: 'a b', credentials: 'x' } },
      -32602,
    ],
    [
      'a scheme without credentials',
      { url: 'http://127.0.0.1:9/', authentication: { scheme: 'Bearer' } },
      -32602,
    ],
  ])('refuses %s', async (_name, config, code) => {
    const { id: taskId } = await resultOf('message/send', say());
    const { error } = await call('CreateTaskPushNotificationConfig', { taskId, ...config });
    expect(error).toMatchObject({ code });
  });

  it('finds no task of another agent', async () => {
    const { id: taskId } = await resultOf('message/send', say());
    const { error } = await call('ListTaskPushNotificationConfigs', { taskId }, 'slow');
    expect(error).toMatchObject({ code: -32001 });
  });
});

it('drops the calls of a receiver that is deleted', async () => {
  const receiver = await receive();
  receiver.answers((response) => response.writeHead(503).end());
  const taskPushNotificationConfig = { url: receiver.url, id: 'gone' };
  const { task } = await resultOf<{ task: Named }>('SendMessage', say10({ taskPushNotificationConfig }));
  await waitFor(() => receiver.calls.length > 0);
  await resultOf('DeleteTaskPushNotificationConfig', { taskId: task.id, id: 'gone' });
  const pool = openPool({ uri, applicationName: 'test', log: createLogger('test', 'silent') });
  const left = await pool.query('SELECT FROM agentplane.webhooks WHERE push_task = $1', [task.id]);
  await pool.end();
  expect(left.rowCount).toBe(0);
});

it('finishes a run whose metadata look like those of a task', async () => {
  const client = server.client();
  const { thread_id: threadId } = await client.threads.create();
  const metadata = { a2a: { task_id: 'no id' } };
  await client.runs.wait(threadId, 'echo', { input: { messages: [] }, metadata });
  expect((await client.threads.get(threadId)).status).toBe('idle');
});

it('survives a server that is killed, with the receivers of its tasks', async () => {
  const database = await postgres.freshDatabase(prepareDatabase);
  const first = await ServerProcess.start({ uri: database.uri, folder: FOLDER, env: ENV });
  const receiver = await receive();
  const pushNotificationConfig = { url: receiver.url, token: TOKEN };
  const said = say({}, { pushNotificationConfig, blocking: false });
  const { result } = await call('message/send', said, 'slow', first);
  await first.stop('SIGKILL');
  const second = await ServerProcess.start({ uri: database.uri, folder: FOLDER, env: ENV });
  const { body, headers } = await stateSeen(receiver, 'completed');
  expect(body).toMatchObject({ id: (result as Named).id, artifacts: [{ parts: [{ text: 'at last' }] }] });
  expect(headers).toHaveProperty('x-a2a-notification-token', TOKEN);
  await second.stop('SIGKILL');
});
