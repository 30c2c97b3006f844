import { Annotation, END, interrupt, MemorySaver, START, StateGraph } from '@langchain/langgraph';
import type { RunnableGraph } from '../graph/runnable-graph.js';
import { stateOnWire } from './graph-questions.js';

const State = Annotation.Root({ said: Annotation<string> });
const config = { configurable: { thread_id: 'thread' } };

const child = new StateGraph(State)
  .addNode('ask', () => ({ said: String(interrupt('what now?')) }))
  .addEdge(START, 'ask')
  .addEdge('ask', END)
  .compile();

/** Two branches at once: one is done, one waits in a subgraph. */
const waiting = new StateGraph(State)
  .addNode('done', () => ({ said: 'done' }))
  .addNode('waits', child)
  .addEdge(START, 'done')
  .addEdge(START, 'waits')
  .addEdge('done', END)
  .addEdge('waits', END)
  .compile({ checkpointer: new MemorySaver() });

const failing = new StateGraph(State)
  .addNode('failed', () => {
    throw new RangeError('the node gave up');
  })
  .addEdge(START, 'failed')
  .addEdge('failed', END)
  .compile({ checkpointer: new MemorySaver() });

beforeAll(async () => {
  for (const graph of [waiting, failing]) await graph.invoke({ said: '' }, config).catch(() => undefined);
});

interface Shown {
  readonly tasks: readonly Record<string, unknown>[];
}

/** Tasks by name, as they are sent: values without JSON are left out. */
async function taskOf(graph: unknown, name: string, subgraphs = false): Promise<Record<string, unknown>> {
  const state = await (graph as RunnableGraph).getState(config, { subgraphs });
  const { tasks } = JSON.parse(JSON.stringify(stateOnWire(state))) as Shown;
  return tasks.find((task) => task['name'] === name) ?? {};
}

describe('a task of a state', () => {
  it('has every field of the interface, and null where there is nothing', async () => {
    const names = ['checkpoint', 'error', 'id', 'interrupts', 'name', 'path', 'result', 'state'];
    const done = await taskOf(waiting, 'done');
    const waits = await taskOf(waiting, 'waits');
    const failed = await taskOf(failing, 'failed');
    for (const task of [done, waits, failed]) expect(Object.keys(task).sort()).toEqual(names);
    expect(done).toMatchObject({ error: null, checkpoint: null, state: null, result: { said: 'done' } });
    expect(waits).toMatchObject({ error: null, state: null, result: null });
    expect(failed).toMatchObject({ error: 'the node gave up', state: null, result: null });
  });

  it('names the place of a subgraph that was not read, and no more', async () => {
    const { id, checkpoint } = await taskOf(waiting, 'waits');
    expect(checkpoint).toEqual({ thread_id: 'thread', checkpoint_ns: `waits:${String(id)}` });
  });

  it('holds the state of a subgraph that was read', async () => {
    const { state } = await taskOf(waiting, 'waits', true);
    expect(state).toMatchObject({ next: ['ask'], tasks: [{ name: 'ask', error: null, result: null }] });
  });
});
