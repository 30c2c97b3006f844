import { type Client } from '@langchain/langgraph-sdk';
import { testServer } from '../testdata/test-server.js';

const server = testServer();
let client: Client;

beforeAll(() => {
  client = server.client();
});

async function statusOf(asked: Promise<unknown>): Promise<unknown> {
  return asked.then(
    () => 200,
    (error: unknown) => (error as { status?: number }).status,
  );
}

describe('assistants', () => {
  it('keeps a version for every change, and runs the one that was chosen', async () => {
    const { assistants } = client;
    const made = await assistants.create({ graphId: 'counter', name: 'first', metadata: { a: 1 } });
    const changed = await assistants.update(made.assistant_id, {
      name: 'second',
      config: { recursion_limit: 7 },
      metadata: { b: 2 },
    });
    expect(changed).toMatchObject({
      ...{ assistant_id: made.assistant_id, graph_id: 'counter', name: 'second', version: 2 },
      ...{ config: { recursion_limit: 7 }, metadata: { a: 1, b: 2 } },
    });
    const versions = await assistants.getVersions(made.assistant_id);
    expect(versions.map(({ version, name }) => [version, name])).toEqual([
      [2, 'second'],
      [1, 'first'],
    ]);
    expect(await assistants.getVersions(made.assistant_id, { metadata: { b: 2 } })).toHaveLength(1);
    expect(await assistants.setLatest(made.assistant_id, 1)).toMatchObject({ version: 1, name: 'first' });
    expect(await assistants.get(made.assistant_id)).toMatchObject({ version: 1, metadata: { a: 1 } });
    // numbers are never given twice
    expect(await assistants.update(made.assistant_id, { name: 'third' })).toMatchObject({ version: 3 });
  });

  it('numbers changes that are made at once', async () => {
    const { assistant_id: id } = await client.assistants.create({ graphId: 'counter' });
    const changes = Array.from({ length: 10 }, (_, n) => client.assistants.update(id, { name: `n${n}` }));
    const numbers = (await Promise.all(changes)).map(({ version }) => version);
    expect(numbers.sort((a, b) => a - b)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    expect(await client.assistants.getVersions(id, { limit: 100 })).toHaveLength(11);
  });

  it('gives its runs its whole configuration, below their own', async () => {
    const { assistant_id: id } = await client.assistants.create({
      graphId: 'counter',
      config: {
        ...{ recursion_limit: 7, tags: ['of the assistant'], run_name: 'counting' },
        ...{ configurable: { word: 'a', other: 'a' }, metadata: { from: 'a', only: 'a' } },
      },
      context: { of: 'a', only: 'a' },
    });
    const { thread_id } = await client.threads.create();
    const kwargsOf = async (more: object): Promise<Record<string, unknown>> => {
      const { run_id } = await client.runs.create(thread_id, id, { input: {}, ...more });
      await client.runs.join(thread_id, run_id);
      const { kwargs, metadata } = (await client.runs.get(thread_id, run_id)) as unknown as {
        kwargs: object;
        metadata: object;
      };
      return { ...kwargs, metadata };
    };
    expect(await kwargsOf({})).toMatchObject({
      config: {
        ...{ recursion_limit: 7, tags: ['of the assistant'], run_name: 'counting' },
        ...{ configurable: { word: 'a', other: 'a' }, metadata: { from: 'a', only: 'a' } },
      },
      context: { of: 'a', only: 'a' },
      metadata: { from: 'a', only: 'a' },
    });
    const own = { recursion_limit: 9, tags: ['own'], configurable: { word: 'b' }, metadata: { from: 'b' } };
    expect(await kwargsOf({ config: own, context: { of: 'b' } })).toMatchObject({
      config: {
        ...{ recursion_limit: 9, tags: ['own'], run_name: 'counting' },
        ...{ configurable: { word: 'b', other: 'a' }, metadata: { from: 'b', only: 'a' } },
      },
      context: { of: 'b', only: 'a' },
      metadata: { from: 'b', only: 'a' },
    });
    // the graph heeds it: its three steps are more than one
    const { assistant_id: shallow } = await client.assistants.create({
      graphId: 'slow',
      config: { recursion_limit: 1 },
    });
    const waited = client.runs.wait(null, shallow, { input: { waitMs: 1 } });
    await expect(waited).rejects.toThrow(/GraphRecursionError/);
  });

  it.each([
    ['tags that are a text', { tags: 'a' }, 'tags'],
    ['a recursion limit that is a text', { recursion_limit: '9' }, 'recursion_limit'],
    ['configurable that is a list', { configurable: [] }, 'configurable'],
  ])('refuses in a configuration what runs cannot have: %s', async (_title, config, field) => {
    const answer = await fetch(`${server.url}/assistants`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ graph_id: 'counter', config }),
    });
    const { detail } = (await answer.json()) as { detail: { loc: unknown }[] };
    expect([answer.status, detail[0]?.loc]).toEqual([422, ['body', 'config', field]]);
  });

  it('leaves the assistant of a graph as it is, and shows its one version', async () => {
    const [system] = await client.assistants.search({
      graphId: 'counter',
      metadata: { created_by: 'system' },
    });
    const id = system?.assistant_id ?? '';
    expect(await statusOf(client.assistants.update(id, { name: 'x' }))).toBe(400);
    expect(await statusOf(client.assistants.setLatest(id, 1))).toBe(400);
    expect(await client.assistants.getVersions('counter')).toMatchObject([{ version: 1, assistant_id: id }]);
  });

  it('shows what langgraph.json says of a graph as the description of its assistant', async () => {
    const described = await client.assistants.search({ graphId: 'slow', metadata: { created_by: 'system' } });
    expect(described).toMatchObject([{ description: 'Waits in each of its steps.', version: 1 }]);
    expect(await client.assistants.getVersions('slow')).toMatchObject([
      { description: described[0]?.description },
    ]);
  });

  it('answers 404 for an assistant, a version or a graph that does not exist', async () => {
    const { assistant_id: id } = await client.assistants.create({ graphId: 'counter' });
    const absent = '11111111-1111-4111-8111-111111111111';
    expect(await statusOf(client.assistants.update(absent, { name: 'x' }))).toBe(404);
    expect(await statusOf(client.assistants.getVersions(absent))).toBe(404);
    expect(await statusOf(client.assistants.setLatest(id, 9))).toBe(404);
    expect(await statusOf(client.assistants.update(id, { graphId: 'nope' }))).toBe(404);
  });

  it('counts, sorts, selects and pages what a search finds', async () => {
    const metadata = { group: 'sorted' };
    for (const name of ['b', 'c', 'a'])
      await client.assistants.create({ graphId: 'counter', name, metadata });
    expect(await client.assistants.count({ metadata })).toBe(3);
    const found = await client.assistants.search({
      ...{ metadata, limit: 2, sortBy: 'name', sortOrder: 'asc', select: ['name', 'version'] },
      includePagination: true,
    });
    expect(found).toEqual({
      assistants: [
        { name: 'a', version: 1 },
        { name: 'b', version: 1 },
      ],
      next: '2',
    });
    const last = await client.assistants.search({ metadata, limit: 2, offset: 2, includePagination: true });
    expect([last.assistants.length, last.next]).toEqual([1, null]);
  });

  it('deletes an assistant with its threads when that is asked for', async () => {
    const made = async () => {
      const { assistant_id: id } = await client.assistants.create({ graphId: 'counter' });
      const { thread_id } = await client.threads.create();
      await client.runs.wait(thread_id, id, { input: {} });
      return { id, thread_id };
    };
    const [kept, removed] = [await made(), await made()];
    await client.assistants.delete(kept.id);
    await client.assistants.delete(removed.id, { deleteThreads: true });
    expect(await statusOf(client.threads.get(kept.thread_id))).toBe(200);
    expect(await statusOf(client.threads.get(removed.thread_id))).toBe(404);
    expect(await statusOf(client.assistants.get(removed.id))).toBe(404);
  });

  it('describes the state of its graph', async () => {
    const schemas = await client.assistants.getSchemas('counter');
    expect(schemas).toMatchObject({
      graph_id: 'counter',
      state_schema: { type: 'object', properties: expect.any(Object) as object },
      input_schema: { type: 'object' },
      output_schema: { type: 'object' },
    });
  });
});

