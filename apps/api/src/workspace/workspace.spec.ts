import { describe, expect, it } from '@jest/globals';
import { RESOURCES, type Workspace } from '#lib/resources';
import { waitFor } from '#lib/testing';
import { deploymentBody } from '../testdata/deployment-body.js';
import type { TestTenant } from '../testdata/running-api.js';
import { testApi } from '../testdata/test-api.js';

const PATH = '/api/v1/workspaces/current';
const AT = '2026-11-20T00:00:00Z';

describe('the workspace of a key', () => {
  const { api, tenant } = testApi();
  const nameOf = ({ namespace }: TestTenant) => namespace.replace(/^ws-/, '');

  async function change(of: TestTenant, spec: Partial<Workspace['spec']>): Promise<void> {
    await api.client.merge(RESOURCES.Workspace, { name: nameOf(of) }, { spec });
  }

  /** Reports a status as the controller would. */
  async function report(of: TestTenant, status: Workspace['status']): Promise<void> {
    await api.client.mergeStatus(RESOURCES.Workspace, { name: nameOf(of) }, { status });
  }

  it('answers its plan before any controller has looked at it', async () => {
    const fresh = await api.workspace('developer');
    const { status, json } = await fresh.call('GET', PATH);
    expect([status, json]).toEqual([
      200,
      {
        id: fresh.tenantId,
        name: nameOf(fresh),
        display_name: null,
        namespace: fresh.namespace,
        plan: 'developer',
        created_at: expect.stringMatching(/Z$/),
        is_ready: false,
        status_reason: null,
        status_message: null,
        retention: null,
        allow_dangerous_environment: false,
        allow_environment_credentials: false,
        own_limits: {
          concurrent_exports: null,
          concurrent_runs_per_export: null,
          export_history_hours: null,
        },
        limits: {
          concurrent_exports: null,
          concurrent_runs_per_export: null,
          export_history_hours: null,
          listeners: 20,
          api_keys: null,
          tracing_projects: null,
          datasets: null,
          dataset_bytes: 10_737_418_240,
          attachment_bytes: 10_737_418_240,
        },
        usage: {
          deployments: 0,
          listeners: 0,
          destinations: 0,
          export_schedules: 0,
          exports_running: 0,
          exports_waiting: 0,
          export_runs_running: 0,
          export_runs_waiting: 0,
          api_keys: 1,
          tracing_projects: 0,
          datasets: 0,
          dataset_bytes: 0,
          attachment_bytes: 0,
        },
      },
    ]);
  });

  it('has its own limits beside those that hold, and its retention', async () => {
    await change(tenant, {
      displayName: 'Research',
      limits: { concurrentExports: 30, exportHistoryHours: 24 },
      retention: { shortlivedDays: 7, longlivedDays: 90, defaultTier: 'shortlived' },
      allowEnvironmentCredentials: true,
    });
    const ready = { type: 'Ready', status: 'True', reason: 'Ready', message: 'namespace exists' } as const;
    const limits = { concurrentExports: 15, concurrentRunsPerExport: 45, exportHistoryHours: 24 };
    await report(tenant, { limits, conditions: [{ ...ready, lastTransitionTime: AT }] });
    await waitFor(async () => (await tenant.call('GET', PATH)).json.is_ready);
    expect((await tenant.call('GET', PATH)).json).toMatchObject({
      display_name: 'Research',
      is_ready: true,
      status_reason: 'Ready',
      status_message: 'namespace exists',
      allow_environment_credentials: true,
      retention: { shortlived_days: 7, longlived_days: 90, default_tier: 'shortlived' },
      own_limits: { concurrent_exports: 30, concurrent_runs_per_export: null, export_history_hours: 24 },
      limits: { concurrent_exports: 15, concurrent_runs_per_export: 45, export_history_hours: 24 },
    });
  });

  it('counts what it uses, and nothing of others', async () => {
    const [mine, other] = [await api.workspace(), await api.workspace()];
    const { namespace } = mine;
    await mine.call('POST', '/v2/deployments', deploymentBody());
    await mine.call('POST', '/v2/listeners', { compute_id: 'here' });
    await mine.call('POST', '/api/v1/api-key', { description: 'laptop' });
    await mine.call('POST', '/sessions', { name: 'demo' });
    await mine.call('POST', '/datasets', { name: 'cases' });
    const make = async (name: string, spec: object, status: object = {}) => {
      await api.client.create(RESOURCES.BulkExport, {
        metadata: { name, namespace },
        spec: { destinationRef: { name: 'd' }, tracingProject: { name: 'demo' }, startTime: AT, ...spec },
      } as never);
      await api.client.mergeStatus(RESOURCES.BulkExport, { namespace, name }, { status });
    };
    const condition = (type: string) => ({
      type,
      status: 'True',
      reason: 'Ready',
      message: '',
      lastTransitionTime: AT,
    });
    const ends = { endTime: '2026-11-21T00:00:00Z' };
    const begun = { startedAt: AT, conditions: [condition('Accepted')] };
    await make('running', ends, begun);
    await make('queued', ends, { conditions: [condition('Accepted')] });
    await make('new', ends);
    await make('done', ends, { ...begun, conditions: [condition('Completed')] });
    await make('hourly', { intervalHours: 1 }, { conditions: [condition('Accepted')] });
    await waitFor(async () => (await mine.call('GET', PATH)).json.usage.export_schedules === 1);
    expect((await mine.call('GET', PATH)).json.usage).toEqual({
      deployments: 1,
      listeners: 1,
      destinations: 0,
      export_schedules: 1,
      exports_running: 1,
      exports_waiting: 2,
      export_runs_running: 0,
      export_runs_waiting: 0,
      api_keys: 2,
      tracing_projects: 1,
      datasets: 1,
      dataset_bytes: 0,
      attachment_bytes: 0,
    });
    expect((await other.call('GET', PATH)).json.usage).toMatchObject({
      deployments: 0,
      exports_running: 0,
      api_keys: 1,
      tracing_projects: 0,
    });
  });

  it('refuses the tenant of another, and keys that read nothing', async () => {
    const other = await api.workspace();
    const foreign = await tenant.call('GET', PATH, undefined, { 'x-tenant-id': other.tenantId });
    expect([foreign.status, foreign.text]).toEqual([404, expect.not.stringContaining(other.tenantId)]);
    const keyOf = async (scope: string) => ({
      'x-api-key': (await tenant.call('POST', '/api/v1/api-key', { description: scope, scope })).json.key,
    });
    expect((await tenant.call('GET', PATH, undefined, await keyOf('read'))).status).toBe(200);
    for (const scope of ['ingest', 'invoke'])
      expect((await tenant.call('GET', PATH, undefined, await keyOf(scope))).status).toBe(403);
  });
});
