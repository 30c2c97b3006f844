import type { Workspace } from '#lib/resources';
import type { RestRequests, WorkspaceDetails } from '#lib/rest-client';
import { useLines } from './open-text.js';

const TENANT = '0f0a3b2c-1111-4222-8333-444455556666';

function workspace(tenantId: string): Workspace {
  return { metadata: { name: 'team-b' }, spec: { tenantId, plan: 'plus' } } as Workspace;
}

const rest = {
  request: async (): Promise<WorkspaceDetails> => ({
    id: TENANT,
    name: 'default',
    display_name: null,
    namespace: 'ws-default',
    plan: 'enterprise',
    is_ready: true,
    status_reason: 'Ready',
    status_message: null,
    retention: null,
    limits: {
      concurrent_exports: 4,
      concurrent_runs_per_export: 45,
      export_history_hours: 168,
      listeners: 4,
      api_keys: null,
      tracing_projects: null,
      datasets: null,
      dataset_bytes: null,
      attachment_bytes: null,
    },
    usage: {
      deployments: 0,
      listeners: 1,
      destinations: 0,
      export_schedules: 0,
      exports_running: 0,
      exports_waiting: 0,
      export_runs_running: 0,
      export_runs_waiting: 0,
      api_keys: 0,
      tracing_projects: 0,
      datasets: 0,
      dataset_bytes: 0,
      attachment_bytes: 0,
    },
  }),
} as unknown as RestRequests;

describe('useLines', () => {
  it('shows limits and use of the workspace of the key', async () => {
    const lines = await useLines(workspace(TENANT.toUpperCase()), { rest });
    expect(lines[0]).toMatch(/^workspace +default$/);
    expect(lines).toContainEqual(expect.stringMatching(/^listeners +1 +4 +█████░{15} +25 %$/));
  });

  it.each([
    ['another workspace', rest, /belongs to workspace default: limits and use of team-b/],
    ['a dashboard without REST', undefined, /come from REST/],
  ])('names what it takes for %s', async (_, asked, expected) => {
    expect((await useLines(workspace('other'), { rest: asked })).join('\n')).toMatch(expected);
  });
});
