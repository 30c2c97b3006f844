import { join } from 'node:path';
import { testPostgres, waitFor } from '#lib/testing';
import { newestClient, olderClient, type A2aTestClient } from '../testdata/a2a-clients.js';
import { ServerProcess } from '../testdata/start-server.js';
import { WebhookReceiver } from '../testdata/webhook-receiver.js';

const TALKING_AGENT = join(import.meta.dirname, '..', 'testdata', 'talking-agent');

const postgres = testPostgres();
let uri: string;
let server: ServerProcess;

beforeAll(async () => {
  uri = (await postgres.freshDatabase()).uri;
  const env = { RUN_WEBHOOK_PRIVATE_ADDRESSES: 'true' };
  server = await ServerProcess.start({ uri, folder: TALKING_AGENT, env });
});

afterAll(async () => {
  await server?.stop();
});

type Connect = (agent: string) => Promise<A2aTestClient>;

const query = (agent: string): string => `/.well-known/agent-card.json?assistant_id=${agent}`;

/** Clients under test; the questions that the conformance suite asks each of them are not repeated here. */
const CLIENTS: Readonly<Record<string, { readonly connect: Connect }>> = {
  '@a2a-js/sdk 1.3 as it comes': {
    connect: (agent) => newestClient(server.url, query(agent), false),
  },
  '@a2a-js/sdk 1.3 on the wire of 0.3': {
    connect: (agent) => newestClient(server.url, query(agent), true),
  },
  '@a2a-js/sdk 0.3': { connect: (agent) => olderClient(server.url, query(agent)) },
};

const say = (text: string) => ({ parts: [{ text }] });

describe.each(Object.entries(CLIENTS))('%s', (_name, { connect }) => {
  it('folds to the stored text where an agent thinks aloud and answers otherwise', async () => {
    const client = await connect('restless');
    const { text, taskId } = await client.stream(say('x'));
    expect([text, (await client.get(taskId)).text]).toEqual(['the draft, corrected', 'the draft, corrected']);
  });

  it('streams until the agent asks, and then its answer', async () => {
    const client = await connect('asking');
    const asked = await client.stream(say('paint it'));
    expect(asked.events.at(-1)).toMatch(/^status input-required/);
    const done = await client.stream({ parts: [{ data: { r: 1 } }], taskId: asked.taskId });
    expect([done.taskId, done.text]).toEqual([asked.taskId, 'painted {"r":1}']);
  });

  it('answers two questions at once by their ids', async () => {
    const client = await connect('twofold');
    const { id: taskId, contextId, questions } = await client.send(say('ask'));
    expect(questions).toHaveLength(2);
    await expect(client.send({ ...say('both'), taskId, contextId })).rejects.toThrow(/2 questions/);
    const resume = questions.map((id, at) => ({ id, value: `answer ${at}` }));
    const done = await client.send({ parts: [{ data: { resume } }], taskId, contextId });
    expect(done).toMatchObject({ state: 'completed', text: 'left answer 0, right answer 1' });
  });

  it('merges data into the input', async () => {
    const client = await connect('topical');
    const { text } = await client.send({ parts: [{ text: 'x' }, { data: { topic: { a: [1] } } }] });
    expect(JSON.parse(text)).toMatchObject({ topic: { a: [1] } });
  });

  it('sends files and gets those of the agent', async () => {
    const client = await connect('mirror');
    const { text, files } = await client.send({ parts: [{ text: 'look' }, { picture: 'aGVsbG8=' }] });
    const { content } = JSON.parse(text) as { content: unknown[] };
    expect(content.at(-1)).toMatchObject({ type: 'image', source_type: 'base64', data: 'aGVsbG8=' });
    expect(files).toEqual(['aGk=']);
  });

  it('answers at once when asked to, and lets others read the task to its end', async () => {
    const client = await connect('slow');
    const { id, state } = await client.send({ ...say('x'), isBlocking: false });
    expect(state).toBe('submitted');
    const seen = await Promise.all([client.subscribe(id), client.subscribe(id)]);
    for (const { events, text, taskId } of seen) {
      expect(events[0]).toMatch(/^task (submitted|working)$/);
      expect(events.at(-1)).toMatch(/^status completed/);
      expect([text, taskId]).toEqual(['at last', id]);
    }
  });

  it('cancels a task at work, and one that waits for input', async () => {
    const slow = await connect('slow');
    const { id } = await slow.send({ ...say('x'), isBlocking: false });
    expect((await slow.cancel(id)).state).toBe('canceled');
    await expect(slow.cancel(id)).rejects.toThrow();
    const asking = await connect('asking');
    const asked = await asking.send(say('x'));
    expect((await asking.cancel(asked.id)).state).toBe('canceled');
    expect((await asking.get(asked.id)).state).toBe('canceled');
  });

  it('sets, gets, lists and deletes receivers of notifications', async () => {
    const client = await connect('echo');
    const { id } = await client.send(say('x'));
    const url = 'http://127.0.0.1:9/hook';
    expect(await client.receivers(id, url)).toEqual({ urls: [url, url, url], left: 0 });
  });

  it('calls the receiver that a message names', async () => {
    const client = await connect('echo');
    const receiver = await WebhookReceiver.start();
    const { id } = await client.send({ ...say('x'), receiver: receiver.url });
    await waitFor(() => receiver.calls.some(({ text }) => text.includes(id) && text.includes('1: x')));
    expect(receiver.calls[0]?.headers).toHaveProperty('x-a2a-notification-token', 'token');
    receiver.stop();
  });

  it('reads the extended card', async () => {
    const client = await connect('echo');
    expect(await client.describe()).toBe('Repeats the last message.');
  });

  it('shows as much history as it is asked for', async () => {
    const client = await connect('echo');
    const { id, history } = await client.send(say('x'));
    expect(history).toBe(2);
    const lengths = [0, 1, 5].map(async (length) => (await client.get(id, length)).history);
    expect(await Promise.all(lengths)).toEqual([0, 1, 2]);
    expect((await client.send({ ...say('x'), historyLength: 0 })).history).toBe(0);
  });
});

