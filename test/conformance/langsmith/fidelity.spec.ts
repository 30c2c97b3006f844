import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { RunnableLambda } from '@langchain/core/runnables';
import { LangChainTracer } from '@langchain/core/tracers/tracer_langchain';
import { FakeListChatModel } from '@langchain/core/utils/testing';
import { Annotation, END, START, StateGraph } from '@langchain/langgraph';
import { Client, type Run, RunTree } from 'langsmith';
import { traceable } from 'langsmith/traceable';
import { testApi } from '../../../apps/api/src/testdata/test-api.js';
import { all } from './world.js';

type Sent = Readonly<Record<string, unknown>>;

/** A client that notes what it is given to send, by run; what an update leaves out stays as it was. */
class NotingClient extends Client {
  readonly sent = new Map<string, Sent>();

  override async createRun(...given: Parameters<Client['createRun']>): Promise<void> {
    this.#note(given[0].id ?? '', given[0] as unknown as Sent);
    return super.createRun(...given);
  }

  override async updateRun(...given: Parameters<Client['updateRun']>): Promise<void> {
    this.#note(given[0], given[1] as unknown as Sent);
    return super.updateRun(...given);
  }

  #note(id: string, sent: Sent): void {
    const known = Object.entries(sent).filter(([, value]) => value !== undefined);
    this.sent.set(id, {
      ...this.sent.get(id),
      ...(structuredClone(Object.fromEntries(known.map(([name, value]) => [name, plain(value)]))) as Sent),
    });
  }
}

/** As JSON has it. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value) ?? 'null') as unknown;
}

const FIELDS = [
  'name',
  'run_type',
  'trace_id',
  'dotted_order',
  'parent_run_id',
  'inputs',
  'outputs',
  'error',
  'tags',
];

function micros(time: unknown): number {
  return typeof time === 'number' ? time : Date.parse(String(time));
}

/** What differs between a run as it was sent and as the client reads it. */
function differences(sent: Sent, read: Run): readonly string[] {
  const wrong = FIELDS.filter((name) => {
    const wanted = sent[name] ?? undefined;
    if (wanted === undefined || (Array.isArray(wanted) && wanted.length === 0)) return false;
    return JSON.stringify(plain(read[name as keyof Run])) !== JSON.stringify(wanted);
  });
  for (const name of ['start_time', 'end_time'] as const)
    if (sent[name] !== undefined && Math.abs(micros(sent[name]) - micros(read[name])) > 1) wrong.push(name);
  const metadata = (sent['extra'] as { readonly metadata?: Sent } | undefined)?.metadata ?? {};
  const stored = read.extra?.metadata as Sent | undefined;
  for (const [name, value] of Object.entries(metadata))
    if (JSON.stringify(plain(stored?.[name])) !== JSON.stringify(value)) wrong.push(`metadata.${name}`);
  return wrong.map(
    (name) =>
      `${read.name}.${name}: ${JSON.stringify(sent[name])} became ${JSON.stringify(plain(read[name as keyof Run]))}`,
  );
}

const model = () => new FakeListChatModel({ responses: ['Blåbær – 🫐', 'two'] });

async function runTrees(client: Client, project_name: string): Promise<void> {
  const root = new RunTree({
    name: 'root',
    inputs: { q: 'hé ' },
    client,
    project_name,
    tags: ['a', 'b'],
    metadata: { user: 'ann', n: 1 },
  });
  const child = root.createChild({
    name: 'child',
    run_type: 'llm',
    inputs: { messages: [{ role: 'user', content: '"' }] },
  });
  await root.postRun();
  await child.postRun();
  await child.end({
    text: 'x'.repeat(50_000),
    usage_metadata: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
  });
  await child.patchRun();
  await root.end(undefined, 'Error: it failed');
  await root.patchRun();
}

async function traced(client: Client, project_name: string): Promise<void> {
  const inner = traceable(async (n: number) => ({ n: n + 1 }), {
    name: 'inner',
    run_type: 'tool',
    client,
    project_name,
  });
  await traceable(async (n: number) => inner(n), {
    name: 'outer',
    client,
    project_name,
    metadata: { deep: { list: [1, null] } },
  })(1);
}

async function langChain(client: Client, projectName: string): Promise<void> {
  const chain = RunnableLambda.from((text: string) => `say ${text}`).pipe(model());
  const options = {
    callbacks: [new LangChainTracer({ client, projectName })],
    tags: ['lc'],
    metadata: { thread_id: 't' },
  };
  await chain.invoke('ho', options);
  for await (const _chunk of await chain.stream('ha', options));
  await RunnableLambda.from(() => {
    throw new Error('refused by purpose');
  })
    .invoke('x', options)
    .catch(() => undefined);
}

async function langGraph(client: Client, projectName: string): Promise<void> {
  const State = Annotation.Root({ text: Annotation<string> });
  const graph = new StateGraph(State)
    .addNode('ask', async ({ text }) => ({ text: String((await model().invoke(text)).content) }))
    .addNode('shout', ({ text }) => ({ text: text.toUpperCase() }))
    .addEdge(START, 'ask')
    .addEdge('ask', 'shout')
    .addEdge('shout', END)
    .compile();
  await graph.invoke({ text: 'hi' }, { callbacks: [new LangChainTracer({ client, projectName })] });
}

describe('a workload of the JavaScript clients', () => {
  const { api, tenant } = testApi();
  let client: NotingClient;

  beforeAll(() => {
    client = new NotingClient({ apiUrl: api.url, apiKey: tenant.key });
  });

  it.each([
    ['RunTree', runTrees, 2],
    ['traceable', traced, 2],
    ['LangChain', langChain, 7],
    ['LangGraph', langGraph, 4],
  ] as const)('reads back as it was sent: %s', async (name, work, least) => {
    process.env.LANGSMITH_TRACING = 'true';
    client.sent.clear();
    await work(client, name);
    await client.awaitPendingTraceBatches();
    const read = await all(client.listRuns({ projectName: name }));
    expect(read.length).toBe(client.sent.size);
    expect(read.length).toBeGreaterThanOrEqual(least);
    expect(read.flatMap((run) => differences(client.sent.get(run.id) ?? {}, run))).toEqual([]);
  });
});

/** A Python with the packages of install-python.sh. */
const EXECUTABLE = process.env.AGENTPLANE_TEST_PYTHON ?? 'python3';
const hasPython = spawnSync(EXECUTABLE, ['-c', 'import langsmith, langgraph']).status === 0;
const SCRIPT = join(import.meta.dirname, 'python', 'fidelity.py');

(hasPython ? describe : describe.skip)('a workload of the Python clients', () => {
  const { api, tenant } = testApi();

  it('reads back as it was sent', async () => {
    const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1' };
    const options = { timeout: 100_000, maxBuffer: 16 * 1024 * 1024, env };
    const { stdout } = await promisify(execFile)(EXECUTABLE, [SCRIPT, api.url, tenant.key], options);
    const exact = (runs: number) => ({ sent: runs, read: runs, wrong: [] });
    expect(JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')).toEqual({
      RunTree: exact(2),
      traceable: exact(2),
      LangChain: exact(7),
      LangGraph: exact(4),
    });
  });
});