describe('what a search may ask of threads and runs', () => {
  it('extracts values by paths', async () => {
    const metadata = { group: 'extracted', list: [{ a: 1 }, { a: 2 }] };
    await client.threads.create({ metadata });
    const extract = {
      last: 'metadata.list[-1].a',
      none: 'metadata.nothing[3].x',
      proto: 'metadata.__proto__',
    };
    const [thread] = await client.threads.search({
      metadata: { group: 'extracted' },
      ...{ select: ['status'], extract },
    });
    expect(thread).toEqual({ status: 'idle', extracted: { last: 2, none: null, proto: null } });
  });

  it('counts all that a search of threads finds', async () => {
    const metadata = { group: 'counted' };
    for (let n = 0; n < 3; n++) await client.threads.create({ metadata });
    const answer = await fetch(`${server.url}/threads/search`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ metadata, limit: 2 }),
    });
    expect(answer.headers.get('x-pagination-total')).toBe('3');
    expect(answer.headers.get('x-pagination-next')).toBe('2');
  });

  it('lists the fields of runs that were selected', async () => {
    const { thread_id } = await client.threads.create();
    await client.runs.wait(thread_id, 'counter', { input: {} });
    expect(await client.runs.list(thread_id, { select: ['status', 'thread_id'] })).toEqual([
      { status: 'success', thread_id },
    ]);
  });

  it.each<[string, string, object]>([
    ['a field that threads do not have', '/threads/search', { select: ['nope'] }],
    ['a path that is none', '/threads/search', { extract: { a: 'values..x' } }],
    [
      'more paths than ten',
      '/threads/search',
      { extract: Object.fromEntries('abcdefghijk'.split('').map((n) => [n, 'values'])) },
    ],
    ['a column to sort by that is none', '/assistants/search', { sort_by: 'config' }],
    ['keys of feedback', '/runs', { assistant_id: 'counter', feedback_keys: ['score'] }],
  ])('refuses %s', async (_title, path, body) => {
    const answer = await fetch(`${server.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    expect(answer.status).toBe(422);
  });

  it('takes the cancelling of a run that has ended for done', async () => {
    const { thread_id } = await client.threads.create();
    const { run_id } = await client.runs.create(thread_id, 'counter', { input: {} });
    await client.runs.join(thread_id, run_id);
    await client.runs.cancel(thread_id, run_id);
    await client.runs.cancel(thread_id, run_id, true);
    expect(await client.runs.get(thread_id, run_id)).toMatchObject({ status: 'success' });
  });
});
