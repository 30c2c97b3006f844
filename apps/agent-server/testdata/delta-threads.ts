import type { Client } from '@langchain/langgraph-sdk';

interface Steps {
  readonly steps: string[];
}

const steps = (count: number): string[] => Array.from({ length: count }, (_, at) => `step ${at + 1}`);

/**
 * Tests of threads whose graph stores the changes of a channel instead of its values, for a server with the graphs
 * `counter`, `deltas` (a snapshot after 7 changes) and `forecast`.
 */
export function testDeltaThreads(server: () => { readonly url: string; client(): Client }): void {
  const wait = async (id: string, graph = 'deltas', more: object = {}): Promise<string[]> =>
    (
      (await server()
        .client()
        .runs.wait(id, graph, { input: {}, ...more })) as unknown as Steps
    ).steps;

  async function begun(turns: number, graph = 'deltas'): Promise<string> {
    const { thread_id: id } = await server().client().threads.create();
    for (let turn = 0; turn < turns; turn++) await wait(id, graph);
    return id;
  }

  async function prune(id: string): Promise<void> {
    const response = await fetch(`${server().url}/threads/prune`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ thread_ids: [id], strategy: 'keep_latest' }),
    });
    expect(await response.json()).toEqual({ pruned_count: 1 });
  }

  const lengthOf = async (id: string): Promise<number> =>
    (await server().client().threads.getHistory(id, { limit: 1000 })).length;

  it('keeps the values of a channel that stores changes when it is pruned', async () => {
    const id = await begun(3);
    await prune(id);
    for (let turn = 4; turn <= 12; turn++) expect(await wait(id)).toEqual(steps(turn));
    const before = await lengthOf(id);
    await prune(id);
    expect(await lengthOf(id)).toBeLessThan(before);
    await prune(id);
    expect(await wait(id)).toEqual(steps(13));
  });

  it('keeps values that were stored before the channel stored changes when it is pruned', async () => {
    const id = await begun(3, 'counter');
    expect(await wait(id)).toEqual(steps(4));
    await prune(id);
    expect(await wait(id)).toEqual(steps(5));
  });

  it('keeps its last checkpoint alone when it is pruned and its channels store values', async () => {
    const id = await begun(3, 'counter');
    await prune(id);
    expect(await lengthOf(id)).toBe(1);
    expect(await wait(id, 'counter')).toEqual(steps(4));
  });
}
