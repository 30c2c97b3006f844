import type { StreamEvent } from '@langchain/core/tracers/log_stream';
import type { StreamMode } from '@langchain/langgraph-sdk';
import { nested, slow } from '../testdata/agent/graphs.js';
import { testServer } from '../testdata/test-server.js';

const GRAPHS = { nested, slow } as const;
const INPUT = { steps: [], waitMs: 5 };

const server = testServer();

/** Output that a client gets, in order: modes, and for library events their kinds. */
async function served(
  graph: keyof typeof GRAPHS,
  modes: StreamMode[],
  subgraphs: boolean,
): Promise<string[]> {
  const client = server.client();
  const { thread_id } = await client.threads.create();
  const options = { input: INPUT, streamMode: modes, streamSubgraphs: subgraphs };
  const seen: string[] = [];
  for await (const { event, data } of client.runs.stream(thread_id, graph, options)) {
    const [mode = ''] = event.split('|');
    const { event: kind } = data as { event?: string };
    if (mode !== 'metadata') seen.push(mode === 'events' ? `events ${kind}` : mode);
  }
  return seen;
}

describe('the order of a stream', () => {
  it.each([
    ['slow', ['values', 'updates', 'custom'], false],
    ['slow', ['custom', 'tasks', 'updates', 'values'], false],
    ['nested', ['updates', 'values', 'tasks'], true],
  ] as const)('equals that of the engine: %s in %j', async (name, modes, subgraphs) => {
    const made: string[] = [];
    const options = { streamMode: [...modes], subgraphs } as const;
    for await (const chunk of await GRAPHS[name].stream(INPUT, options as object))
      made.push(String((chunk as unknown[]).at(-2)));
    expect(await served(name, [...modes], subgraphs)).toEqual(made);
  });

  it.each([
    ['slow', ['events', 'values', 'custom']],
    ['slow', ['updates', 'events']],
  ] as const)('equals that of the engine with its events: %s in %j', async (name, modes) => {
    const made: string[] = [];
    const streamMode = [...new Set(['values', ...modes])].filter((mode) => mode !== 'events');
    const runId = '11111111-1111-4111-8111-111111111111';
    const options = { version: 'v2', streamMode, runId } as const;
    const stream = GRAPHS[name].streamEvents(
      INPUT,
      options as never,
    ) as unknown as AsyncIterable<StreamEvent>;
    for await (const event of stream) {
      // the chunks of the graph are what its other modes show
      const isOfGraph = event.event === 'on_chain_stream' && event.run_id === runId;
      const mode = isOfGraph ? String((event.data.chunk as unknown[])[0]) : '';
      if ((modes as readonly string[]).includes(mode)) made.push(mode);
      if (!isOfGraph) made.push(`events ${event.event}`);
    }
    expect(await served(name, [...modes], false)).toEqual(made);
  });

  it('holds every token of models that answer many runs at once', async () => {
    const client = server.client();
    const tokensOf = async (): Promise<number> => {
      const input = { messages: [{ role: 'user', content: 'hello' }] };
      let tokens = 0;
      for await (const { event } of client.runs.stream(null, 'hasty', {
        input,
        streamMode: 'messages-tuple',
      }))
        if (event === 'messages') tokens++;
      return tokens;
    };
    expect(await Promise.all(Array.from({ length: 8 }, tokensOf))).toEqual(Array(8).fill(100));
  });
});
