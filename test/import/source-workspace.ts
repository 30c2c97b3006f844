import { randomUUID } from 'node:crypto';
import type { Rest } from '../support/rest.js';

/** What a workspace is filled with. */
export interface Filled {
  readonly runs: number;
  readonly feedback: number;
  readonly examples: number;
}

const AT_ONCE = 300;
const BEGUN = Date.UTC(2026, 5, 1);

const stamp = (ms: number): string =>
  new Date(ms).toISOString().replaceAll(/[-:.]/g, '').replace('Z', '000Z');

/** A trace of three runs: a chain with a call of a model, which has tokens and costs, and of a tool that failed. */
function traceOf(at: number, session: string, example: string | undefined): readonly object[] {
  const [root, model, tool] = [randomUUID(), randomUUID(), randomUUID()];
  const start = BEGUN + at * 1_000;
  const time = (ms: number): string => new Date(start + ms).toISOString();
  const run = (id: string, ms: number, more: object): object => ({
    id,
    trace_id: root,
    session_id: session,
    start_time: time(ms),
    end_time: time(ms + 100),
    dotted_order: `${stamp(start)}${root}${id === root ? '' : `.${stamp(start + ms)}${id}`}`,
    ...(id === root ? {} : { parent_run_id: root }),
    ...more,
  });
  const exact = 9_007_199_254_740_993n;
  return [
    run(root, 0, {
      name: 'agent',
      run_type: 'chain',
      inputs: { question: `ü ${at}`, exact },
      outputs: { answer: at },
      tags: ['imported'],
      extra: { metadata: { session_id: `thread-${at % 7}` } },
      ...(example === undefined ? {} : { reference_example_id: example }),
    }),
    run(model, 10, {
      name: 'model',
      run_type: 'llm',
      inputs: { messages: [] },
      outputs: { text: 'yes' },
      total_tokens: 30 + at,
      prompt_tokens: 20 + at,
      completion_tokens: 10,
      total_cost: 0.25,
      events: [{ name: 'new_token', time: time(50) }],
    }),
    run(tool, 20, { name: 'tool', run_type: 'tool', inputs: {}, error: 'broken' }),
  ];
}

// ids with 64 bits are written with all of their digits
const jsonOf = (value: unknown): string =>
  JSON.stringify(value, (_name, one: unknown) => (typeof one === 'bigint' ? `#${one}#` : one)).replaceAll(
    /"#(\d+)#"/g,
    '$1',
  );

/** Fills a workspace: a project, a dataset, and an experiment on it. */
export async function fillWorkspace(rest: Rest, traces: number): Promise<Filled> {
  const headers = { 'x-api-key': rest.credentials.apiKey };
  const ok = async (answer: { status: number; body: unknown }): Promise<unknown> => {
    if (answer.status >= 300) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const dataset = randomUUID();
  const examples = Array.from({ length: 120 }, () => randomUUID());
  await ok(
    await rest.post('/datasets', { id: dataset, name: 'questions', extra: { metadata: { of: 'us' } } }),
  );
  const form = new FormData();
  const part = (value: unknown): Blob => new Blob([JSON.stringify(value)], { type: 'application/json' });
  for (const [at, id] of examples.entries()) {
    form.append(id, part({ metadata: { at }, split: at % 2 === 0 ? ['even'] : ['odd', 'rare'] }));
    form.append(`${id}.inputs`, part({ n: at }));
    form.append(`${id}.outputs`, part({ twice: 2 * at }));
  }
  await ok(await rest.post(`/v1/platform/datasets/${dataset}/examples`, form));
  const [project, experiment] = [randomUUID(), randomUUID()];
  await ok(await rest.post('/sessions', { id: project, name: 'support', description: 'of people' }));
  await ok(await rest.post('/sessions', { id: experiment, name: 'trial', reference_dataset_id: dataset }));
  const all = Array.from({ length: traces }, (_, at) => traceOf(at, project, undefined));
  all.push(...examples.slice(0, 3).map((example, at) => traceOf(at, experiment, example)));
  const runs = all.flat();
  for (let at = 0; at < runs.length; at += AT_ONCE) {
    const body = jsonOf({ post: runs.slice(at, at + AT_ONCE) });
    const url = `${rest.credentials.restUrl}/runs/batch`;
    const type = { 'content-type': 'application/json' };
    const answer = await fetch(url, { method: 'POST', headers: { ...headers, ...type }, body });
    await ok({ status: answer.status, body: await answer.text() });
  }
  const judged = all.filter((_, at) => at % 3 === 0).map(([root]) => (root as { readonly id: string }).id);
  for (let at = 0; at < judged.length; at += AT_ONCE) {
    const feedback = new FormData();
    for (const run_id of judged.slice(at, at + AT_ONCE)) {
      const id = randomUUID();
      const body = {
        id,
        run_id,
        key: 'helpful',
        score: 1,
        comment: 'fine',
        created_at: '2026-06-02T00:00:00Z',
      };
      feedback.append(`feedback.${id}`, part(body));
    }
    await ok(await rest.post('/runs/multipart', feedback));
  }
  await ok(await rest.post('/feedback', { session_id: experiment, key: 'passed', score: 0.5 }));
  return { runs: runs.length, feedback: judged.length + 1, examples: examples.length };
}

/** Everything that reads as the same of a source and of what it was moved to. */
export async function contentsOf(rest: Rest): Promise<unknown> {
  type Named = { readonly id: string; readonly name: string };
  const { body: projects } = await rest.get<readonly Named[]>('/sessions');
  const runs: unknown[] = [];
  for (const { id: session } of projects) {
    let cursor: string | undefined;
    do {
      const wanted = { session: [session], limit: 100, ...(cursor === undefined ? {} : { cursor }) };
      const { body } = await rest.post<Page>('/runs/query', wanted);
      runs.push(...body.runs.map(comparable));
      cursor = body.cursors.next ?? undefined;
    } while (cursor !== undefined);
  }
  const feedback: unknown[] = [];
  for (const { id } of projects)
    for (let offset = 0, found = 100; found === 100; offset += 100) {
      const { body } = await rest.get<readonly Item[]>(`/feedback?session=${id}&limit=100&offset=${offset}`);
      found = body.length;
      feedback.push(...body.map(comparable));
    }
  const { body: datasets } = await rest.get<readonly Named[]>('/datasets');
  const examples = await Promise.all(
    datasets.map(async ({ id }) =>
      (await rest.get<readonly Item[]>(`/examples?dataset=${id}`)).body.map(comparable),
    ),
  );
  return {
    projects: projects.map(({ id, name }) => ({ id, name })).sort(byId),
    runs: runs.sort(byId as never),
    feedback: feedback.sort(byId as never),
    datasets: datasets.map(({ id, name }) => ({ id, name })),
    examples,
  };
}

type Item = Readonly<Record<string, unknown>>;

interface Page {
  readonly runs: readonly Item[];
  readonly cursors: { readonly next: string | null };
}

const byId = (a: { readonly id: string }, b: { readonly id: string }): number => a.id.localeCompare(b.id);

/** Without what a platform says of its own. */
function comparable({ app_path: _path, modified_at: _modified, created_at: _created, ...rest }: Item): Item {
  return rest;
}
