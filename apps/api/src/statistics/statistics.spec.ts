import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'langsmith';
import { pythonWith } from '#lib/testing';
import { testApi } from '../testdata/test-api.js';

const READ_STATISTICS = join(import.meta.dirname, '..', 'testdata', 'read-statistics.py');
/** A Python with `langsmith`. */
const python = pythonWith('langsmith');

/** Whole seconds of the last hour. */
const BEGAN = Math.floor(Date.now() / 1_000 - 3_000) * 1_000;
const TRACES = 20;
const iso = (ms: number): string => new Date(ms).toISOString();

/** A trace of a thread: a chain of some seconds, a call of a model with tokens and a cost. */
function traceOf(n: number): object[] {
  const [id, call] = [randomUUID(), randomUUID()];
  const startMs = BEGAN + n * 60_000;
  const run = (more: object): object => ({
    trace_id: id,
    session_name: 'demo',
    start_time: iso(startMs),
    ...more,
  });
  const usage = {
    input_tokens: 10,
    output_tokens: n,
    total_tokens: 10 + n,
    input_cost: 0.01,
    total_cost: 0.015,
  };
  const thread = n < 12 ? 'first' : n < 18 ? 'second' : undefined;
  return [
    run({
      id,
      name: `turn ${n}`,
      run_type: 'chain',
      end_time: iso(startMs + (n + 1) * 1_000),
      inputs: { question: n },
      outputs: { answer: n },
      error: n % 10 === 3 ? 'it failed' : null,
      extra: { metadata: thread === undefined ? {} : { thread_id: thread } },
    }),
    run({
      id: call,
      name: 'model',
      run_type: 'llm',
      parent_run_id: id,
      end_time: iso(startMs + 500),
      outputs: { usage_metadata: usage },
      events: [{ name: 'new_token', time: iso(startMs + 200) }],
    }),
  ];
}

