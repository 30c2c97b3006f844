import { expect, it } from '@jest/globals';
import type { Client } from '@langchain/langgraph-sdk';

interface Values {
  readonly messages: readonly { readonly content: string }[];
  readonly steps: readonly string[];
}

/** Tests of runs whose writes the channels of their graph refuse, for a server with these graphs. */
export function testRefusedWrites(server: () => { client(): Client }): void {
  const said = (content: string, role = 'user'): Record<string, unknown> => ({
    messages: [{ role, content }],
  });
  const say = (content: string): object => ({ input: said(content) });

  it.each(['chat', 'deltaChat'])(
    'keeps a thread of %s after a message that cannot be read',
    async (graph) => {
      const { threads, runs } = server().client();
      const { thread_id: id } = await threads.create();
      await runs.wait(id, graph, say('one'));
      const bad = { input: said('bad', 'nonsense'), raiseError: false };
      for (let attempt = 0; attempt < 2; attempt++) {
        expect(await runs.wait(id, graph, bad)).toHaveProperty('__error__');
        const state = await threads.getState<Values>(id);
        expect(state.values.messages).toHaveLength(2);
        expect(state.tasks.map(({ name, error }) => [name, error])).toEqual([
          ['__start__', expect.stringContaining('nonsense')],
        ]);
      }
      await expect(threads.updateState(id, { values: said('bad', 'nonsense') })).rejects.toThrow('nonsense');
      await threads.updateState(id, { values: said('two') });
      expect((await threads.getState<Values>(id)).values.messages).toHaveLength(3);
      expect(await runs.wait(id, graph, bad)).toHaveProperty('__error__');
      await runs.wait(id, graph, say('three'));
      const { values } = await threads.getState<Values>(id);
      expect(values.messages.map(({ content }) => content)).toEqual([
        'one',
        expect.anything(),
        'two',
        'three',
        expect.anything(),
      ]);
      expect((await threads.getHistory(id, { limit: 100 })).length).toBeGreaterThan(8);
    },
  );

  it('keeps a thread after two writes of one value in one step', async () => {
    const { threads, runs } = server().client();
    const { thread_id: id } = await threads.create();
    expect(await runs.wait(id, 'rivals', { input: {}, raiseError: false })).toHaveProperty('__error__');
    const { values, tasks } = await threads.getState<Values>(id);
    expect(values.steps ?? []).toEqual([]);
    expect(tasks.map(({ name, error }) => [name, error]).sort()).toEqual([
      ['oslo', expect.stringContaining('one value per step')],
      ['rome', expect.stringContaining('one value per step')],
    ]);
    await threads.updateState(id, { values: { city: 'Bern' }, asNode: 'oslo' });
    expect(await runs.wait(id, 'deltas', { input: {} })).toEqual({ city: 'Bern', steps: ['step 1'] });
  });

  it('shows the state of a subgraph after two writes of one value in one step', async () => {
    const { threads, runs } = server().client();
    const { thread_id: id } = await threads.create();
    expect(await runs.wait(id, 'rivalry', { input: {}, raiseError: false })).toHaveProperty('__error__');
    const { tasks } = await threads.getState<Values>(id, undefined, { subgraphs: true });
    expect(tasks.map(({ error }) => error)).toEqual([expect.stringContaining('one value per step')]);
  });
}
