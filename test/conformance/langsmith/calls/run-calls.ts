import { randomUUID } from 'node:crypto';
import { expect } from '@jest/globals';
import { Client, type Run } from 'langsmith';
import { waitFor } from '#lib/testing';
import { all, traceOf, type World } from '../world.js';

/** Calls one method and checks what came; a refused one only has to be called. */
export type Call = (world: World) => Promise<unknown>;
export type Calls = Readonly<Record<string, Call>>;

const names = (runs: readonly { readonly name?: string | undefined }[]): unknown[] =>
  runs.map(({ name }) => name).sort();
const DAY_MS = 86_400_000;

async function stored(world: World, id: string): Promise<Record<string, unknown>> {
  return waitFor(async () => {
    const { status, json } = await world.call('GET', `/runs/${id}`);
    return status === 200 ? (json as Record<string, unknown>) : undefined;
  });
}

function aRun(more: object = {}) {
  const id = randomUUID();
  const start_time = new Date().toISOString();
  return { id, trace_id: id, name: 'sent', run_type: 'chain', inputs: { n: 1 }, start_time, ...more };
}

/** With what the wire needs to put it into a batch. */
function aWholeRun() {
  const run = aRun({ session_name: 'sent' });
  return { ...run, dotted_order: `${run.start_time.replace(/[-:.]/g, '').replace('Z', '000Z')}${run.id}` };
}

async function opens(url: string, text: string): Promise<void> {
  const answer = await fetch(url, { redirect: 'manual' });
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  expect(await answer.text()).toContain(text);
}

export const SENDING: Calls = {
  async createRun(world) {
    const run = aRun({ project_name: 'sent' });
    await world.client.createRun(run);
    await world.client.awaitPendingTraceBatches();
    expect(await stored(world, run.id)).toMatchObject({ name: 'sent', inputs: { n: 1 } });
  },
  async updateRun(world) {
    const run = aWholeRun();
    await world.call('POST', '/runs', run);
    const { trace_id, dotted_order } = run;
    await world.client.updateRun(run.id, {
      trace_id,
      dotted_order,
      outputs: { done: true },
      end_time: Date.now(),
    });
    await world.client.awaitPendingTraceBatches();
    await waitFor(async () => (await stored(world, run.id)).status === 'success');
    expect((await stored(world, run.id)).outputs).toEqual({ done: true });
  },
  async batchIngestRuns(world) {
    const run = aWholeRun();
    await world.client.batchIngestRuns({ runCreates: [run] });
    expect(await stored(world, run.id)).toMatchObject({ name: 'sent' });
  },
  async multipartIngestRuns(world) {
    const run = aWholeRun();
    await world.client.multipartIngestRuns({ runCreates: [run] });
    expect(await stored(world, run.id)).toMatchObject({ inputs: { n: 1 } });
  },
  async flush(world) {
    const client = new Client({ apiUrl: world.url, apiKey: world.key, manualFlushMode: true });
    const run = aWholeRun();
    await client.createRun(run);
    await client.flush();
    expect(await stored(world, run.id)).toMatchObject({ name: 'sent' });
  },
  async awaitPendingTraceBatches(world) {
    const run = aWholeRun();
    await world.client.createRun(run);
    await world.client.awaitPendingTraceBatches();
    expect((await world.call('GET', `/runs/${run.id}`)).status).toBe(200);
  },
};

const selects = ['ID' as const, 'NAME' as const];

