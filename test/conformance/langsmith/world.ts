import { randomUUID } from 'node:crypto';
import { Client } from 'langsmith';
import type { TestApi } from '../../../apps/api/src/testdata/test-api.js';

/** What a row for a method finds in the store, beside what it makes itself. */
export interface World {
  readonly client: Client;
  readonly url: string;
  readonly key: string;
  readonly tenantId: string;
  readonly project: string;
  readonly projectId: string;
  /** A chain with a model call, which called a tool that failed; in the thread `thread`. */
  readonly root: string;
  readonly model: string;
  readonly tool: string;
  readonly startTime: string;
  readonly thread: string;
  readonly datasetId: string;
  readonly exampleId: string;
  call: TestApi['tenant']['call'];
}

const PROJECT = 'methods';
const THREAD = 'conversation 1';
export const DATASET = 'questions';

/** A finished trace of three runs. */
export function traceOf(project: string, more: { readonly startMs: number; readonly thread?: string }) {
  const [root, model, tool] = [randomUUID(), randomUUID(), randomUUID()];
  const at = (seconds: number): string => new Date(more.startMs + seconds * 1_000).toISOString();
  const run = { trace_id: root, session_name: project, start_time: at(0) };
  const metadata = { user: 'ann', ...(more.thread === undefined ? {} : { thread_id: more.thread }) };
  const usage = { input_tokens: 3, output_tokens: 4, total_tokens: 7, total_cost: 0.5 };
  const post = [
    {
      ...run,
      id: root,
      name: 'agent',
      run_type: 'chain',
      end_time: at(3),
      tags: ['t'],
      inputs: { q: 'hé' },
      outputs: { a: 2 },
      extra: { metadata },
    },
    {
      ...run,
      id: model,
      parent_run_id: root,
      name: 'model',
      run_type: 'llm',
      end_time: at(2),
      inputs: { m: 1 },
      outputs: { usage_metadata: usage },
    },
    {
      ...run,
      id: tool,
      parent_run_id: model,
      name: 'tool',
      run_type: 'tool',
      end_time: at(1),
      inputs: { t: 1 },
      error: 'Error: boom',
    },
  ];
  return { root, model, tool, startTime: at(0), post };
}

/** Fills the store by plain requests, so that no row depends on another method of a client. */
export async function makeWorld({ api, tenant }: TestApi, ClientOf = Client): Promise<World> {
  const trace = traceOf(PROJECT, { startMs: Date.now() - 60_000, thread: THREAD });
  await tenant.call('POST', '/runs/batch', { post: trace.post, patch: [] });
  const [project] = (await tenant.call('GET', `/sessions?name=${PROJECT}`)).json as { id: string }[];
  const dataset = (await tenant.call('POST', '/datasets', { name: DATASET })).json as { id: string };
  const client = new ClientOf({ apiUrl: api.url, apiKey: tenant.key, webUrl: api.url });
  const example = await client.createExample({
    dataset_id: dataset.id,
    inputs: { q: 1 },
    outputs: { a: 1 },
  });
  return {
    client,
    url: api.url,
    key: tenant.key,
    tenantId: tenant.tenantId,
    project: PROJECT,
    projectId: project?.id ?? '',
    thread: THREAD,
    root: trace.root,
    model: trace.model,
    tool: trace.tool,
    startTime: trace.startTime,
    datasetId: dataset.id,
    exampleId: example.id,
    call: (...request) => tenant.call(...request),
  };
}

/** Everything that a method of a client lists. */
export async function all<T>(list: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of list) items.push(item);
  return items;
}
