import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Client } from '@langchain/langgraph-sdk';
import { openPool, type Pool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { ServerProcess } from '../testdata/start-server.js';
import { prepareDatabase } from '../testdata/store-fixture.js';
import { testServer } from '../testdata/test-server.js';

const postgres = testPostgres();
const folder = join(import.meta.dirname, '..', 'testdata', 'embedding-agent');
const server = testServer({ folder });
let client: Client;
let pool: Pool;

beforeAll(() => {
  client = server.client();
  pool = openPool({ uri: server.uri, applicationName: 'test', log: createLogger('test', 'silent') });
});
afterAll(() => pool?.end());

async function ranked(query: string, options: object = {}): Promise<[string, number | null][]> {
  const { items } = await client.store.searchItems(['docs'], { query, ...options });
  return items.map(({ key, score }) => [
    key,
    score === undefined || score === null ? null : Number(score.toFixed(3)),
  ]);
}

async function failureOf(asked: Promise<unknown>): Promise<string> {
  return asked.then(
    () => 'it succeeded',
    (error: unknown) => String(error),
  );
}

describe('a search by meaning', () => {
  beforeAll(async () => {
    const { store } = client;
    await store.putItem(['docs', 'a'], 'same', { text: 'abc', n: 1 });
    await store.putItem(['docs', 'b'], 'half', { text: 'ab', n: 2 });
    await store.putItem(['docs', 'b'], 'other', { text: 'xyz', n: 1 });
    await store.putItem(['docs', 'c'], 'chapters', {
      chapters: [{ title: 'zz' }, { title: 'abc' }, { other: 1 }],
    });
    await store.putItem(['docs', 'c'], 'unindexed', { text: 'abc' }, { index: false });
    await store.putItem(['docs', 'c'], 'elsewhere', { text: 'xyz', name: 'abcd' }, { index: ['name'] });
    await store.putItem(['docs', 'c'], 'nothing', { n: 1 });
    await store.putItem(['docsother'], 'outside', { text: 'abc' });
  });

  it('ranks items by the cosine of their best field', async () => {
    expect(await ranked('abc')).toEqual([
      [expect.stringMatching(/same|chapters/), 1],
      [expect.stringMatching(/same|chapters/), 1],
      ['elsewhere', 0.866],
      ['half', 0.816],
      ['other', 0],
    ]);
  });

  it('ranks what the filter, the namespace and the page leave', async () => {
    expect(await ranked('abc', { filter: { n: 1 } })).toEqual([
      ['same', 1],
      ['other', 0],
    ]);
    expect(await ranked('abc', { limit: 2, offset: 2 })).toEqual([
      ['elsewhere', 0.866],
      ['half', 0.816],
    ]);
    const { items } = await client.store.searchItems(['docs', 'b'], { query: 'x' });
    expect(items.map(({ key }) => key)).toEqual(['other', 'half']);
  });

  it('forgets what an item meant before it was changed, and items that are removed or expired', async () => {
    const { store } = client;
    const mean = async (text: string) => (await ranked(text, { limit: 1 }))[0];
    await store.putItem(['docs', 'd'], 'changing', { text: 'qqq', chapters: [{ title: 'kkk' }] });
    expect(await mean('qqq')).toEqual(['changing', 1]);
    await store.putItem(['docs', 'd'], 'changing', { text: 'www' });
    expect([await mean('www'), await mean('qqq'), await mean('kkk')]).toEqual([
      ['changing', 1],
      [expect.anything(), 0],
      [expect.anything(), 0],
    ]);
    await pool.query(
      `UPDATE agentplane.store_items SET expires_at = now() - interval '1 s' WHERE key = 'changing'`,
    );
    expect(await mean('www')).toEqual([expect.anything(), 0]);
    await store.putItem(['docs', 'd'], 'changing', { text: 'www' });
    await store.deleteItem(['docs', 'd'], 'changing');
    const { rows } = await pool.query('SELECT count(*)::int AS count FROM agentplane.store_vectors');
    expect(rows).toEqual([{ count: 7 }]);
  });

  it('ranks in graphs, which say what is embedded', async () => {
    const call = async (name: string, ...args: unknown[]) => {
      const values = await client.runs.wait(null, 'calling', { input: { call: { name, args } } });
      return (values as { readonly answer: { readonly key: string; readonly score?: number }[] | null })
        .answer;
    };
    await call('put', ['graph'], 'one', { text: 'abc', name: 'xyz' }, ['name']);
    await call('put', ['graph'], 'two', { text: 'abc' });
    const found = await call('search', ['graph'], { query: 'xyz' });
    expect(found?.map(({ key, score }) => [key, score])).toEqual([
      ['one', expect.closeTo(1)],
      ['two', 0],
    ]);
  });

  it('takes the time to live of the settings', async () => {
    const { rows } = await pool.query(
      `SELECT ttl_minutes FROM agentplane.store_items WHERE key = 'same' AND expires_at < now() + interval '1 h'`,
    );
    expect(rows).toEqual([{ ttl_minutes: 60 }]);
  });

  it.each([
    ['throws', 'throw', /Embedding by .\/embed.ts:embed failed: the model gave up/],
    ['answers vectors of another size', 'short', /a vector has 2 numbers where dims is 26/],
    ['answers no numbers', 'words', /a vector is not a list of numbers/],
  ])('names a model that %s', async (_title, text, message) => {
    expect(await failureOf(client.store.putItem(['bad'], 'k', { text }))).toMatch(message);
    expect(await failureOf(client.store.searchItems(['docs'], { query: text }))).toMatch(message);
    expect(await client.store.getItem(['bad'], 'k')).toBeNull();
  });

  it('refuses more texts than a model should get for one item', async () => {
    const value = { chapters: Array.from({ length: 101 }, (_, index) => ({ title: `t${index}` })) };
    expect(await failureOf(client.store.putItem(['bad'], 'k', value))).toMatch(/422.*more than 100 texts/);
  });

  it('refuses to look at more vectors than it can read', async () => {
    await pool.query(
      `WITH made AS (INSERT INTO agentplane.store_items (namespace, key, value)
         SELECT '{many}'::text[], n::text, '{}' FROM generate_series(1, 100001) n RETURNING item_id)
       INSERT INTO agentplane.store_vectors (item_id, field, dims, vector)
         SELECT item_id, 'text', 26, array_fill(0.1::real, '{26}') FROM made`,
    );
    expect(await failureOf(client.store.searchItems(['many'], { query: 'a' }))).toMatch(
      /400.*namespace many by a query: more than 100000 vectors; name a longer namespace/,
    );
    await pool.query(`DELETE FROM agentplane.store_items WHERE namespace = '{many}' AND key = '1'`);
    const { items } = await client.store.searchItems(['many'], { query: 'a', limit: 1 });
    expect(items).toHaveLength(1);
  });
});

describe('the model of an agent', () => {
  const made: string[] = [];
  afterAll(() => Promise.all(made.map((path) => rm(path, { recursive: true }))));

  async function agentWith(embed: string, files: Readonly<Record<string, string>>): Promise<string> {
    const path = await mkdtemp(join(tmpdir(), 'agent-'));
    made.push(path);
    const graph = 'export const graph = { stream() {}, invoke() {}, getState() {} };';
    const settings = { graphs: { a: './a.ts:graph' }, store: { index: { dims: 2, embed } } };
    const all = {
      'langgraph.json': JSON.stringify(settings),
      'package.json': '{"type": "module"}',
      'a.ts': graph,
      ...files,
    };
    for (const [name, text] of Object.entries(all)) {
      await mkdir(dirname(join(path, name)), { recursive: true });
      await writeFile(join(path, name), text);
    }
    return path;
  }

  async function startError(embed: string, files: Readonly<Record<string, string>> = {}): Promise<string> {
    const { uri } = await postgres.freshDatabase(prepareDatabase);
    const started = ServerProcess.start({ uri, folder: await agentWith(embed, files) });
    return started.then(
      async (running) => {
        await running.stop();
        return 'it started';
      },
      (error: unknown) => String(error),
    );
  }

  it('comes from a package that the agent has installed', async () => {
    const { uri } = await postgres.freshDatabase(prepareDatabase);
    const agent = await agentWith('openai:small', {
      'node_modules/@langchain/openai/package.json': JSON.stringify({
        name: '@langchain/openai',
        type: 'module',
        exports: { '.': { import: './index.js' } },
      }),
      'node_modules/@langchain/openai/index.js': `export class OpenAIEmbeddings {
        constructor({ model }) { this.model = model; }
        async embedQuery(text) { return [text.length, this.model.length]; }
        async embedDocuments(texts) { return Promise.all(texts.map((text) => this.embedQuery(text))); }
      }`,
    });
    const running = await ServerProcess.start({ uri, folder: agent });
    const { store } = running.client();
    await store.putItem(['a'], 'k', { any: 'thing' });
    const { items } = await store.searchItems(['a'], { query: 'q' });
    await running.stop();
    expect(items.map(({ key, score }) => [key, typeof score])).toEqual([['k', 'number']]);
  });

  it('starts no index where the agent disables the routes of the store', async () => {
    const { uri } = await postgres.freshDatabase(prepareDatabase);
    const settings = { graphs: { a: './a.ts:graph' }, http: { disable_store: true } };
    const agent = await agentWith('unused:model', { 'langgraph.json': JSON.stringify(settings) });
    const running = await ServerProcess.start({ uri, folder: agent });
    const { status } = await fetch(`${running.url}/store/items?namespace=a&key=k`);
    await running.stop();
    expect(status).toBe(404);
  });

  it.each<[string, RegExp, Readonly<Record<string, string>>]>([
    ['./none.ts:embed', /names a file that does not exist/, {}],
    [
      './e.ts:other',
      /is neither a function of texts nor an Embeddings object/,
      { 'e.ts': 'export const embed = 1;' },
    ],
    ['./e.ts:embed', /failed to load: no key/, { 'e.ts': 'throw new Error("no key");' }],
    ['unknown:model', /names no provider that is known \(openai/, {}],
    ['cohere:model', /needs CohereEmbeddings of @langchain\/cohere; add the package/, {}],
  ])('refuses %s with a sentence', async (embed, message, files) => {
    expect(await startError(embed, files)).toMatch(message);
  });
});
