import type { Client } from '@langchain/langgraph-sdk';
import { openPool, type Pool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { testServer } from '../testdata/test-server.js';

const server = testServer();
let store: Client['store'];
let pool: Pool;

beforeAll(() => {
  pool = openPool({ uri: server.uri, applicationName: 'test', log: createLogger('test', 'silent') });
  store = server.client().store;
});

afterAll(() => pool?.end());

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

async function send(method: string, path: string, body?: unknown): Promise<Answer> {
  const response = await fetch(`${server.url}${path}`, {
    method,
    ...(body === undefined
      ? {}
      : {
          headers: { 'content-type': 'application/json' },
          body: typeof body === 'string' ? body : JSON.stringify(body),
        }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}

async function keysOf(namespace: string[], options?: Parameters<typeof store.searchItems>[1]) {
  return (await store.searchItems(namespace, options)).items.map(({ key }) => key);
}

/** Makes an item expire. */
function expire(key: string) {
  return pool.query(
    `UPDATE agentplane.store_items SET expires_at = clock_timestamp() - interval '1 ms' WHERE key = $1`,
    [key],
  );
}

async function minutesLeft(key: string): Promise<number | null> {
  const { rows } = await pool.query<{ minutes: number | null }>(
    `SELECT extract(epoch FROM expires_at - clock_timestamp())::float8 / 60 AS minutes
     FROM agentplane.store_items WHERE key = $1`,
    [key],
  );
  return rows[0]?.minutes ?? null;
}

describe('an item of the store', () => {
  it('answers null as JSON where there is none', async () => {
    const response = await fetch(`${server.url}/store/items?namespace=no.where&key=x`);
    expect([response.status, response.headers.get('content-type'), await response.text()]).toEqual([
      200,
      expect.stringContaining('application/json'),
      'null',
    ]);
  });

  it('keeps what other stores lose or take for something else', async () => {
    const value =
      '{"__proto__": {"a": 1}, "constructor": "x", "nul": "a\\u0000b", "half": "\\ud800", "n": 1e300}';
    const body = `{"namespace": ["odd", "a' OR 1=1; --", "日本 語%_"], "key": "'); DROP TABLE x; --", "value": ${value}}`;
    expect((await send('PUT', '/store/items', body)).status).toBe(204);
    const { body: found } = await send('POST', '/store/items/search', { namespace_prefix: ['odd'] });
    const [item] = (found as { items: { value: object; key: string; namespace: string[] }[] }).items;
    expect(Object.entries(item?.value ?? {}).sort()).toEqual([
      ['__proto__', { a: 1 }],
      ['constructor', 'x'],
      ['half', '\ufffd'],
      ['n', 1e300],
      ['nul', 'a\ufffdb'],
    ]);
    expect([item?.namespace[1], item?.key]).toEqual(["a' OR 1=1; --", "'); DROP TABLE x; --"]);
    expect(await store.getItem(item?.namespace ?? [], item?.key ?? '')).toMatchObject({ key: item?.key });
  });
});

describe('time to live', () => {
  it('hides an item as soon as its time is over, and makes a new one in its place', async () => {
    await store.putItem(['ttl'], 'brief', { a: 1 }, { ttl: 5 });
    await store.putItem(['ttl'], 'kept', { a: 1 });
    const made = await store.getItem(['ttl'], 'brief');
    await expire('brief');
    expect(await store.getItem(['ttl'], 'brief')).toBeNull();
    expect(await keysOf(['ttl'])).toEqual(['kept']);
    await store.putItem(['ttl', 'alone'], 'alone', {}, { ttl: 5 });
    await expire('alone');
    expect(await store.listNamespaces({ prefix: ['ttl'] })).toEqual({ namespaces: [['ttl']] });
    await store.putItem(['ttl'], 'brief', { a: 2 });
    const again = await store.getItem(['ttl'], 'brief');
    expect(Date.parse(again?.createdAt ?? '')).toBeGreaterThan(Date.parse(made?.createdAt ?? ''));
    expect(await minutesLeft('brief')).toBeNull();
  });

  it('begins again with a read, unless the reader says otherwise', async () => {
    const shorten = (key: string) =>
      pool.query(
        `UPDATE agentplane.store_items SET expires_at = clock_timestamp() + interval '1 min' WHERE key = $1`,
        [key],
      );
    await store.putItem(['ttl'], 'read', {}, { ttl: 60 });
    const reads = [
      (refreshTtl?: boolean) => store.getItem(['ttl'], 'read', { refreshTtl }),
      (refreshTtl?: boolean) => store.searchItems(['ttl'], { refreshTtl }),
    ];
    for (const read of reads) {
      await shorten('read');
      await read(false);
      expect(await minutesLeft('read')).toBeLessThan(2);
      await read();
      expect(await minutesLeft('read')).toBeGreaterThan(50);
      await shorten('read');
      await read(true);
      expect(await minutesLeft('read')).toBeGreaterThan(50);
    }
  });
});

describe('a search', () => {
  beforeAll(async () => {
    await store.putItem(['shop', 'a'], 'one', {
      n: 1,
      s: '2024-01-01',
      o: { p: 1, q: [1, { r: 2 }] },
      z: null,
    });
    await store.putItem(['shop', 'b'], 'two', { n: '2', s: '2024-06-01', o: { p: 2 }, b: true });
    await store.putItem(['shop', 'b', 'deep'], 'three', { n: 3, o: [1] });
    await store.putItem(['shopping'], 'other', { n: 1 });
    await store.putItem(['shop\u0001'], 'odd', { n: 1 });
  });

  it.each<[string, object, string[]]>([
    ['nothing', {}, ['one', 'three', 'two']],
    ['an equal number', { n: 1 }, ['one']],
    ['an equal text', { n: '2' }, ['two']],
    ['null, which is what a missing name has', { z: null }, ['one', 'three', 'two']],
    ['a truth', { b: true }, ['two']],
    ['$eq', { n: { $eq: 1 } }, ['one']],
    ['$eq of an object', { o: { $eq: { p: 2 } } }, ['two']],
    ['$ne, which holds for a missing name', { b: { $ne: true } }, ['one', 'three']],
    ['$gt, of numbers in texts too', { n: { $gt: 1 } }, ['three', 'two']],
    ['$gte and $lt together', { n: { $gte: 1, $lt: 3 } }, ['one', 'two']],
    ['$lte', { n: { $lte: 2 } }, ['one', 'two']],
    ['$gt of a text', { s: { $gt: '2024-03' } }, ['two']],
    ['$in', { n: { $in: [1, 3] } }, ['one', 'three']],
    ['$nin', { n: { $nin: [1, 3] } }, ['two']],
    ['a part of an object', { o: { p: 1 } }, ['one']],
    ['an operator inside an object', { o: { p: { $gt: 1 } } }, ['two']],
    ['an index that is no name of an object', { o: { 0: 1 } }, []],
    ['a whole list', { o: { q: [1, { r: 2 }] } }, ['one']],
    ['a list of another length', { o: { q: [1] } }, []],
    ['a name with a period', { 'o.p': 1 }, []],
    ['an empty object', { o: {} }, ['one', 'two']],
    [
      'names of JavaScript',
      JSON.parse('{"__proto__": null, "constructor": null}') as object,
      ['one', 'three', 'two'],
    ],
    ['names like SQL', { "n' OR '1'='1": 1 }, []],
  ])('filters by %s', async (_title, filter, keys) => {
    const found = await keysOf(['shop'], { filter: { ...filter } });
    expect(found.sort()).toEqual(keys);
  });

  it('compares texts that are too long for a number with none', async () => {
    const item = { namespace: ['digits'], key: 'long', value: { n: '9'.repeat(200_000) } };
    expect((await send('PUT', '/store/items', item)).status).toBe(204);
    expect(await keysOf(['digits'], { filter: { n: { $gt: 1 } } })).toEqual([]);
  });

  it('pages from the last changed to the first', async () => {
    const pages = [0, 1, 2, 3].map((offset) => keysOf(['shop'], { offset, limit: 1 }));
    expect((await Promise.all(pages)).flat()).toEqual(['three', 'two', 'one']);
    const all = await keysOf([], { limit: 1_000 });
    expect(all).toEqual(expect.arrayContaining(['one', 'other', 'odd']));
  });

  it.each<[string, object, RegExp]>([
    [
      'an operator that does not exist',
      { filter: { n: { $near: 1 } } },
      /\$near is not an operator; use \$eq/,
    ],
    ['a comparison with a list', { filter: { n: { $gt: [1] } } }, /\$gt must be a number or a text/],
    ['$in without a list', { filter: { n: { $in: 1 } } }, /\$in must be a list/],
    ['a filter that is a list', { filter: [] }, /must be an object/],
    ['too many conditions', { filter: names(101) }, /more than 100 conditions/],
    ['a huge limit', { limit: 1_000_000 }, /1000/],
    ['an offset below 0', { offset: -1 }, />=0/],
    ['a period in a label', { namespace_prefix: ['a.b'] }, /must not hold a period/],
    ['an unknown kind of query', { query: 5 }, /expected string/],
    ['a query that no model takes', { query: 'q'.repeat(200_001) }, /more than 200000 characters/],
    [
      'a filter of more than a megabyte',
      { filter: { n: { $in: Array.from({ length: 300 }, () => 'v'.repeat(4_000)) } } },
      /more than 1048576 characters/,
    ],
    [
      'long names before many conditions',
      { filter: { ['n'.repeat(200_000)]: { a: 1, b: 2, c: 3 } } },
      /more than 1048576 characters/,
    ],
  ])('refuses %s', async (_title, body, message) => {
    const answer = await send('POST', '/store/items/search', body);
    expect([answer.status, JSON.stringify(answer.body)]).toEqual([422, expect.stringMatching(message)]);
  });

  it('quotes no more than the beginning of long names', async () => {
    const long = 'x'.repeat(100_000);
    const answer = await send('POST', '/store/items/search', { filter: { [long]: { [`$${long}`]: 1 } } });
    expect([answer.status, JSON.stringify(answer.body).length < 1_000]).toEqual([422, true]);
  });

  it('refuses a filter of ten thousand levels', async () => {
    const deep = `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`;
    expect((await send('POST', '/store/items/search', `{"filter": ${deep}}`)).status).toBe(422);
  });
});

function names(count: number): object {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`name${index}`, 1]));
}

describe('a list of namespaces', () => {
  beforeAll(async () => {
    for (const namespace of [
      ['docs', 'ada', 'v1'],
      ['docs', 'ada', 'v2'],
      ['docs', 'bob', 'v1'],
      ['notes', 'ada'],
    ])
      await store.putItem(['ns', ...namespace], 'x', {});
  });

  it.each<[string, object, string[]]>([
    ['all', {}, ['docs/ada/v1', 'docs/ada/v2', 'docs/bob/v1', 'notes/ada']],
    ['a prefix', { prefix: ['ns', 'docs', 'ada'] }, ['docs/ada/v1', 'docs/ada/v2']],
    [
      'a prefix with any label in it',
      { prefix: ['ns', '*', 'ada'] },
      ['docs/ada/v1', 'docs/ada/v2', 'notes/ada'],
    ],
    ['a suffix', { suffix: ['v1'] }, ['docs/ada/v1', 'docs/bob/v1']],
    ['a suffix with any label in it', { suffix: ['ada', '*'] }, ['docs/ada/v1', 'docs/ada/v2']],
    ['a depth', { maxDepth: 3 }, ['docs/ada', 'docs/bob', 'notes/ada']],
    ['a page', { limit: 2, offset: 1 }, ['docs/ada/v2', 'docs/bob/v1']],
  ])('lists %s', async (_title, options, expected) => {
    const { namespaces } = await store.listNamespaces({ prefix: ['ns'], ...options });
    expect(namespaces.map(([, ...rest]) => rest.join('/'))).toEqual(expected);
  });
});

describe('the limits of the store', () => {
  const item = { namespace: ['a'], key: 'k', value: {} };
  it.each<[string, string, object, RegExp]>([
    ['without a namespace', 'PUT', { ...item, namespace: [] }, /must not be empty/],
    ['with an empty label', 'PUT', { ...item, namespace: ['a', ''] }, /must not be empty/],
    ['with a period in a label', 'PUT', { ...item, namespace: ['a.b'] }, /must not hold a period/],
    [
      'in the namespace of the library',
      'PUT',
      { ...item, namespace: ['langgraph', 'a'] },
      /belongs to the library/,
    ],
    ['with a label that is no text', 'PUT', { ...item, namespace: [1] }, /expected string/],
    ['with NUL in its key', 'PUT', { ...item, key: 'a\u0000' }, /NUL character/],
    ['with half a character in its key', 'PUT', { ...item, key: '\ud800' }, /half a character/],
    ['with a key that is too long', 'PUT', { ...item, key: 'k'.repeat(2_001) }, /longer than 2000 bytes/],
    ['with too many labels', 'PUT', { ...item, namespace: Array(21).fill('a') }, /more than 20 labels/],
    ['with a list as value', 'PUT', { ...item, value: [1] }, /must be an object/],
    ['without a value', 'PUT', { ...item, value: null }, /must be an object/],
    ['without any time to live', 'PUT', { ...item, ttl: 0 }, />0/],
    ['with more than a hundred years to live', 'PUT', { ...item, ttl: 1e300 }, /<=52560000/],
    ['with an index that is no list', 'PUT', { ...item, index: true }, /./],
    ['to remove without a namespace', 'DELETE', { ...item, namespace: [] }, /must not be empty/],
  ])('refuses an item %s', async (_title, method, body, message) => {
    const answer = await send(method, '/store/items', body);
    expect([answer.status, JSON.stringify(answer.body)]).toEqual([422, expect.stringMatching(message)]);
  });

  it.each(['?key=k', '?namespace=a', '?namespace=a..b&key=k', '?namespace=a&key=k&refresh_ttl=maybe'])(
    'refuses to read %s',
    async (query) => {
      expect((await send('GET', `/store/items${query}`)).status).toBe(422);
    },
  );

  it('refuses a value that is too large', async () => {
    const value = { text: 'x'.repeat(8 * 1024 * 1024) };
    expect((await send('PUT', '/store/items', { ...item, value })).status).toBe(413);
  });

  it('keeps the longest key that is let through', async () => {
    const namespace = Array.from({ length: 20 }, (_, index) => `${index}`.padEnd(50, '日').slice(0, 25));
    const room = 2_000 - Buffer.byteLength(namespace.join(''));
    const random = Array.from({ length: room }, () =>
      String.fromCharCode(33 + Math.floor(Math.random() * 90)),
    );
    const key = random.join('');
    await store.putItem(namespace, key, { a: 1 });
    expect(await store.getItem(namespace, key)).toMatchObject({ key });
  });
});