export const READING: Calls = {
  async readRun({ client, root, model, tool }) {
    const run = await client.readRun(root, { loadChildRuns: true });
    expect(run).toMatchObject({ name: 'agent', child_run_ids: [model, tool], inputs: { q: 'hé' } });
    expect(run.child_runs).toMatchObject([{ name: 'model', child_runs: [{ name: 'tool' }] }]);
  },
  async listRuns(world) {
    const { client, project: projectName, projectId, root, model, tool } = world;
    const list = (more: object): Promise<Run[]> => all(client.listRuns({ projectName, ...more }));
    expect(names(await list({}))).toEqual(['agent', 'model', 'tool']);
    const rows: readonly (readonly [object, readonly string[]])[] = [
      [{ projectName: undefined, projectId }, ['agent', 'model', 'tool']],
      [{ projectName: [projectName] }, ['agent', 'model', 'tool']],
      [{ isRoot: true }, ['agent']],
      [{ executionOrder: 1 }, ['agent']],
      [{ error: true }, ['tool']],
      [{ id: [model] }, ['model']],
      [{ runType: 'tool' }, ['tool']],
      [{ parentRunId: model }, ['tool']],
      [{ traceId: root }, ['agent', 'model', 'tool']],
      [{ query: 'boom' }, ['tool']],
      [{ filter: 'eq(name, "tool")', traceFilter: 'eq(name, "agent")' }, ['tool']],
      [{ isRoot: true, treeFilter: 'neq(error, null)' }, ['agent']],
      [{ referenceExampleId: randomUUID() }, []],
      [{ startTime: new Date(Date.now() - DAY_MS) }, ['agent', 'model', 'tool']],
      [{ startTime: new Date() }, []],
      [{ order: 'asc', limit: 2, isRoot: false }, ['model', 'tool']],
    ];
    for (const [more, found] of rows) expect([more, names(await list(more))]).toEqual([more, found]);
    const [run] = await list({ id: [tool], select: ['error', 'child_run_ids'] });
    expect(run).toMatchObject({ name: 'tool', error: 'Error: boom', child_run_ids: [] });
    expect(run).not.toHaveProperty('inputs');
  },
  async getRunStats({ client, project }) {
    const stats = (await client.getRunStats({ projectNames: [project], isRoot: true })) as object;
    expect(stats).toMatchObject({ run_count: 1, total_tokens: 7 });
  },
  async getRunUrl(world) {
    const { client, tool, root } = world;
    const url = await client.getRunUrl({ runId: tool });
    expect(url).toBe(pageOf(world, tool));
    expect(await pageAt(world, url)).toContain('Error: boom');
    const run = await client.readRun(root);
    expect(await client.getRunUrl({ run })).toBe(`${pageOf(world, root)}?poll=true`);
  },
  'runs.getURL': async (world) => {
    const { client, tool, root, projectId } = world;
    const { url } = await client.runs.getURL(tool, { project_id: projectId, trace_id: root });
    expect(url).toBe(pageOf(world, tool));
    expect(await pageAt(world, url)).toContain('Error: boom');
  },
  'runs.query': async ({ client, projectId }) => {
    const runs = await all(client.runs.query({ project_ids: [projectId], selects: [...selects] }));
    expect(names(runs)).toEqual(['agent', 'model', 'tool']);
  },
  'runs.queryV2': async ({ client, projectId }) => {
    const runs = await all(client.runs.queryV2({ project_ids: [projectId], has_error: true, selects }));
    expect(names(runs)).toEqual(['tool']);
  },
  'runs.retrieve': async ({ client, projectId, model }) => {
    const run = await client.runs.retrieve(model, { project_id: projectId, selects });
    expect(run).toEqual({ id: model, name: 'model' });
  },
  'runs.retrieveV2': async ({ client, projectId, tool }) => {
    const run = await client.runs.retrieveV2(tool, { project_id: projectId, selects: ['STATUS', 'ERROR'] });
    expect(run).toEqual({ status: 'ERROR', error: 'Error: boom' });
  },
  'traces.listRuns': async ({ client, projectId, root }) => {
    const { items } = await client.traces.listRuns(root, { project_id: projectId, selects });
    expect(names(items ?? [])).toEqual(['agent', 'model', 'tool']);
  },
  'traces.query': async ({ client, projectId, root }) => {
    const traces = await all(
      client.traces.query({
        project_id: projectId,
        tree_filter: 'neq(error, null)',
        selects: ['ID', 'NAME', 'TOTAL_TOKENS', 'TOTAL_COST'],
      }),
    );
    expect(traces).toEqual([
      {
        root_run: { id: root, name: 'agent' },
        trace_aggregates: { total_tokens: 7, total_cost: 0.5 },
      },
    ]);
  },
};

function pageOf({ url, tenantId, projectId }: World, runId: string): string {
  return `${url}/o/${tenantId}/projects/p/${projectId}/r/${runId}`;
}