describe('a message to a finished task', () => {
  it('begins another task in the context on the wire of 0.3, and is refused on that of 1.0', async () => {
    const older = await olderClient(server.url, query('echo'));
    const newest = await newestClient(server.url, query('echo'), false);
    const { id: taskId, contextId } = await older.send(say('one'));
    const next = await older.send({ ...say('two'), taskId, contextId });
    expect(next).toMatchObject({ contextId, text: '3: two' });
    expect(next.id).not.toBe(taskId);
    await expect(newest.send({ ...say('two'), taskId, contextId })).rejects.toThrow(/completed/);
  });
});

describe('tasks of a server that stopped', () => {
  it('continue at another server', async () => {
    const database = await postgres.freshDatabase();
    const first = await ServerProcess.start({ uri: database.uri, folder: TALKING_AGENT });
    const there = await olderClient(first.url, query('asking'));
    const asked = await there.send({ ...say('x'), contextId: 'a conversation' });
    await first.stop();
    const second = await ServerProcess.start({ uri: database.uri, folder: TALKING_AGENT });
    const here = await newestClient(second.url, query('asking'), false);
    expect((await here.get(asked.id)).state).toBe('input-required');
    const done = await here.send({ ...say('blue'), taskId: asked.id, contextId: 'a conversation' });
    expect(done).toMatchObject({ id: asked.id, state: 'completed', text: 'painted "blue"' });
    await second.stop();
  });

  it('survive a server that was killed', async () => {
    const database = await postgres.freshDatabase();
    const env = { AGENTPLANE_RUN_LEASE_MS: '1000' };
    const first = await ServerProcess.start({ uri: database.uri, folder: TALKING_AGENT, env });
    const there = await olderClient(first.url, query('slow'));
    const { id } = await there.send({ ...say('x'), isBlocking: false });
    await first.stop('SIGKILL');
    const second = await ServerProcess.start({ uri: database.uri, folder: TALKING_AGENT, env });
    const here = await olderClient(second.url, query('slow'));
    await waitFor(async () => (await here.get(id)).state === 'completed');
    expect(await here.get(id)).toMatchObject({ text: 'at last' });
    await second.stop();
  });
});
