import type { Client, StreamMode } from '@langchain/langgraph-sdk';
import { collect, dataOf, newerSdkRows, sdkRows, type StreamPart } from '../clients/sdk-client.js';

const HELLO = { messages: [{ role: 'user', content: 'hello' }] };
const named = (parts: readonly StreamPart[]): string[] => parts.map(({ event }) => event);

interface Case {
  readonly graph: string;
  readonly input: Record<string, unknown>;
  /** Names of the events after `metadata`, each once. */
  readonly events: readonly string[];
  readonly check: (parts: readonly StreamPart[]) => void;
}

/** Modes that only readers of a thread have: LangGraph's servers refuse them for a run. */
const REFUSED_MODES = ['lifecycle'] as const satisfies readonly StreamMode[];

/** Every stream mode of a run with the events that it makes. */
const MODES: Readonly<Record<Exclude<StreamMode, (typeof REFUSED_MODES)[number]>, Case>> = {
  values: {
    graph: 'slow',
    input: { waitMs: 1 },
    events: ['values'],
    check: (parts) =>
      expect(dataOf(parts, 'values').map((state) => (state as { steps: string[] }).steps)).toEqual([
        [],
        ['first'],
        ['first', 'second'],
        ['first', 'second', 'third'],
      ]),
  },
  updates: {
    graph: 'slow',
    input: { waitMs: 1 },
    events: ['updates'],
    check: (parts) =>
      expect(dataOf(parts, 'updates')).toEqual([
        { first: { steps: ['first'] } },
        { second: { steps: ['second'] } },
        { third: { steps: ['third'] } },
      ]),
  },
  'messages-tuple': {
    graph: 'echo',
    input: HELLO,
    events: ['messages'],
    check: (parts) => {
      const tokens = dataOf(parts, 'messages') as [{ content: string; type: string }, object][];
      expect(tokens.map(([{ content }]) => content).join('')).toBe('1: hello');
      expect(tokens.length).toBeGreaterThan(3);
      expect(tokens[0]?.[0].type).toBe('ai');
      for (const [, metadata] of tokens)
        expect(metadata).toMatchObject({ langgraph_node: 'say', graph_node: 'say', run_attempt: 1 });
    },
  },
  messages: {
    graph: 'echo',
    input: HELLO,
    events: ['messages/metadata', 'messages/partial', 'messages/complete'],
    check: (parts) => {
      const partial = dataOf(parts, 'messages/partial') as { content: string }[][];
      expect(partial.at(-1)?.[0]?.content).toBe('1: hello');
      for (const [index, [message]] of partial.slice(1).entries())
        expect(message?.content.startsWith(partial[index]?.[0]?.content ?? '')).toBe(true);
    },
  },
  debug: {
    graph: 'counter',
    input: {},
    events: ['debug'],
    check: (parts) => {
      const kinds = dataOf(parts, 'debug').map((data) => (data as { type: string }).type);
      expect(new Set(kinds)).toEqual(new Set(['checkpoint', 'task', 'task_result']));
      expect(JSON.stringify(parts)).not.toMatch(/"__pregel_\w+":/);
    },
  },
  custom: {
    graph: 'ticking',
    input: { count: 3, waitMs: 1 },
    events: ['custom'],
    check: (parts) => expect(dataOf(parts, 'custom')).toEqual([{ tick: 0 }, { tick: 1 }, { tick: 2 }]),
  },
  events: {
    graph: 'echo',
    input: HELLO,
    events: ['events'],
    check: (parts) => {
      const kinds = dataOf(parts, 'events').map((data) => (data as { event: string }).event);
      expect(kinds).toEqual(
        expect.arrayContaining([
          'on_chain_start',
          'on_chat_model_stream',
          'on_chat_model_end',
          'on_chain_end',
        ]),
      );
    },
  },
  tasks: {
    graph: 'counter',
    input: {},
    events: ['tasks'],
    check: (parts) =>
      expect(dataOf(parts, 'tasks')).toMatchObject([
        { name: 'count', triggers: expect.any(Array) as unknown },
        { name: 'count', result: expect.anything() as unknown },
      ]),
  },
  checkpoints: {
    graph: 'counter',
    input: {},
    events: ['checkpoints'],
    check: (parts) =>
      expect(dataOf(parts, 'checkpoints').at(-1)).toMatchObject({
        values: { steps: ['step 1'] },
        next: [],
        metadata: { source: 'loop' },
        checkpoint: { checkpoint_id: expect.any(String) as unknown },
      }),
  },
  tools: {
    graph: 'tooling',
    input: {},
    events: ['tools'],
    check: (parts) => {
      const [first, ...others] = dataOf(parts, 'tools');
      const input: unknown = expect.anything();
      expect(first).toEqual({ event: 'on_tool_start', toolCallId: 'call-1', name: 'add', input });
      expect(others).toMatchObject([
        { event: 'on_tool_end', output: { content: '3' } },
        { event: 'on_tool_start', toolCallId: 'call-2', name: 'break' },
        { event: 'on_tool_error', error: { error: 'RangeError', message: 'the tool gave up' } },
      ]);
    },
  },
};

