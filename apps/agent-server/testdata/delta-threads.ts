import { waitFor } from '#lib/testing';
import type { Checkpoint, Client } from '@langchain/langgraph-sdk';

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

  it('shows and changes the values of a channel that stores changes', async () => {
    const { threads } = server().client();
    const id = await begun(9);
    const valuesOf = async (thread: string): Promise<unknown> =>
      (await threads.getState<Steps>(thread)).values.steps;
    expect(await valuesOf(id)).toEqual(steps(9));
    const history = await threads.getHistory<Steps>(id, { limit: 1000 });
    const ends = history.filter(({ next, values }) => next.length === 0 && values.steps.length > 0);
    expect(ends.map(({ values }) => values.steps)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1].map(steps));
    const selected = await fetch(`${server().url}/threads/${id}/state?select=values.steps`);
    expect(await selected.json()).toMatchObject({ values: { steps: steps(9) } });
    await threads.updateState(id, { values: { steps: ['step 10'] }, asNode: 'count' });
    expect([await valuesOf(id), (await threads.get(id)).values]).toEqual([steps(10), { steps: steps(10) }]);
    expect(await wait(id)).toEqual(steps(11));
    const checkpoint = ends[4]?.checkpoint;
    expect(await wait(id, 'deltas', { checkpoint })).toEqual(steps(6));
    expect(await valuesOf(id)).toEqual(steps(6));
    await threads.updateState(id, { values: { steps: ['a'] }, asNode: 'count', checkpoint });
    expect(await valuesOf(id)).toEqual([...steps(5), 'a']);
  });

  it('keeps two changes of one state apart', async () => {
    const { threads } = server().client();
    const id = await begun(1, 'counter');
    const { checkpoint } = await threads.getState(id);
    for (const name of ['a', 'b']) {
      await threads.updateState(id, { values: { steps: [name] }, asNode: 'count', checkpoint });
      expect((await threads.getState<Steps>(id)).values.steps).toEqual(['step 1', name]);
    }
  });

  it('keeps branches of a channel that stores changes apart', async () => {
    const { threads, runs } = server().client();
    const id = await begun(3);
    const states = await threads.getHistory<Steps>(id, { limit: 100 });
    const at = (count: number, next: number) =>
      states.find((state) => state.values.steps.length === count && state.next.length === next)?.checkpoint;
    const [checkpoint, before] = [at(2, 0), at(2, 1)];
    const ends: [Checkpoint, string[]][] = [];
    const valuesAt = async (place?: Checkpoint): Promise<string[]> =>
      (await threads.getState<Steps>(id, place)).values.steps;
    const branch = async (made: Promise<unknown>, expected: string[]): Promise<void> => {
      await made;
      const state = await threads.getState<Steps>(id);
      expect(state.values.steps).toEqual(expected);
      ends.push([state.checkpoint, expected]);
    };
    for (const name of ['a', 'b', 'c']) {
      const values = { steps: [name] };
      await branch(wait(id, 'deltas', { checkpoint, input: values }), [...steps(2), name, 'step 4']);
      await branch(threads.updateState(id, { values, asNode: 'count', checkpoint }), [...steps(2), name]);
      await branch(wait(id), [...steps(2), name, 'step 4']);
      await branch(wait(id, 'deltas', { checkpoint: before, input: null }), steps(3));
    }
    for (const [place, expected] of ends) expect(await valuesAt(place)).toEqual(expected);
    expect(await valuesAt(states[0]?.checkpoint as Checkpoint)).toEqual(steps(3));
    expect((await runs.list(id, { limit: 100 })).map(({ status }) => status)).not.toContain('error');
  });

  it('orders parallel changes of one channel as the run did, and asks in between', async () => {
    const { threads, runs } = server().client();
    const id = await begun(1);
    const asked = await runs.wait(id, 'quartet', { input: {} });
    expect(asked).toHaveProperty('__interrupt__');
    const command = { resume: 'me' };
    const shown = await wait(id, 'quartet', { input: null, command });
    expect([...shown].sort()).toEqual(['a', 'b', 'c', 'me', 'step 1']);
    expect((await threads.getState<Steps>(id)).values.steps).toEqual(shown);
    expect(await wait(id)).toEqual([...shown, 'step 6']);
    await prune(id);
    expect((await threads.getState<Steps>(id)).values.steps).toEqual([...shown, 'step 6']);
  });

  it('drops the changes of a step that has failed, or was left waiting, with the next input', async () => {
    const { runs, threads } = server().client();
    const id = await begun(1);
    const failed = await runs.wait(id, 'quartet', { input: { city: 'Rome' }, raiseError: false });
    expect(failed).toHaveProperty('__error__');
    expect(await wait(id)).toEqual(steps(2));
    await runs.wait(id, 'quartet', { input: { city: 'Oslo' } });
    expect(await wait(id)).toEqual(steps(3));
    expect((await threads.getState<Steps>(id)).values.steps).toEqual(steps(3));
  });

  it('keeps the values of a channel that stores changes when it is copied, rolled back and kept at exit alone', async () => {
    const { threads, runs } = server().client();
    const id = await begun(4);
    const copy = (await threads.copy(id)) as unknown as { thread_id: string };
    await prune(id);
    const run = await runs.create(id, 'deltas', { input: { steps: ['late'], ms: 3_000 } });
    await waitFor(async () => (await threads.getState<Steps>(id)).values.steps.includes('late'));
    await runs.cancel(id, run.run_id, true, 'rollback');
    expect(await wait(id)).toEqual(steps(5));
    expect(await wait(copy.thread_id, 'deltas', { durability: 'exit' })).toEqual(steps(5));
    expect(await wait(copy.thread_id, 'deltas', { durability: 'exit' })).toEqual(steps(6));
    await prune(copy.thread_id);
    expect((await threads.getState<Steps>(copy.thread_id)).values.steps).toEqual(steps(6));
  });

  it('shows and changes the state of a subgraph that waits', async () => {
    const { threads, runs } = server().client();
    const { thread_id: id } = await threads.create();
    await runs.wait(id, 'forecast', { input: { city: 'Bern' } });
    const checkpoint = (await threads.getState(id)).tasks[0]?.checkpoint;
    if (!checkpoint) throw new Error('no subgraph waits');
    const inner = await threads.getState<Steps>(id, checkpoint);
    expect([inner.next, inner.values]).toEqual([['report'], { steps: ['picked'], city: 'Rome' }]);
    const whole = await threads.getState(id, undefined, { subgraphs: true });
    expect(whole.tasks[0]?.state?.values).toEqual(inner.values);
    const history = await threads.getHistory<Steps>(id, { checkpoint });
    expect(history.map(({ next }) => next)).toEqual([['report'], ['pick'], ['__start__']]);
    await threads.updateState(id, { values: { city: 'Oslo' }, checkpoint, asNode: 'pick' });
    expect((await threads.getState<{ city: string }>(id, checkpoint)).next).toEqual(['report']);
    const ended = await runs.wait(id, 'forecast', { input: null });
    expect(ended).toMatchObject({ steps: ['picked', 'sunny in Oslo'] });
  });

  it('keeps its last checkpoint alone when it is pruned and its channels store values', async () => {
    const id = await begun(3, 'counter');
    await prune(id);
    expect(await lengthOf(id)).toBe(1);
    expect(await wait(id, 'counter')).toEqual(steps(4));
  });
}