/** What a person who types the key reads at an address. */
export async function pageAt({ key }: World, url = ''): Promise<string> {
  const { origin, pathname, search } = new URL(url);
  const body = new URLSearchParams({ key, to: pathname + search });
  const headers = { origin, 'sec-fetch-site': 'same-origin' };
  const signedIn = await fetch(`${origin}/sign-in`, { method: 'POST', redirect: 'manual', headers, body });
  expect([signedIn.status, signedIn.headers.get('location')]).toEqual([303, pathname + search]);
  const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  const page = await fetch(url, { headers: { cookie } });
  expect(page.status).toBe(200);
  return page.text();
}

export const THREADS: Calls = {
  async listThreads({ client, projectId, thread }) {
    expect(await client.listThreads({ projectId })).toMatchObject([{ thread_id: thread, count: 1 }]);
  },
  async readThread({ client, projectId, thread }) {
    expect(names(await all(client.readThread({ threadId: thread, projectId })))).toEqual(['agent']);
  },
  async listGroupRuns({ client, projectId, thread }) {
    const groups = await all(client.listGroupRuns({ projectId, groupBy: 'conversation' }));
    expect(groups).toMatchObject([{ group_key: thread, total_tokens: 7 }]);
  },
  'threads.query': async ({ client, projectId, thread }) => {
    const threads = await all(client.threads.query({ project_id: projectId }));
    expect(threads).toMatchObject([{ thread_id: thread, count: 1, total_cost: 0.5 }]);
  },
  'threads.listTraces': async ({ client, projectId, thread, root }) => {
    const traces = await all(client.threads.listTraces(thread, { project_id: projectId }));
    expect(traces).toEqual([{ trace_id: root }]);
  },
  'threads.stats': async ({ client, projectId, thread }) => {
    const stats = await client.threads.stats(thread, {
      session_id: projectId,
      selects: ['TURNS', 'TOTAL_TOKENS', 'TOTAL_COST', 'LATENCY_P50'],
    });
    expect(stats).toEqual({ turns: 1, total_tokens: 7, total_cost: 0.5, latency_p50_seconds: 3 });
  },
};

async function aShared({ client, call }: World) {
  const trace = traceOf('shared', { startMs: Date.now() - 10_000 });
  await call('POST', '/runs/batch', { post: trace.post, patch: [] });
  const url = await client.shareRun(trace.root);
  return { ...trace, url, token: url.split('/').at(-2) ?? '' };
}

export const SHARING: Calls = {
  async shareRun(world) {
    await opens((await aShared(world)).url, 'agent');
  },
  async unshareRun(world) {
    const { root, url } = await aShared(world);
    await world.client.unshareRun(root);
    expect((await fetch(url)).status).toBe(404);
  },
  async readRunSharedLink(world) {
    const { root, url } = await aShared(world);
    expect(await world.client.readRunSharedLink(root)).toBe(url);
    await opens(url, 'Error: boom');
  },
  async listSharedRuns(world) {
    const { token } = await aShared(world);
    await expect(world.client.listSharedRuns(token)).rejects.toThrow(/404/);
  },
  'runs.share.create': async (world) => {
    const { root, model, token } = await aShared(world);
    const body = {
      trace_id: root,
      session_id: (await world.client.readProject({ projectName: 'shared' })).id,
    };
    expect(await world.client.runs.share.create(model, body)).toEqual({ share_token: token });
  },
  'runs.share.delete': async (world) => {
    const { root, url } = await aShared(world);
    const { id } = await world.client.readProject({ projectName: 'shared' });
    await world.client.runs.share.delete(root, { session_id: id });
    expect((await fetch(url)).status).toBe(404);
  },
  'public.runs.query': async (world) => {
    const { token } = await aShared(world);
    const { items } = await world.client.public.runs.query(token, { selects });
    expect(names(items ?? [])).toEqual(['agent', 'model', 'tool']);
  },
  'public.runs.retrieve': async (world) => {
    const { token, tool, startTime } = await aShared(world);
    const run = await world.client.public.runs.retrieve(tool, {
      share_token: token,
      selects: ['NAME', 'ERROR'],
      start_time: startTime,
    });
    expect(run).toEqual({ name: 'tool', error: 'Error: boom' });
  },
};