const streamed = (client: Client, threadId: string | null, { graph, input }: Case, mode: StreamMode) =>
  // one signature for each kind of thread
  threadId === null
    ? collect(client.runs.stream(null, graph, { input, streamMode: mode }))
    : collect(client.runs.stream(threadId, graph, { input, streamMode: mode }));

function expectCase(parts: readonly StreamPart[], { events, check }: Case): void {
  expect(parts[0]?.event).toBe('metadata');
  expect(parts[0]?.data).toEqual({ run_id: expect.any(String) as unknown, attempt: 1 });
  expect(new Set(named(parts).slice(1))).toEqual(new Set(events));
  check(parts);
}

const modeChecks = Object.entries(MODES).flatMap(([mode, given]) => {
  const check = (isStateless: boolean) => async (client: Client) => {
    const threadId = isStateless ? null : (await client.threads.create()).thread_id;
    expectCase(await streamed(client, threadId, given, mode as StreamMode), given);
  };
  return [
    [`streams ${mode} of a run on a thread`, check(false)],
    [`streams ${mode} of a run without a thread`, check(true)],
  ] as const;
});

export const STREAM_ROWS = [
  ...sdkRows(Object.fromEntries(modeChecks)),
  ...newerSdkRows({
    'answers 422 to a mode that runs do not have': async (client) => {
      for (const streamMode of REFUSED_MODES)
        await expect(
          collect(client.runs.stream(null, 'counter', { input: {}, streamMode })),
        ).rejects.toMatchObject({ status: 422 });
    },
  }),
  ...sdkRows({
    'streams several modes, each under its name': async (client) => {
      const { thread_id } = await client.threads.create();
      const parts = await collect(
        client.runs.stream(thread_id, 'slow', {
          input: { waitMs: 1 },
          streamMode: ['values', 'updates', 'custom', 'tasks'],
        }),
      );
      expect(new Set(named(parts))).toEqual(new Set(['metadata', 'values', 'updates', 'custom', 'tasks']));
      expect(dataOf(parts, 'custom')).toEqual([{ began: 'first' }, { began: 'second' }, { began: 'third' }]);
    },
    'streams values where no mode is named': async (client) => {
      const parts = await collect(client.runs.stream(null, 'counter', { input: {} }));
      expect(named(parts)).toEqual(['metadata', 'values']);
    },
    'streams what a subgraph does under its namespace, only when asked to': async (client) => {
      const asked = { input: {}, streamMode: ['updates', 'values'] as ('updates' | 'values')[] };
      const deep = { ...asked, streamSubgraphs: true };
      const { thread_id } = await client.threads.create();
      for (const parts of [
        await collect(client.runs.stream(thread_id, 'nested', deep)),
        await collect(client.runs.stream(null, 'nested', deep)),
      ]) {
        const inner = named(parts).filter((name) => name.includes('|'));
        expect(inner.length).toBeGreaterThan(0);
        for (const name of inner) expect(name).toMatch(/^(updates|values)\|child:[0-9a-f-]+$/);
      }
      const { thread_id: other } = await client.threads.create();
      const plain = await collect(client.runs.stream(other, 'nested', asked));
      expect(named(plain).filter((name) => name.includes('|'))).toEqual([]);
    },
    'ends the stream of a run that fails with its error': async (client) => {
      const { thread_id } = await client.threads.create();
      const parts = await collect(client.runs.stream(thread_id, 'failing', { input: HELLO }));
      expect(parts.at(-1)).toMatchObject({
        event: 'error',
        data: { error: 'RangeError', message: 'the node gave up' },
      });
      expect((await client.threads.get(thread_id)).status).toBe('error');
    },
    'streams the question of a run that stops, then what follows the answer': async (client) => {
      const { thread_id } = await client.threads.create();
      const stopped = await collect(
        client.runs.stream(thread_id, 'asking', { input: HELLO, streamMode: ['updates', 'values'] }),
      );
      for (const mode of ['updates', 'values'])
        expect(dataOf(stopped, mode).at(-1)).toMatchObject({ __interrupt__: [{ value: 'Which colour?' }] });
      const done = await collect(
        client.runs.stream(thread_id, 'asking', { command: { resume: 'red' }, streamMode: 'messages-tuple' }),
      );
      const text = dataOf(done, 'messages').map((data) => (data as [{ content: string }])[0].content);
      expect(text.join('')).toBe('painted red');
    },
  }),
];
