import type { Client } from '@langchain/langgraph-sdk';
import { testPostgres } from '#lib/testing';
import { ServerProcess } from '../testdata/start-server.js';
import { prepareDatabase } from '../testdata/store-fixture.js';

const postgres = testPostgres();
let uri: string;
let servers: ServerProcess[] = [];

beforeAll(async () => {
  ({ uri } = await postgres.freshDatabase(prepareDatabase));
  servers = await Promise.all([ServerProcess.start({ uri }), ServerProcess.start({ uri })]);
});

afterAll(() => Promise.all(servers.map((server) => server.stop('SIGKILL'))));

function clientOf(index: number): Client {
  const server = servers[index];
  if (!server) throw new Error(`server ${index} was not started`);
  return server.client();
}

async function remember(client: Client, word?: string): Promise<unknown> {
  const { thread_id } = await client.threads.create();
  const values = await client.runs.wait(thread_id, 'remembering', { input: { word: word ?? '' } });
  return (values as { readonly seen?: unknown }).seen;
}

/** The answer of a method of `config.store`, or the error of the run. */
async function call(name: string, ...args: unknown[]): Promise<unknown> {
  const values = await clientOf(0).runs.wait(null, 'calling', {
    input: { call: { name, args } },
    raiseError: false,
  });
  const { answer, __error__: error } = values as { answer?: unknown; __error__?: { message: string } };
  return error ? error.message : answer;
}

describe('the store in a graph', () => {
  it('remembers across threads, servers and restarts, beside requests', async () => {
    expect(await remember(clientOf(0), 'one')).toEqual(['one']);
    expect(await remember(clientOf(1), 'two')).toEqual(['one', 'two']);
    await servers[0]?.stop();
    servers[0] = await ServerProcess.start({ uri });
    expect(await remember(clientOf(0))).toEqual(['one', 'two']);
    await clientOf(1).store.putItem(['memory', 'ada'], 'three', {});
    await clientOf(1).store.deleteItem(['memory', 'ada'], 'one');
    expect(await remember(clientOf(0))).toEqual(['three', 'two']);
    const made = await clientOf(0).store.getItem(['memory', 'ada'], 'two');
    expect(made?.value).toEqual({ word: 'two', length: 3 });
  });

  it('names the graphs whose own store is not used', () => {
    const named = servers[1]?.log.filter(({ msg }) => msg.includes('store of its own'));
    expect(named).toEqual([expect.objectContaining({ graphId: 'remembering' })]);
  });

  it('has every method of a store', async () => {
    const value = { n: 1, at: { b: ['c'] } };
    expect(await call('put', ['calls', 'a'], 'k', value)).toBeNull();
    const item = {
      namespace: ['calls', 'a'],
      key: 'k',
      value,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    };
    expect(await call('get', ['calls', 'a'], 'k')).toEqual(item);
    expect(await call('get', ['calls', 'a'], 'other')).toBeNull();
    expect(await call('search', ['calls'], { filter: { n: { $gte: 1 } }, limit: 5 })).toEqual([item]);
    expect(await call('search', ['calls'], { filter: { n: 2 } })).toEqual([]);
    await call('put', ['calls', 'b'], 'k', {});
    expect(await call('listNamespaces', { prefix: ['calls'], maxDepth: 1 })).toEqual([['calls']]);
    expect(await call('listNamespaces', { suffix: ['b'] })).toEqual([['calls', 'b']]);
    expect(await call('delete', ['calls', 'a'], 'k')).toBeNull();
    expect(await call('get', ['calls', 'a'], 'k')).toBeNull();
  });

  it.each<[string, RegExp, string, ...unknown[]]>([
    ['no namespace', /namespace must not be empty/, 'put', [], 'k', {}],
    ['a period in a label', /namespace\.0 must not hold a period/, 'put', ['a.b'], 'k', {}],
    ['the namespace of the library', /belongs to the library/, 'put', ['langgraph'], 'k', {}],
    ['a label that is no text', /namespace\.0 must be a text/, 'put', [5], 'k', {}],
    ['a value that is no object', /value must be an object/, 'put', ['a'], 'k', 'text'],
    [
      'an operator that does not exist',
      /\$near is not an operator/,
      'search',
      ['a'],
      { filter: { a: { $near: 1 } } },
    ],
  ])('refuses %s with a sentence', async (_title, message, name, ...args) => {
    expect(await call(name, ...args)).toEqual(expect.stringMatching(message));
  });
});
