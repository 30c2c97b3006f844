import { spawnSync } from 'node:child_process';
import { cpSync, existsSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import type { Client } from '@langchain/langgraph-sdk';
import { keepGraphTypes } from '#lib/image-store';
import { temporaryFolder, testPostgres } from '#lib/testing';
import { prepareDatabase } from '../../apps/agent-server/testdata/store-fixture.js';
import { ServerProcess } from '../../apps/agent-server/testdata/start-server.js';

/** Releases of langgraph and langgraph-checkpoint that people's locks have together: the newest of each minor, and the floor. */
const PYTHON = [
  ['0.4.1', '2.0.26'],
  ['0.4.8', '2.1.0'],
  ['0.4.10', '2.0.26'],
  ['0.5.4', '2.1.1'],
  ['0.6.11', '2.1.2'],
  ['0.6.11', '3.0.1'],
  ['1.0.10', '4.0.0'],
  ['1.0.10', '4.0.1'],
  ['1.1.10', '4.0.3'],
  ['1.2.5', '4.1.1'],
  ['1.2.12', '4.2.0'],
  ['1.2.24', '4.3.2'],
] as const;

/** Releases of @langchain/langgraph, with the line of @langchain/core that they are for. */
const JAVASCRIPT = [
  ['0.2.20', '^0.3.0'],
  ['0.2.45', '^0.3.0'],
  ['0.2.74', '^0.3.0'],
  ['0.3.12', '^0.3.0'],
  ['0.4.9', '^0.3.0'],
  ['1.0.15', '^1.0.0'],
  ['1.1.5', '^1.0.0'],
  ['1.2.9', '^1.0.0'],
  ['1.3.7', '^1.0.0'],
  ['1.4.21', '^1.0.0'],
  ['1.5.3', '^1.0.0'],
  ['1.7.3', '^1.0.0'],
] as const;

const python = process.env['AGENTPLANE_TEST_PYTHON'] ?? '';
const uv = join(dirname(python), 'uv');

function run(command: string, args: readonly string[], folder: string): void {
  const env = { ...process.env, PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter) };
  const { status, stderr } = spawnSync(command, args, { cwd: folder, encoding: 'utf8', env });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr}`);
}

/** Behaviour that clients count on; each answers a value that is compared, so that one difference hides no other. */
const CHECKS: Readonly<Record<string, (client: Client) => Promise<unknown>>> = {
  async answers({ runs, threads }) {
    const { thread_id: id } = await threads.create();
    for (const content of ['one', 'two'])
      await runs.wait(id, 'chat', { input: { messages: [{ type: 'human', content }] } });
    const { values, next } = await threads.getState<{ messages: { content: string }[] }>(id);
    return [values.messages.map(({ content }) => content), next, (await threads.getHistory(id)).length];
  },
  async streams({ runs }) {
    const events = new Set<string>();
    let text = '';
    const streamMode: ['messages-tuple', 'updates', 'values'] = ['messages-tuple', 'updates', 'values'];
    const input = { messages: [{ type: 'human', content: 'a' }] };
    for await (const { event, data } of runs.stream(null, 'chat', { input, streamMode })) {
      events.add(event);
      if (event === 'messages') text += (data as unknown as [{ content: string }])[0].content;
    }
    // releases of its time repeat a message whose pieces have no id
    return [[...events].sort(), text.slice(0, 'you said a'.length)];
  },
  async events({ runs }) {
    const kinds = new Set<unknown>();
    const input = { messages: [{ type: 'human', content: 'a' }] };
    for await (const { event, data } of runs.stream(null, 'chat', { input, streamMode: ['events'] }))
      if (event === 'events') kinds.add((data as unknown as { event: string }).event);
    return ['on_chain_start', 'on_chat_model_stream', 'on_chain_end'].filter((kind) => !kinds.has(kind));
  },
  async 'asks a person in a subgraph'({ runs, threads }) {
    const { thread_id: id } = await threads.create();
    await runs.wait(id, 'asks', { input: { word: 'a' } });
    const { tasks, next } = await threads.getState(id, undefined, { subgraphs: true });
    const asked = [next, tasks[0]?.interrupts.length, (await threads.get(id)).status];
    await runs.wait(id, 'asks', { input: { answer: 'you' } });
    return [asked, (await threads.getState<{ answer: string }>(id)).values.answer];
  },
  async 'goes on with the answer of a command'({ runs, threads }) {
    const { thread_id: id } = await threads.create();
    await runs.wait(id, 'decides', { input: { word: 'a' } });
    // the first releases ask nothing
    const { next, values } = await threads.getState<{ answer: string }>(id);
    if (next.length === 0) return values.answer;
    await runs.wait(id, 'decides', { command: { resume: 'me' } });
    return (await threads.getState<{ answer: string }>(id)).values.answer;
  },
  async 'keeps values of classes over a stop'({ runs, threads }) {
    const { thread_id: id } = await threads.create();
    await runs.wait(id, 'keeps', { input: {} });
    const stopped = await threads.getState<{ seen: string[] }>(id);
    const config = { configurable: { word: 'w' } };
    const ended = await runs.wait(id, 'keeps', { input: null, config });
    const { word } = ended as { word: string };
    return [stopped.values.seen, stopped.next, word.split(' ')[0]];
  },
  async 'keeps items'({ store }) {
    return (await store.getItem(['notes'], 'last'))?.value;
  },
  async 'updates a state'({ runs, threads }) {
    const { thread_id: id } = await threads.create();
    await runs.wait(id, 'chat', { input: { messages: [{ type: 'human', content: 'one' }] } });
    await threads.updateState(id, {
      values: { messages: [{ type: 'human', content: 'mine' }] },
      asNode: 'answer',
    });
    const { values } = await threads.getState<{ messages: { content: string }[] }>(id);
    return values.messages.map(({ content }) => content);
  },
  async 'answers without a thread'({ runs }) {
    const input = { messages: [{ type: 'human', content: 'a' }] };
    const { messages } = (await runs.wait(null, 'chat', { input })) as { messages: { content: string }[] };
    return messages.map(({ content }) => content);
  },
  async 'is drawn'({ assistants }) {
    const { nodes, edges } = await assistants.getGraph('chat');
    return [nodes.map(({ id }) => String(id)).sort(), edges.length];
  },
  async 'has schemas'({ assistants }) {
    const { input_schema: input, state_schema: state } = await assistants.getSchemas('chat');
    const types = [input, state].map((schema) => schema?.properties?.['messages']);
    return types.map((one) => (typeof one === 'object' ? one.type : one));
  },
};

const EXPECTED = {
  answers: [['one', 'you said one', 'two', 'you said two'], [], 6],
  streams: [['messages', 'metadata', 'updates', 'values'], 'you said a'],
  events: [],
  'asks a person in a subgraph': [[['inner'], 1, 'interrupted'], 'you'],
  'goes on with the answer of a command': 'me',
  'keeps values of classes over a stop': [['np2026', 'np2026'], ['remember'], 'w'],
  'keeps items': { text: 'kept' },
  'updates a state': ['one', 'you said one', 'mine'],
  'answers without a thread': ['a', 'you said a'],
  'is drawn': [['__end__', '__start__', 'answer'], 2],
  'has schemas': ['array', 'array'],
};

async function checkAll(client: Client): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (const [name, check] of Object.entries(CHECKS))
    found[name] = await check(client).catch((error: unknown) => String(error));
  return found;
}

/** Agents with releases of LangGraph as their locks have them. */
describe('an agent with its own release of LangGraph', () => {
  const postgres = testPostgres();
  const folder = temporaryFolder();

  const check = async (agent: string): Promise<Record<string, unknown>> => {
    const { uri } = await postgres.freshDatabase(prepareDatabase);
    const server = await ServerProcess.start({ uri, folder: agent });
    try {
      return await checkAll(server.client());
    } finally {
      await server.stop();
    }
  };

  const javascript = async (graph: string, core: string): Promise<string> => {
    const agent = join(folder, `javascript-${graph}`);
    cpSync(join(import.meta.dirname, 'javascript'), agent, { recursive: true });
    const packages = [`@langchain/langgraph@${graph}`, `@langchain/core@${core}`];
    run('npm', ['install', '--silent', '--no-audit', '--no-fund', ...packages], agent);
    expect(await keepGraphTypes(join(agent, 'langgraph.json'), [], { isFinal: true })).toEqual([]);
    return agent;
  };

  const inPython = existsSync(uv) ? it : it.skip;
  inPython.each(PYTHON)('runs langgraph %s with langgraph-checkpoint %s', async (graph, checkpoint) => {
    const agent = join(folder, `python-${graph}-${checkpoint}`);
    cpSync(join(import.meta.dirname, 'python'), agent, { recursive: true });
    run(uv, ['venv', '--quiet', '--python', python, '.venv'], agent);
    const packages = [`langgraph==${graph}`, `langgraph-checkpoint==${checkpoint}`];
    run(uv, ['pip', 'install', '--quiet', '--python', '.venv/bin/python', ...packages], agent);
    expect(await check(agent)).toEqual(EXPECTED);
  });

  // no tokens, stores and states of subgraphs before their releases
  it('runs @langchain/langgraph 0.2.5 as far as it goes', async () => {
    const { streams, ...found } = await check(await javascript('0.2.5', '^0.3.0'));
    expect(streams).toEqual([['metadata', 'updates', 'values'], '']);
    const names = [
      'answers',
      'events',
      'updates a state',
      'answers without a thread',
      'is drawn',
      'has schemas',
    ];
    const picked = (all: Record<string, unknown>) => names.map((name) => all[name]);
    expect(picked(found)).toEqual(picked(EXPECTED));
  });

  it.each(JAVASCRIPT)('runs @langchain/langgraph %s with @langchain/core %s', async (graph, core) => {
    expect(await check(await javascript(graph, core))).toEqual(EXPECTED);
  });
});
