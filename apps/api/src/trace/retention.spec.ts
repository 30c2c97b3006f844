import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'langsmith';
import { RESOURCES, type Workspace } from '#lib/resources';
import { testPostgres, waitFor } from '#lib/testing';
import {
  prepareKube,
  prepareStore,
  runApi,
  type RunningApi,
  type TestTenant,
} from '../testdata/running-api.js';
import { RetentionSync } from './retention-sync.js';

const postgres = testPostgres();
let api: RunningApi;
let tenant: TestTenant;

beforeAll(async () => {
  const [store, kube] = [
    await postgres.freshDatabase(prepareStore),
    await postgres.freshDatabase(prepareKube),
  ];
  api = await runApi(store.uri, kube.uri);
  tenant = await api.workspace();
});
afterAll(() => api.stop());

const DAY_MS = 86_400_000;
const send = async (of: TestTenant, more: object = {}) => {
  const run = {
    id: randomUUID(),
    name: 'r',
    run_type: 'chain',
    start_time: new Date().toISOString(),
    ...more,
  };
  expect((await of.call('POST', '/runs', run)).status).toBe(202);
  return run;
};

describe('a deleted tracing project', () => {
  it('answers as deleted, with its runs, at every route that takes its id', async () => {
    const { id } = (await tenant.call('POST', '/sessions', { name: 'to go' })).json as { id: string };
    const run = await send(tenant, { session_name: 'to go' });
    await new Client({ apiUrl: api.url, apiKey: tenant.key }).deleteProject({ projectId: id });
    const sentence = expect.stringMatching(`^Session with ID ${id} was deleted at 20.*Z, with its runs$`);
    for (const [method, path, body] of [
      ['GET', `/sessions/${id}`, undefined],
      ['DELETE', `/sessions/${id}`, undefined],
      ['PATCH', `/sessions/${id}`, { name: 'x' }],
      ['POST', '/runs/query', { session: [id] }],
      ['POST', '/runs/delete', { session_id: id, trace_ids: [run.id] }],
    ] as const) {
      const { status, json } = await tenant.call(method, path, body);
      expect([path, status, json.detail]).toEqual([path, 404, sentence]);
    }
    expect((await tenant.call('GET', `/runs/${run.id}`)).status).toBe(404);
    const anew = (await tenant.call('POST', '/sessions', { name: 'to go' })).json as { id: string };
    expect(anew.id).not.toBe(id);
    const other = await api.workspace();
    expect((await other.call('GET', `/sessions/${id}`)).json.detail).toBe(`Session with ID ${id} not found`);
  });
});

describe('trace_tier', () => {
  it('accepts a tier of projects and runs, and refuses another word', async () => {
    const made = await tenant.call('POST', '/sessions', { name: 'brief', trace_tier: 'shortlived' });
    expect(made.json).toMatchObject({ trace_tier: 'shortlived' });
    const tierOf = async (run: { id: string }) =>
      (await tenant.call('GET', `/runs/${run.id}`)).json.trace_tier;
    expect(await tierOf(await send(tenant, { session_name: 'brief' }))).toBe('shortlived');
    expect(await tierOf(await send(tenant))).toBe('longlived');
    await tenant.call('PATCH', `/sessions/${made.json.id}`, { trace_tier: 'longlived' });
    expect(await tierOf(await send(tenant, { session_name: 'brief' }))).toBe('longlived');
    expect((await tenant.call('PATCH', `/sessions/${made.json.id}`, { trace_tier: 'gold' })).status).toBe(
      422,
    );
  });
});

describe('spec.retention of a Workspace', () => {
  it('removes expired runs, says so of their ids, and stops when it is taken back', async () => {
    const of = await api.workspace();
    const name = of.namespace.slice('ws-'.length);
    const old = new Date(Date.now() - 20 * DAY_MS);
    const hex = old.getTime().toString(16).padStart(12, '0');
    const id = `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${randomUUID().slice(-12)}`;
    const expired = { id, trace_tier: 'shortlived', start_time: old.toISOString() };
    await send(of, expired);
    const kept = await send(of, { start_time: old.toISOString() });
    const bounds = () => api.store.retention.boundsOf(of.tenantId);
    const set = async (retention: object | null, days: number | undefined) => {
      await api.client.merge(RESOURCES.Workspace, { name }, { spec: { retention } });
      await waitFor(async () => {
        await api.services.retention.sync();
        return (await bounds())?.shortlivedDays === days;
      });
      await api.store.tidy();
    };
    await set({}, 14);
    expect(await bounds()).toMatchObject({ shortlivedDays: 14, longlivedDays: 400 });
    const gone = await of.call('GET', `/runs/${id}`);
    expect([gone.status, gone.json.detail]).toEqual([
      404,
      expect.stringMatching(`^Run with ID ${id} not found: it began at .*; older ones are removed$`),
    ]);
    expect((await of.call('GET', `/runs/${kept.id}`)).status).toBe(200);
    const { id: project } = (await of.call('GET', '/sessions?name=default')).json[0] as { id: string };
    const query = `project_id=${project}&start_time=${old.toISOString()}`;
    const second = await of.call('GET', `/api/v2/runs/${randomUUID()}?${query}`);
    expect([second.status, JSON.stringify(second.json)]).toEqual([404, expect.stringContaining('14 days')]);
    await set(null, undefined);
    await send(of, { ...expired, id: randomUUID() });
    await api.store.tidy();
    expect((await of.call('POST', '/runs/query', { session: [project] })).json.runs).toHaveLength(2);
  });
});

describe('a workspace that is made anew with the same tenant', () => {
  it('hands its settings to the store again, whose rows went with the former workspace', async () => {
    const workspace: Workspace = {
      apiVersion: 'agentplane.dev/v1alpha1',
      kind: 'Workspace',
      metadata: { name: 'w' },
      spec: {
        tenantId: randomUUID(),
        plan: 'enterprise',
        retention: { shortlivedDays: 3, longlivedDays: 9, defaultTier: 'longlived' },
      },
    };
    const deleting = { ...workspace, metadata: { name: 'w', deletionTimestamp: '2026-01-01T00:00:00Z' } };
    const given: unknown[] = [];
    const retention = { set: async (_tenant: string, settings: object) => void given.push(settings) };
    const listed: Workspace[][] = [[workspace], [workspace], [deleting], [deleting], [workspace]];
    const sync = new RetentionSync({ retention }, { list: () => listed.shift() ?? [] });
    for (let pass = 0; pass < 5; pass++) await sync.sync();
    expect(given).toHaveLength(2);
  });
});