describe('statistics by the clients', () => {
  const { api, tenant } = testApi();
  let client: Client;
  let projectId: string;

  beforeAll(async () => {
    client = new Client({ apiUrl: api.url, apiKey: tenant.key });
    const post = Array.from({ length: TRACES }, (_trace, n) => traceOf(n)).flat();
    expect((await tenant.call('POST', '/runs/batch', { post, patch: [] })).status).toBe(202);
    projectId = (await client.readProject({ projectName: 'demo' })).id;
  });

  const TOKENS = TRACES * 10 + (TRACES * (TRACES - 1)) / 2;

  it('adds up the traces of a project', async () => {
    const stats = await client.getRunStats({ projectNames: ['demo'], isRoot: true });
    expect(stats).toMatchObject({
      run_count: TRACES,
      error_rate: 0.1,
      total_tokens: TOKENS,
      prompt_tokens: TRACES * 10,
      total_cost: '0.3',
      prompt_cost: '0.2',
      run_facets: [],
      last_run_start_time: iso(BEGAN + (TRACES - 1) * 60_000).replace('.000Z', '.000000Z'),
    });
    expect(Math.abs(stats.latency_p50 / 10.5 - 1)).toBeLessThan(0.008);
    expect(Math.abs(Number(stats.cost_p50) / 0.015 - 1)).toBeLessThan(0.008);
  });

  it('adds up the runs that meet what else is asked for', async () => {
    const calls = await client.getRunStats({ projectIds: [projectId], runType: 'llm' });
    expect(calls).toMatchObject({ run_count: TRACES, error_rate: 0, streaming_rate: 1 });
    expect(Math.abs(calls.first_token_p99 / 0.2 - 1)).toBeLessThan(0.008);
    const failed = { projectNames: ['demo'], isRoot: true, filter: 'neq(error, null)' };
    expect(await client.getRunStats(failed)).toMatchObject({ run_count: 2, total_tokens: 36, error_rate: 1 });
    const late = { projectNames: ['demo'], startTime: iso(BEGAN + 10 * 60_000) };
    expect(await client.getRunStats(late)).toMatchObject({ run_count: 20 });
    expect(await client.getRunStats({ ...late, startTime: '2030-01-01T00:00:00Z' })).toMatchObject({
      run_count: 0,
      error_rate: null,
      latency_p50: null,
      total_cost: null,
      last_run_start_time: null,
    });
  });

  it('reads and lists projects with their statistics', async () => {
    const project = await client.readProject({ projectName: 'demo', includeStats: true });
    expect(project).toMatchObject({ run_count: TRACES, total_tokens: TOKENS, error_rate: 0.1 });
    const listed: unknown[] = [];
    for await (const one of client.listProjects({ includeStats: true })) listed.push(one.run_count);
    expect(listed).toEqual([TRACES]);
    expect(await client.readProject({ projectId })).not.toHaveProperty('run_count');
    const since = iso(BEGAN + 15 * 60_000);
    const { json } = await tenant.call(
      'GET',
      `/sessions/${projectId}?include_stats=true&stats_start_time=${since}`,
    );
    expect(json.run_count).toBe(5);
  });

  it('refuses what it does not know, and filters that are none', async () => {
    expect(await tenant.call('POST', '/runs/stats', { group_by: { attribute: 'name' } })).toMatchObject({
      status: 422,
    });
    expect(await tenant.call('POST', '/runs/stats', { filter: 'what(' })).toMatchObject({ status: 400 });
  });

  it('groups the traces of a project by thread', async () => {
    const groups: { thread_id: string; count: number; total_tokens: number; first_inputs: string }[] = [];
    for await (const group of client.listGroupRuns({ projectName: 'demo', groupBy: 'conversation' }))
      groups.push(group);
    expect(groups).toMatchObject([
      {
        thread_id: 'second',
        count: 6,
        total_tokens: 60 + 87,
        total_cost: '0.0900000000',
        last_error: 'it failed',
      },
      {
        thread_id: 'first',
        count: 12,
        total_tokens: 120 + 66,
        first_inputs: '{"question":0}',
        latency_p50: 6.5,
      },
    ]);
    const some = { projectName: 'demo', groupBy: 'conversation', filter: 'lt(latency, "7s")' };
    const counts: number[] = [];
    for await (const { count } of client.listGroupRuns({ ...some, limit: 1 })) counts.push(count);
    expect(counts).toEqual([6]);
    const threads = await client.listThreads({ projectName: 'demo' });
    expect(threads.map(({ thread_id, count }) => [thread_id, count])).toEqual([
      ['second', 6],
      ['first', 12],
    ]);
  });

  it('answers threads and their traces to the newer calls, in pages', async () => {
    const found: unknown[] = [];
    for await (const thread of client.threads.query({ project_id: projectId, page_size: 1 }))
      found.push(thread);
    expect(found).toMatchObject([
      {
        thread_id: 'second',
        count: 6,
        num_errored_turns: 1,
        total_tokens: 147,
        last_outputs: '{"answer":17}',
      },
      { thread_id: 'first', count: 12, num_errored_turns: 1, total_cost: 0.18 },
    ]);
    const names: unknown[] = [];
    const page = {
      project_id: projectId,
      selects: ['NAME', 'TOTAL_TOKENS', 'LATENCY'] as const,
      page_size: 5,
    };
    for await (const trace of client.threads.listTraces('first', { ...page, selects: [...page.selects] }))
      names.push([trace.name, trace.total_tokens, trace.latency]);
    expect(names).toEqual(Array.from({ length: 12 }, (_turn, n) => [`turn ${n}`, 10 + n, n + 1]));
    const of = (path: string) => tenant.call('GET', `/api/v2/threads/${path}/traces?project_id=${projectId}`);
    expect((await of('none%00')).json).toEqual({ items: [], next_cursor: null });
    const cursor = { project_id: projectId, cursor: 'none' };
    expect((await tenant.call('POST', '/api/v2/threads/query', cursor)).status).toBe(400);
    const other = { session_id: randomUUID(), group_by: 'conversation' };
    expect((await tenant.call('POST', '/runs/group', other)).status).toBe(404);
  });

  it('sums the calls of a trace into its root, and leaves exports and calls as they were sent', async () => {
    const runs: Record<string, unknown>[] = [];
    for await (const run of client.listRuns({ projectName: 'demo', limit: 4 })) runs.push({ ...run });
    const [root] = runs.filter(({ name }) => name === 'turn 19');
    expect(root).toMatchObject({ total_tokens: 29, prompt_tokens: 10, completion_tokens: 19 });
    expect(Number(root?.['total_cost'])).toBe(0.015);
    const one = await client.readRun(String(root?.['id']));
    expect(one).toMatchObject({ total_tokens: 29, total_cost: root?.['total_cost'] });
    const stored = await api.store.runs.get(tenant.tenantId, String(root?.['id']));
    expect(stored?.row.totalTokens).toBeUndefined();
  });

  it('counts the usage that a parent repeats once, and shows its cost', async () => {
    const [id, call] = [randomUUID(), randomUUID()];
    const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
    const common = { trace_id: id, session_name: 'repeated', start_time: iso(BEGAN) };
    const model = { extra: { metadata: { ls_model_name: 'gpt-4o', ls_provider: 'openai' } } };
    const post = [
      { ...common, id, name: 'answer', run_type: 'chain', outputs: { usage } },
      {
        ...common,
        ...model,
        id: call,
        parent_run_id: id,
        name: 'model',
        run_type: 'llm',
        outputs: { usage },
      },
    ];
    expect((await tenant.call('POST', '/runs/batch', { post, patch: [] })).status).toBe(202);
    const { id: session } = await client.readProject({ projectName: 'repeated' });
    const sums = { total_tokens: 110, prompt_tokens: 100, total_cost: expect.stringMatching(/^0.00035/) };
    for (const asked of [{}, { is_root: true }, { run_type: 'llm' }, { filter: 'neq(name, "x")' }])
      expect((await tenant.call('POST', '/runs/stats', { session: [session], ...asked })).json).toMatchObject(
        sums,
      );
    expect((await tenant.call('GET', `/runs/${id}`)).json).toMatchObject({
      total_tokens: 110,
      outputs: { usage },
      total_cost: sums.total_cost,
    });
  });

  (python ? it : it.skip)('answers the client of Python', async () => {
    const { stdout } = await promisify(execFile)(python, [READ_STATISTICS, api.url, tenant.key, 'demo']);
    const found = JSON.parse(stdout) as Record<string, unknown>;
    expect(found).toMatchObject({
      stats: { run_count: TRACES, total_tokens: TOKENS },
      project: [TRACES, expect.closeTo(10.5, 1), TOKENS, 0.1, '0.3'],
      listed: [TRACES],
      threads: [
        ['first', 12],
        ['second', 6],
      ],
      runs: Array.from({ length: 12 }, (_turn, n) => `turn ${n}`),
    });
  });
});
