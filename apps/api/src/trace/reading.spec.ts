import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { Client, RunTree, type Run } from 'langsmith';
import { waitFor } from '#lib/testing';
import { testApi } from '../testdata/test-api.js';

const RUNS = 130;

describe('reading runs by the clients', () => {
  const { api, tenant } = testApi();
  let client: Client;
  let projectId: string;
  let root: RunTree;

  beforeAll(async () => {
    client = new Client({ apiUrl: api.url, apiKey: tenant.key });
    root = new RunTree({
      name: 'agent',
      run_type: 'chain',
      inputs: { q: 'hé' },
      client,
      project_name: 'demo',
      tags: ['t'],
      metadata: { user: 'ann' },
    });
    const model = root.createChild({ name: 'model', run_type: 'llm', inputs: { m: 1 } });
    const tool = model.createChild({ name: 'tool', run_type: 'tool', inputs: { t: 1 } });
    await root.postRun();
    for (const run of [model, tool]) await run.postRun();
    await tool.end(undefined, 'Error: boom');
    await model.end({ usage_metadata: { input_tokens: 3, output_tokens: 4, total_tokens: 7 } });
    await root.end({ a: 2 });
    for (const run of [tool, model, root]) await run.patchRun();
    await client.awaitPendingTraceBatches();
    const post = Array.from({ length: RUNS }, (_, n) => {
      const id = randomUUID();
      const start_time = new Date(Date.UTC(2026, 0, 1, 0, 0, n)).toISOString();
      return {
        id,
        trace_id: id,
        name: `r${n}`,
        run_type: 'chain',
        session_name: 'many',
        start_time,
        inputs: { n },
      };
    });
    expect((await tenant.call('POST', '/runs/batch', { post, patch: [] })).status).toBe(202);
    await waitFor(async () => (await tenant.call('GET', `/runs/${root.id}`)).json?.status === 'success');
    projectId = (await client.readProject({ projectName: 'demo' })).id;
  });

  async function list(...given: Parameters<Client['listRuns']>): Promise<Run[]> {
    const runs: Run[] = [];
    for await (const run of client.listRuns(...given)) runs.push(run);
    return runs;
  }

  it('lists the runs of a project, newest first, as they are read one by one', async () => {
    const runs = await list({ projectName: 'demo' });
    expect(runs.map(({ name }) => name).sort()).toEqual(['agent', 'model', 'tool']);
    for (const run of runs) {
      const one = (await tenant.call('GET', `/runs/${run.id}`)).json as Record<string, unknown>;
      expect(one).toMatchObject(run);
    }
  });

  it('finds roots that begin with a text, then other runs with it, in pages of two', async () => {
    const [trace, below, named] = [randomUUID(), randomUUID(), randomUUID()];
    const run = (id: string, more: object) => ({
      id,
      trace_id: id,
      run_type: 'chain',
      session_name: 'texts',
      inputs: {},
      outputs: {},
      ...more,
    });
    const post = [
      run(trace, { name: 'root', start_time: '2026-01-01T00:00:01Z', outputs: { text: 'Grüße & Küsse' } }),
      run(below, {
        name: 'below',
        trace_id: trace,
        parent_run_id: trace,
        start_time: '2026-01-01T00:00:02Z',
        inputs: ['grüße &'],
      }),
      run(named, { name: 'grüße & more', start_time: '2026-01-01T00:00:03Z' }),
    ];
    expect((await tenant.call('POST', '/runs/batch', { post, patch: [] })).status).toBe(202);
    const filter = 'search("GRÜSSE &")';
    expect(await list({ projectName: 'texts', filter })).toEqual([]);
    const found = await list({ projectName: 'texts', filter: 'search("GRÜßE &")', limit: 3 });
    expect(found.map(({ name }) => name)).toEqual(['root', 'grüße & more', 'below']);
    const { json } = await tenant.call('POST', '/runs/query', { filter: 'search("grüße")', limit: 2 });
    expect([json.runs.length, json.cursors.next]).toEqual([1, expect.any(String)]);
    const rest = await tenant.call('POST', '/runs/query', {
      filter: 'search("grüße")',
      limit: 2,
      cursor: json.cursors.next,
    });
    expect([rest.json.runs.length, rest.json.cursors.next]).toEqual([2, null]);
  });

  it('answers a run with the tree of its children', async () => {
    const run = await client.readRun(root.id, { loadChildRuns: true });
    expect(run.child_runs).toMatchObject([
      {
        name: 'model',
        total_tokens: 7,
        child_runs: [{ name: 'tool', error: 'Error: boom', status: 'error' }],
      },
    ]);
  });

  it.each<[string, Parameters<Client['listRuns']>[0], string[]]>([
    ['roots', { isRoot: true }, ['agent']],
    ['a type', { runType: 'llm' }, ['model']],
    ['those that failed', { error: true }, ['tool']],
    ['the first roots by the old word', { executionOrder: 1 }, ['agent']],
    ['what a filter says', { filter: 'and(eq(run_type, "llm"), gt(total_tokens, 5))' }, ['model']],
    [
      'metadata',
      { filter: "and(eq(metadata_key, 'user'), eq(metadata_value, 'ann'))", isRoot: true },
      ['agent'],
    ],
    ['inputs', { filter: 'and(eq(input_key, "m"), eq(input_value, "1"))' }, ['model']],
    ['outputs by a dotted name', { filter: 'eq(output_key, "usage_metadata.input_tokens")' }, ['model']],
    ['tags', { filter: 'has(tags, "t")' }, ['agent']],
    [
      'runs whose root is such',
      { filter: 'eq(run_type, "tool")', traceFilter: 'eq(name, "agent")' },
      ['tool'],
    ],
    ['runs whose trace has such', { isRoot: true, treeFilter: 'neq(error, null)' }, ['agent']],
    ['a text', { query: 'boom' }, ['tool']],
    ['both', { query: 'boom', filter: 'eq(name, "model")' }, []],
  ])('finds %s', async (_what, wanted, names) => {
    expect((await list({ projectName: 'demo', ...wanted })).map(({ name }) => name)).toEqual(names);
  });

  it('answers the selected fields and those that every run has', async () => {
    const [run] = await list({
      projectName: 'demo',
      isRoot: true,
      select: ['name', 'inputs', 'child_run_ids'],
    });
    const always = ['id', 'name', 'run_type', 'start_time', 'trace_id', 'dotted_order', 'status'];
    const named = [...always, 'session_id', 'app_path', 'inputs', 'child_run_ids'];
    expect(Object.keys(run ?? {})).toEqual(expect.arrayContaining(named));
    expect(run).not.toHaveProperty('outputs');
    expect(run).toMatchObject({
      inputs: { q: 'hé' },
      child_run_ids: [expect.any(String), expect.any(String)],
    });
  });

  it.each([7, 100, 125, undefined])('lists as many as are asked for over pages: %s', async (limit) => {
    const names = (await list({ projectName: 'many', ...(limit === undefined ? {} : { limit }) })).map(
      ({ name }) => name,
    );
    const all = Array.from({ length: RUNS }, (_, n) => `r${RUNS - 1 - n}`);
    expect(names).toEqual(all.slice(0, limit));
  });

  it('answers the newer calls: pages of the second wire', async () => {
    const [many] = [await client.readProject({ projectName: 'many' })];
    const inputs: unknown[] = [];
    const page = {
      project_ids: [many.id],
      min_start_time: '2025-01-01T00:00:00Z',
      page_size: 50,
      selects: ['NAME', 'INPUTS', 'STATUS'] as const,
    };
    for await (const run of client.runs.query({ ...page, selects: [...page.selects] })) {
      expect(Object.keys(run).sort()).toEqual(['inputs', 'name', 'status']);
      inputs.push(run.inputs?.['n']);
    }
    expect(inputs).toEqual(Array.from({ length: RUNS }, (_, n) => RUNS - 1 - n));
  });

  it('looks at the last day, unless a time, a trace or ids are named', async () => {
    const { json } = await tenant.call('POST', '/api/v2/runs/query', { selects: ['NAME'] });
    expect(json.items.map(({ name }: { name: string }) => name).sort()).toEqual(['agent', 'model', 'tool']);
  });

  it('retrieves one run, and the runs of a trace', async () => {
    const selects = ['ID', 'METADATA', 'TOTAL_TOKENS', 'RUN_TYPE', 'LATENCY_SECONDS'] as const;
    const run = await client.runs.retrieve(root.id, { project_id: projectId, selects: [...selects] });
    expect(run).toMatchObject({ id: root.id, run_type: 'CHAIN', metadata: { user: 'ann' } });
    expect(run.latency_seconds).toBeGreaterThanOrEqual(0);
    const { items } = await client.traces.listRuns(root.id, {
      project_id: projectId,
      selects: ['NAME', 'IS_ROOT'],
    });
    expect(items?.map(({ name }) => name).sort()).toEqual(['agent', 'model', 'tool']);
    expect(await tenant.call('GET', `/api/v2/runs/${root.id}?project_id=${projectId}`)).toMatchObject({
      json: { id: root.id },
    });
  });

  it('streams the runs of a trace that has more than a page', async () => {
    const trace = randomUUID();
    const post = Array.from({ length: 250 }, (_, n) => ({
      id: n === 0 ? trace : randomUUID(),
      trace_id: trace,
      name: `s${n}`,
      run_type: 'chain',
      ...(n === 0 ? {} : { parent_run_id: trace }),
      session_name: 'demo',
      start_time: new Date(Date.UTC(2026, 1, 1, 0, 0, n)).toISOString(),
    }));
    await tenant.call('POST', '/runs/batch', { post, patch: [] });
    const { json } = await tenant.call(
      'GET',
      `/api/v2/traces/${trace}/runs?project_id=${projectId}&selects=NAME`,
    );
    expect(json.items.map(({ name }: { name: string }) => name)).toEqual(post.map(({ name }) => name));
  });

  it.each<[string, object, number, string]>([
    ['an unknown project', { session: [randomUUID()] }, 404, 'not found'],
    ['an id that is none', { session: ['demo'] }, 422, 'valid UUID'],
    ['a filter that is none', { filter: 'eq(nam, "x")' }, 400, 'filter, position 3: '],
    [
      'too many conditions that read more than runs',
      {
        filter: `or(${Array(6).fill('search("a")').join(',')})`,
        tree_filter: `or(${Array(6).fill('like(error, "%")').join(',')})`,
      },
      400,
      'more than 10 conditions',
    ],
    ['a filter without end', { tree_filter: 'and(' }, 400, 'tree_filter: '],
    ['a cursor of elsewhere', { cursor: 'abc' }, 400, 'cursor'],
    ['an unknown field', { select: ['nothing'] }, 422, 'one of'],
    ['an unknown member', { sesion: [] }, 422, 'sesion'],
  ])('refuses %s', async (_what, body, status, words) => {
    const answer = await tenant.call('POST', '/runs/query', body);
    expect([answer.status, answer.text.includes(words)]).toEqual([status, true]);
  });

  it('shows nothing of another workspace', async () => {
    const other = await api.workspace();
    expect((await other.call('POST', '/runs/query', { session: [projectId] })).status).toBe(404);
    expect((await other.call('POST', '/runs/query', { id: [root.id] })).json.runs).toEqual([]);
    const path = `/api/v2/traces/${root.id}/runs?project_id=${projectId}`;
    expect((await other.call('GET', path)).status).toBe(404);
  });
});
