import { randomUUID } from 'node:crypto';
import { newerSdkRows, sdkRows, statusOf } from '../clients/sdk-client.js';

export const ASSISTANT_ROWS = [
  ...sdkRows({
    'lists the assistant of every graph, which bears its name': async ({ assistants }) => {
      const [found, ...more] = await assistants.search({
        graphId: 'counter',
        metadata: { created_by: 'system' },
      });
      expect([found?.graph_id, found?.name, more]).toEqual(['counter', 'counter', []]);
      expect(await assistants.get('counter')).toEqual(found);
      expect(await assistants.get(found?.assistant_id ?? '')).toEqual(found);
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
      const { assistant_id: id } = await assistants.create({ graphId: 'seeing', config: word('one') });
      const changed = await assistants.update(id, {
        config: word('two'),
        metadata: { b: 2 },
        name: 'second',
      });
      expect(changed).toMatchObject({ version: 2, name: 'second', metadata: { b: 2 } });
      expect((await assistants.getVersions(id)).map(({ version }) => version)).toEqual([2, 1]);
      expect(await assistants.getVersions(id, { limit: 1, offset: 1 })).toMatchObject([{ version: 1 }]);
      expect(await assistants.setLatest(id, 1)).toMatchObject({ version: 1 });
      const values = await runs.wait(null, id, { input: {} });
      expect((values as { seen: unknown }).seen).toMatchObject({ word: 'one' });
      expect(await statusOf(assistants.setLatest(id, 9))).toBe(404);
    },
    'deletes an assistant, and not that of a graph': async ({ assistants }) => {
      const { assistant_id: id } = await assistants.create({ graphId: 'counter' });
      await assistants.delete(id);
      expect(await statusOf(assistants.get(id))).toBe(404);
      expect(await statusOf(assistants.delete(id))).toBe(404);
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
    'deletes the threads of an assistant with it when asked to': async ({ assistants, threads, runs }) => {
      const { assistant_id: id } = await assistants.create({ graphId: 'counter' });
      const { thread_id } = await threads.create();
      await runs.wait(thread_id, id, { input: {} });
      await assistants.delete(id, { deleteThreads: true });
      expect(await statusOf(threads.get(thread_id))).toBe(404);
    },
  }),
];
