import { describe, expect, it } from '@jest/globals';
import type { WorkspaceDetails } from '#lib/rest-client';
import { workspaceLines } from './workspace-lines.js';

const NONE = {
  deployments: 0,
  listeners: 0,
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
};
const WORKSPACE: WorkspaceDetails = {
  id: 't',
  name: 'team-b',
  display_name: 'Team B',
  namespace: 'ws-team-b',
  plan: 'plus',
  is_ready: true,
  status_reason: 'Ready',
  status_message: 'm',
  retention: { shortlived_days: 14, longlived_days: 0, default_tier: 'longlived' },
  limits: {
    concurrent_exports: 4,
    concurrent_runs_per_export: 45,
    export_history_hours: 168,
    listeners: 10,
    api_keys: null,
    tracing_projects: 1_000,
    datasets: 0,
    dataset_bytes: 10e9,
    attachment_bytes: 10e9,
  },
  usage: {
    ...NONE,
    deployments: 3,
    exports_running: 4,
    api_keys: 12,
    tracing_projects: 255,
    dataset_bytes: 12_345_678,
  },
};

describe('workspaceLines', () => {
  it('shows the plan, the limits that hold and the use, with a bar for each limit', () => {
    expect(workspaceLines(WORKSPACE)).toEqual([
      'workspace             team-b (Team B)',
      'plan                  plus',
      'state                 ready',
      'tenant                t',
      'namespace             ws-team-b',
      'runs are kept         shortlived for 14 days, longlived for good; longlived by default',
      'runs of one export    45 at a time',
      'ended exports         in Kubernetes for 168 h, then in the archive',
      '',
      '                           used     most',
      'deployments                   3',
      'listeners                     0       10  ░░░░░░░░░░░░░░░░░░░░   0 %',
      'destinations                  0',
      'export schedules              0',
      'exports at work               4        4  ████████████████████ 100 %',
      'exports waiting               0',
      'export runs at work           0',
      'export runs waiting           0',
      'API keys                     12        -',
      'tracing projects            255     1.0k  █████▏░░░░░░░░░░░░░░  25 %',
      'datasets                      0        0  ░░░░░░░░░░░░░░░░░░░░   0 %',
      'bytes of datasets       12.3 MB  10.0 GB  ░░░░░░░░░░░░░░░░░░░░   0 %',
      'bytes of attachments        0 B  10.0 GB  ░░░░░░░░░░░░░░░░░░░░   0 %',
    ]);
  });

  it('says what is not known yet, why the workspace is not ready, and nothing that a terminal obeys', () => {
    const lines = workspaceLines({
      ...WORKSPACE,
      display_name: '\u001b]0;x\u0007',
      is_ready: false,
      status_reason: 'NamespaceTaken',
      retention: null,
      limits: { ...WORKSPACE.limits, concurrent_exports: null, concurrent_runs_per_export: null },
    });
    expect(lines[0]).toBe('workspace             team-b (\\u001b]0;x\\u0007)');
    expect(lines).toContain('state                 NamespaceTaken: m');
    expect(lines).toContain('runs are kept         for good');
    expect(lines).toContain('runs of one export    not reported by the controller yet');
    expect(lines).toContain('exports at work               4        -');
  });
});
