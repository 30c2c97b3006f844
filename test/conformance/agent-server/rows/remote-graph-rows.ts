import { Command, type StateSnapshot } from '@langchain/langgraph';
import { RemoteGraph } from '@langchain/langgraph/remote';
import { waitFor } from '#lib/testing';
import { sdkClient } from '../clients/sdk-client.js';
import { rowsOf, type Target } from '../target.js';

const HELLO = { messages: [{ role: 'user', content: 'hello' }] };

const remote = ({ url, headers }: Target, graphId: string): RemoteGraph =>
  new RemoteGraph({ graphId, url, headers: { ...headers } });

async function onThread(target: Target): Promise<{ configurable: { thread_id: string } }> {
  return { configurable: { thread_id: (await sdkClient(target).threads.create()).thread_id } };
}

async function collect<Part>(parts: AsyncIterable<Part>): Promise<Part[]> {
  const found: Part[] = [];
  for await (const part of parts) found.push(part);
  return found;
}

export const REMOTE_GRAPH_ROWS = rowsOf('RemoteGraph in JavaScript', {
  'invokes a graph on a thread and without one': async (target) => {
    const [graph, config] = [remote(target, 'counter'), await onThread(target)];
    expect(await graph.invoke({})).toMatchObject({ steps: ['step 1'] });
    await graph.invoke({}, config);
    expect(await graph.invoke({}, config)).toMatchObject({ steps: ['step 1', 'step 2'] });
  },
  'streams modes and pairs of them': async (target) => {
    const [graph, config] = [remote(target, 'counter'), await onThread(target)];
    const updates = await collect(await graph.stream({}, { ...config, streamMode: 'updates' }));
    expect(updates).toEqual([{ count: { steps: ['step 1'] } }]);
    const pairs = await collect(await graph.stream({}, { ...config, streamMode: ['values', 'updates'] }));
    expect(new Set(pairs.map((pair) => (pair as [string])[0]))).toEqual(new Set(['values', 'updates']));
  },
  'streams what subgraphs do': async (target) => {
    const [graph, config] = [remote(target, 'nested'), await onThread(target)];
    const depths: number[] = [];
    const read = async (): Promise<void> => {
      const stream = await graph.stream({ waitMs: 1 }, { ...config, streamMode: 'values', subgraphs: true });
      for await (const part of stream) depths.push((part as [string[]])[0].length);
    };
    // this client throws at a question
    await expect(read()).rejects.toThrow(/inside\?/);
    expect(new Set(depths)).toEqual(new Set([0, 1]));
  },
  'reads and changes states': async (target) => {
    const [graph, config] = [remote(target, 'counter'), await onThread(target)];
    await graph.invoke({}, config);
    const state = (await graph.getState(config)) as StateSnapshot & { values: { steps: string[] } };
    expect([state.values.steps, state.next]).toEqual([['step 1'], []]);
    expect(await collect(graph.getStateHistory(config))).toHaveLength(3);
    await graph.updateState(config, { steps: ['by hand'] }, 'count');
    expect((await graph.getState(config)).values).toMatchObject({ steps: ['step 1', 'by hand'] });
    expect((await graph.getState(state.config)).values).toMatchObject({ steps: ['step 1'] });
  },
  'stops for a question and goes on with a command': async (target) => {
    const [graph, config] = [remote(target, 'asking'), await onThread(target)];
    // this client throws at a question
    await expect(graph.invoke(HELLO, config)).rejects.toThrow(/Which colour\?/);
    await waitFor(async () => (await graph.getState(config)).next[0] === 'ask');
    const done = (await graph.invoke(new Command({ resume: 'red' }), config)) as {
      messages: { content: string }[];
    };
    expect(done.messages.at(-1)?.content).toBe('painted red');
  },
  'draws a graph': async (target) => {
    const drawn = await remote(target, 'nested').getGraphAsync({ xray: true });
    expect(Object.keys(drawn.nodes).some((name) => name.includes('inner'))).toBe(true);
  },
  'raises the error of a run that fails': async (target) => {
    await expect(remote(target, 'failing').invoke(HELLO)).rejects.toThrow(/the node gave up/);
  },
});
