import {
  newestClient,
  olderClient,
  type A2aTestClient,
} from '../../../../apps/agent-server/testdata/a2a-clients.js';
import { send } from '../clients/raw-http.js';
import { type Row, rowsOf, type Target } from '../target.js';

type Connect = (agent: string) => Promise<A2aTestClient>;

const query = (agent: string): string => `/.well-known/agent-card.json?assistant_id=${agent}`;
const say = (text: string) => ({ parts: [{ text }] });

const CLIENTS: Readonly<Record<string, (target: Target) => Connect>> = {
  'A2A SDK 1.3': (target) => (agent) => newestClient(target.url, query(agent), false, target.headers),
  'A2A SDK 1.3 on the wire of 0.3': (target) => (agent) =>
    newestClient(target.url, query(agent), true, target.headers),
  'A2A SDK 0.3': (target) => (agent) => olderClient(target.url, query(agent), target.headers),
};

const CHECKS: Readonly<Record<string, (connect: Connect) => Promise<void>>> = {
  'answers a message and shows its task again': async (connect) => {
    const client = await connect('echo');
    const task = await client.send(say('hello'));
    expect(task).toMatchObject({ state: 'completed', text: '1: hello', statusText: '1: hello' });
    expect(await client.get(task.id)).toEqual(task);
  },
  'continues a conversation in its context': async (connect) => {
    const client = await connect('echo');
    const { contextId, id } = await client.send(say('one'));
    const next = await client.send({ ...say('two'), contextId });
    expect(next).toMatchObject({ contextId, text: '3: two' });
    expect(next.id).not.toBe(id);
    expect((await client.get(id)).text).toBe('1: one');
  },
  'streams an answer whose pieces are the text of the task': async (connect) => {
    const client = await connect('echo');
    const { events, text, taskId } = await client.stream(say('piece by piece'));
    expect(events.slice(0, 3)).toEqual(['task submitted', 'status working', 'artifact']);
    expect(new Set(events.slice(3, -1))).toEqual(new Set(['artifact+']));
    expect(events.length).toBeGreaterThan(10);
    // only the wire of 0.3 marks the last event, and only its own client shows the mark
    expect(events.at(-1)).toMatch(/^status completed( final)?$/);
    expect(text).toBe('1: piece by piece');
    expect((await client.get(taskId)).text).toBe(text);
  },
  'asks, and goes on with the answer under the same task': async (connect) => {
    const client = await connect('asking');
    const asked = await client.send(say('paint it'));
    expect(asked).toMatchObject({ state: 'input-required', statusText: 'Which colour?', text: '' });
    const { id: taskId, contextId } = asked;
    const done = await client.send({ ...say('red'), taskId, contextId });
    expect(done).toMatchObject({ id: taskId, contextId, state: 'completed', text: 'painted red' });
    expect(await client.get(taskId)).toEqual(done);
  },
  'fails a task whose agent fails': async (connect) => {
    const task = await (await connect('failing')).send(say('x'));
    expect(task).toMatchObject({ state: 'failed', statusText: 'The agent failed to answer', text: '' });
  },
  'says why a stream of a task cannot begin': async (connect) => {
    const client = await connect('echo');
    await expect(client.subscribe('01a2017a-7a97-7479-8f02-e1895e7b3c88')).rejects.toThrow(/Task not found/);
  },
  'answers at once when asked to, streams to several readers, and cancels': async (connect) => {
    const client = await connect('asking');
    const { id } = await client.send({ ...say('x'), isBlocking: false });
    const seen = await Promise.all([client.subscribe(id), client.subscribe(id)]);
    for (const { events, taskId } of seen)
      expect([taskId, events.at(-1)]).toEqual([id, expect.stringMatching(/^status input-required/)]);
    expect((await client.cancel(id)).state).toBe('canceled');
    expect((await client.get(id)).state).toBe('canceled');
  },
};

const HTTP = rowsOf('raw HTTP', {
  'shows the card of an assistant at both addresses': async (target) => {
    const card = await send(target, 'GET', query('echo'));
    expect(card.body).toMatchObject({
      name: 'echo',
      description: 'Repeats the last message.',
      protocolVersion: '0.3.0',
      url: expect.stringContaining('/a2a/') as unknown,
      skills: expect.any(Array) as unknown,
      defaultInputModes: expect.any(Array) as unknown,
      defaultOutputModes: expect.any(Array) as unknown,
    });
    expect((await send(target, 'GET', '/a2a/echo/.well-known/agent-card.json')).body).toEqual(card.body);
    expect((await send(target, 'GET', query('absent'))).status).toBe(404);
    expect((await send(target, 'GET', query('counter'))).status).toBe(404);
  },
  'continues a finished task of 0.3 as another in its context': async (target) => {
    const ask = async (text: string, more: object = {}) => {
      const message = { role: 'user', parts: [{ kind: 'text', text }], messageId: text, ...more };
      const body = { jsonrpc: '2.0', id: text, method: 'message/send', params: { message } };
      const headers = { accept: 'application/json' };
      return (await send(target, 'POST', '/a2a/echo', { body, headers })).body as {
        id: string;
        result: { id: string; contextId: string; artifacts: { parts: { kind: string; text: string }[] }[] };
      };
    };
    const first = await ask('one');
    expect(first).toMatchObject({
      id: 'one',
      result: { artifacts: [{ parts: [{ kind: 'text', text: '1: one' }] }] },
    });
    const { id: taskId, contextId } = first.result;
    const next = await ask('two', { taskId, contextId });
    expect(next.result).toMatchObject({ contextId, artifacts: [{ parts: [{ text: '3: two' }] }] });
    expect((await send(target, 'GET', `/threads/${contextId}`)).status).toBe(200);
  },
  'answers A2A errors with their codes': async (target) => {
    const rpc = (method: string, params: unknown) => ({ jsonrpc: '2.0', id: 1, method, params });
    const cases: readonly (readonly [string, unknown, number])[] = [
      ['no JSON', undefined, -32700],
      ['a batch', [rpc('tasks/get', {})], -32600],
      ['an unknown method', rpc('tasks/dance', {}), -32601],
      ['no message', rpc('message/send', {}), -32602],
      ['an unknown task', rpc('tasks/get', { id: '01a2017a-7a97-7479-8f02-e1895e7b3c88' }), -32001],
      ['a receiver of no task', rpc('tasks/pushNotificationConfig/set', {}), -32602],
    ];
    for (const [title, body, code] of cases) {
      const answer = await send(target, 'POST', '/a2a/echo', body === undefined ? { text: '{' } : { body });
      expect([title, answer.status, answer.body]).toMatchObject([
        title,
        200,
        { jsonrpc: '2.0', error: { code } },
      ]);
    }
    const headers = { 'a2a-version': '7.0' };
    const other = await send(target, 'POST', '/a2a/echo', { body: rpc('GetTask', { id: 'x' }), headers });
    expect(other.body).toMatchObject({ error: { code: -32009 } });
    expect((await send(target, 'POST', '/a2a/absent', { body: rpc('tasks/get', { id: 'x' }) })).status).toBe(
      404,
    );
  },
});

export const A2A_ROWS: readonly Row[] = [
  ...Object.entries(CLIENTS).flatMap(([client, connectTo]) =>
    rowsOf(
      client,
      Object.fromEntries(
        Object.entries(CHECKS).map(([name, check]) => [name, (target: Target) => check(connectTo(target))]),
      ),
    ),
  ),
  ...HTTP,
];
