import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres';
import type { Checkpoint } from '@langchain/langgraph-sdk';
import { openPool, type Pool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import * as graphs from '../testdata/agent/graphs.js';
import { testServer } from '../testdata/test-server.js';
import { stateSerializer } from './store/checkpoint/state-serializer.js';
import { SCHEMA } from './store/schema/later-tables.js';

const server = testServer();
let pool: Pool;

beforeAll(() => {
  pool = openPool({ uri: server.uri, applicationName: 'test', log: createLogger('test', 'silent') });
});
afterAll(() => pool?.end());

interface Shown {
  readonly values: unknown;
  readonly next: readonly string[];
  readonly checkpoint_id: unknown;
  readonly tasks: readonly unknown[];
}

/** The public saver with the writes of a step in the order of the library's own saver, `writesSortKey`; it knows no paths. */
function orderedSaver(): PostgresSaver {
  const saver = new PostgresSaver(pool, stateSerializer, { schema: SCHEMA });
  const statements = Reflect.get(saver, 'SQL_STATEMENTS') as Record<string, string>;
  const inStep = 'order by cw.task_path collate "C", cw.task_id, cw.idx';
  statements['SELECT_SQL'] = String(statements['SELECT_SQL']).replace('order by cw.task_id, cw.idx', inStep);
  return saver;
}

/** States of a thread at every checkpoint, as the library shows them over the same rows. */
async function libraryStates(
  name: 'deltas' | 'quartet',
  threadId: string,
): Promise<{ states: Shown[]; at: (id: string) => Promise<Shown> }> {
  const graph = graphs[name];
  const copy = Object.assign(Object.create(Object.getPrototypeOf(graph) as object) as typeof graph, graph);
  copy.checkpointer = orderedSaver();
  const show = (state: Awaited<ReturnType<typeof graph.getState>>): Shown => ({
    values: state.values,
    next: state.next,
    checkpoint_id: state.config.configurable?.['checkpoint_id'],
    tasks: state.tasks.map(({ name: task, interrupts }) => ({
      task,
      interrupts: interrupts.map(({ value }) => value as unknown),
    })),
  });
  const states: Shown[] = [];
  for await (const state of copy.getStateHistory({
    configurable: { thread_id: threadId, checkpoint_ns: '' },
  }))
    states.push(show(state));
  const at = async (id: string) =>
    show(
      await copy.getState({ configurable: { thread_id: threadId, checkpoint_ns: '', checkpoint_id: id } }),
    );
  return { states, at };
}

describe('a thread whose channel stores changes', () => {
  it('has the states of the library, at every checkpoint', async () => {
    const { threads, runs } = server.client();
    const { thread_id: id } = await threads.create();
    for (let n = 0; n < 4; n++) await runs.wait(id, 'deltas', { input: {} });
    await runs.wait(id, 'quartet', { input: { city: 'Rome' }, raiseError: false });
    await runs.wait(id, 'quartet', { input: { city: 'Oslo' } });
    await runs.wait(id, 'quartet', { input: null, command: { resume: 'me' } });
    for (let n = 0; n < 4; n++) await runs.wait(id, 'deltas', { input: { steps: [`in ${n}`] } });
    const before = await threads.getHistory(id, { limit: 1000 });
    const old = before.at(Math.floor(before.length / 2))?.checkpoint as Checkpoint;
    await runs.wait(id, 'deltas', { input: { steps: ['branch'] }, checkpoint: old });
    await threads.updateState(id, { values: { steps: ['u'] }, asNode: 'count', checkpoint: old });
    await threads.updateState(id, { values: { steps: ['v'] }, asNode: 'count' });
    const ours = await threads.getHistory(id, { limit: 1000 });
    const { states, at } = await libraryStates('deltas', id);
    const show = (state: (typeof ours)[number]): Shown => ({
      values: state.values,
      next: state.next,
      checkpoint_id: state.checkpoint.checkpoint_id,
      tasks: state.tasks.map(({ name, interrupts }) => ({
        task: name,
        interrupts: interrupts.map(({ value }) => value),
      })),
    });
    expect(ours.map(show)).toEqual(states);
    const seen = [];
    for (const { checkpoint } of ours) {
      const one = show(await threads.getState(id, checkpoint));
      seen.push([one, await at(String(checkpoint.checkpoint_id))]);
    }
    for (const [one, theirs] of seen) expect(one).toEqual(theirs);
  });
});
