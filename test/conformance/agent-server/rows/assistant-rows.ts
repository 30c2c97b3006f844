import { randomUUID } from 'node:crypto';
import { newerSdkRows, sdkRows, statusOf } from '../clients/sdk-client.js';

export const ASSISTANT_ROWS = [
  ...sdkRows({
    'lists the assistant of every graph, which bears its name': async ({ assistants, runs }) => {
      const [found, ...more] = await assistants.search({
        graphId: 'counter',
        metadata: { created_by: 'system' },
      });
      expect([found?.graph_id, found?.name, more]).toEqual(['counter', 'counter', []]);
      expect(await assistants.get('counter')).toEqual(found);
      expect(await assistants.get(found?.assistant_id ?? '')).toEqual(found);
      const values = await runs.wait(null, found?.assistant_id ?? '', { input: {} });
      expect(values).toMatchObject({ steps: ['step 1'] });
    },
    'creates an assistant that configures a graph, and runs it': async ({ assistants, runs }) => {
      const config = { configurable: { word: 'mine' } };
      const made = await assistants.create({ graphId: 'seeing', config, name: 'Mine', metadata: { a: 1 } });
      expect(made).toMatchObject({
        graph_id: 'seeing',
        version: 1,
        name: 'Mine',
        metadata: { a: 1 },
        config,
      });
      const values = await runs.wait(null, made.assistant_id, { input: {} });
      expect((values as { seen: unknown }).seen).toMatchObject({
        word: 'mine',
        assistant_id: made.assistant_id,
      });
    },
    'refuses an id that is taken, unless asked to leave it': async ({ assistants }) => {
      const assistantId = randomUUID();
      const made = await assistants.create({ graphId: 'counter', assistantId, name: 'first' });
      expect(await statusOf(assistants.create({ graphId: 'counter', assistantId }))).toBe(409);
      const kept = await assistants.create({
        graphId: 'counter',
        assistantId,
        name: 'other',
        ifExists: 'do_nothing',
      });
      expect(kept).toEqual(made);
    },
    'makes a version of every change, and runs the one that is chosen': async ({ assistants, runs }) => {
      const word = (text: string) => ({ configurable: { word: text } });
      const first = { name: 'first', metadata: { a: 1 } };
      const { assistant_id: id } = await assistants.create({
        graphId: 'seeing',
        config: word('one'),
        ...first,
      });
      const changed = await assistants.update(id, {
        config: word('two'),
        metadata: { b: 2 },
        name: 'second',
      });
      expect(changed).toMatchObject({ version: 2, name: 'second', metadata: { a: 1, b: 2 } });
      expect(await assistants.getVersions(id)).toMatchObject([
        { version: 2, name: 'second' },
        { version: 1, ...first },
      ]);
      expect(await assistants.getVersions(id, { limit: 1, offset: 1 })).toMatchObject([{ version: 1 }]);
      expect(await assistants.getVersions(id, { metadata: { b: 2 } })).toHaveLength(1);
      expect(await assistants.setLatest(id, 1)).toMatchObject({ version: 1, ...first });
      expect(await assistants.get(id)).toMatchObject({ version: 1, ...first });
      const values = await runs.wait(null, id, { input: {} });
      expect((values as { seen: unknown }).seen).toMatchObject({ word: 'one' });
      expect(await statusOf(assistants.setLatest(id, 9))).toBe(404);
      expect(await statusOf(assistants.update(id, { graphId: 'absent' }))).toBe(404);
      // numbers are never given twice
      expect(await assistants.update(id, { name: 'third' })).toMatchObject({ version: 3 });
    },
    'numbers changes that are made at once': async ({ assistants }) => {
      const { assistant_id: id } = await assistants.create({ graphId: 'counter' });
      const changes = Array.from({ length: 10 }, (_, n) => assistants.update(id, { name: `n${n}` }));
      const numbers = (await Promise.all(changes)).map(({ version }) => version);
      expect(numbers.sort((a, b) => a - b)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
      expect(await assistants.getVersions(id, { limit: 100 })).toHaveLength(11);
    },
    'gives its runs its whole configuration, below their own': async ({ assistants, runs, threads }) => {
      const config = {
        recursion_limit: 7,
        tags: ['of the assistant'],
        run_name: 'counting',
        configurable: { word: 'a', other: 'a' },
        metadata: { from: 'a', only: 'a' },
      };
      const context = { of: 'a', only: 'a' };
      const { assistant_id: id } = await assistants.create({ graphId: 'counter', config, context });
      const { thread_id } = await threads.create();
      const kwargsOf = async (more: object): Promise<Record<string, unknown>> => {
        const { run_id } = await runs.create(thread_id, id, { input: {}, ...more });
        await runs.join(thread_id, run_id);
        const run = await runs.get(thread_id, run_id);
        const { kwargs, metadata } = run as unknown as Record<string, object>;
        return { ...kwargs, metadata };
      };
      expect(await kwargsOf({})).toMatchObject({ config, context, metadata: config.metadata });
      const own = {
        recursion_limit: 9,
        tags: ['own'],
        configurable: { word: 'b' },
        metadata: { from: 'b' },
      };
      expect(await kwargsOf({ config: own, context: { of: 'b' } })).toMatchObject({
        config: {
          recursion_limit: 9,
          tags: ['own'],
          run_name: 'counting',
          configurable: { word: 'b', other: 'a' },
          metadata: { from: 'b', only: 'a' },
        },
        context: { of: 'b', only: 'a' },
        metadata: { from: 'b', only: 'a' },
      });
      // three steps are more than one
      const shallow = await assistants.create({ graphId: 'slow', config: { recursion_limit: 1 } });
      const waited = runs.wait(null, shallow.assistant_id, { input: { waitMs: 1 } });
      await expect(waited).rejects.toThrow(/GraphRecursionError/);
    },
    'shows what langgraph.json says of a graph as the description of its assistant': async ({
      assistants,
    }) => {
      const description = 'Repeats the last message.';
      const found = await assistants.search({ graphId: 'echo', metadata: { created_by: 'system' } });
      expect(found).toMatchObject([{ description, version: 1 }]);
      expect(await assistants.getVersions('echo')).toMatchObject([{ description }]);
    },
    'changes no assistant of a graph, and shows its one version': async ({ assistants }) => {
      const { assistant_id: id } = await assistants.get('counter');
      expect(await statusOf(assistants.update(id, { name: 'x' }))).toBe(400);
      expect(await statusOf(assistants.setLatest(id, 1))).toBe(400);
      expect(await assistants.getVersions('counter')).toMatchObject([{ version: 1, assistant_id: id }]);
    },
    'deletes an assistant, and not that of a graph': async ({ assistants, runs }) => {
      const { assistant_id: id } = await assistants.create({ graphId: 'counter' });
      await assistants.delete(id);
      expect(await statusOf(assistants.get(id))).toBe(404);
      expect(await statusOf(assistants.delete(id))).toBe(404);
      expect(await statusOf(runs.wait(null, id, { input: {} }))).toBe(404);
      expect(await statusOf(assistants.delete('counter'))).toBeGreaterThanOrEqual(400);
    },
    'searches assistants by graph and metadata, page by page, and counts them': async ({ assistants }) => {
      const metadata = { mark: randomUUID() };
      for (const name of ['b', 'c', 'a']) await assistants.create({ graphId: 'counter', name, metadata });
      const sorted = { metadata, sortBy: 'name', sortOrder: 'asc' } as const;
      const names = async (more: object) =>
        (await assistants.search({ ...sorted, ...more })).map(({ name }) => name);
      expect(await names({})).toEqual(['a', 'b', 'c']);
      expect(await names({ limit: 1, offset: 1 })).toEqual(['b']);
      expect(await names({ graphId: 'echo' })).toEqual([]);
      expect(await assistants.count({ metadata })).toBe(3);
      const selected = await assistants.search({ ...sorted, limit: 1, select: ['name', 'version'] });
      expect(selected).toEqual([{ name: 'a', version: 1 }]);
    },
    'draws the graph of an assistant, with its subgraphs when asked to': async ({ assistants }) => {
      const plain = await assistants.getGraph('nested');
      expect(plain.nodes.map(({ id }) => id)).toEqual(['__start__', 'child', 'after', '__end__']);
      expect(plain.edges).toContainEqual(expect.objectContaining({ source: 'child', target: 'after' }));
      const deep = await assistants.getGraph('nested', { xray: true });
      expect(deep.nodes.some(({ id }) => String(id).includes('inner'))).toBe(true);
    },
    'describes the state, the input, the output and the configuration of a graph': async ({ assistants }) => {
      const schemas = await assistants.getSchemas('counter');
      expect(schemas.graph_id).toBe('counter');
      for (const schema of [schemas.state_schema, schemas.input_schema, schemas.output_schema])
        expect(schema).toMatchObject({ type: 'object', properties: { steps: expect.anything() as unknown } });
      const subgraphs = await assistants.getSubgraphs('nested');
      expect(Object.keys(subgraphs)).toEqual(['child']);
      expect(Object.keys(await assistants.getSubgraphs('nested', { namespace: 'child' }))).toEqual(['child']);
    },
  }),
  ...newerSdkRows({
    'names the next page of a search of assistants': async ({ assistants }) => {
      const metadata = { mark: randomUUID() };
      for (const name of ['b', 'c', 'a']) await assistants.create({ graphId: 'counter', name, metadata });
      const paged = { metadata, limit: 2, includePagination: true } as const;
      const first = await assistants.search({
        ...paged,
        sortBy: 'name',
        sortOrder: 'asc',
        select: ['name', 'version'],
      });
      expect(first).toEqual({
        assistants: [
          { name: 'a', version: 1 },
          { name: 'b', version: 1 },
        ],
        next: '2',
      });
      const last = await assistants.search({ ...paged, offset: 2 });
      expect([last.assistants.length, last.next]).toEqual([1, null]);
    },
    'deletes the threads of an assistant with it when asked to': async ({ assistants, threads, runs }) => {
      for (const deleteThreads of [false, true]) {
        const { assistant_id: id } = await assistants.create({ graphId: 'counter' });
        const { thread_id } = await threads.create();
        await runs.wait(thread_id, id, { input: {} });
        await assistants.delete(id, { deleteThreads });
        expect(await statusOf(threads.get(thread_id))).toBe(deleteThreads ? 404 : 200);
        expect(await statusOf(assistants.get(id))).toBe(404);
      }
    },
  }),
];
