import { describe, expect, it } from '@jest/globals';
import { DEFAULT_EXPORT_LIMITS, type ExportLimits } from '#lib/export-plan';
import type { Workspace, WorkspaceSpec } from '#lib/resources';
import { limitsOf } from './workspace-limits.js';

const PLATFORM: ExportLimits = {
  ...DEFAULT_EXPORT_LIMITS,
  concurrentExportsPerWorkspace: 15,
  concurrentRunsPerExport: 45,
};

function workspaceWith(limits: WorkspaceSpec['limits']): Workspace {
  return {
    apiVersion: 'agentplane.dev/v1alpha1',
    kind: 'Workspace',
    metadata: { name: 'w' },
    spec: { tenantId: 't', plan: 'plus', ...(limits ? { limits } : {}) },
  };
}

describe('limitsOf', () => {
  it.each<[string, Workspace | undefined, number, number]>([
    ['no Workspace', undefined, 15, 45],
    ['a Workspace without limits', workspaceWith(undefined), 15, 45],
    ['a lower limit of exports', workspaceWith({ concurrentExports: 2 }), 2, 45],
    ['a lower limit of runs', workspaceWith({ concurrentRunsPerExport: 3 }), 15, 3],
    ['both', workspaceWith({ concurrentExports: 1, concurrentRunsPerExport: 1 }), 1, 1],
    ['higher limits', workspaceWith({ concurrentExports: 16, concurrentRunsPerExport: 46 }), 15, 45],
    ['limits of other things', workspaceWith({ exportHistoryHours: 1 }), 15, 45],
  ])('takes the lower of both with %s', (_name, workspace, exports, runs) => {
    expect(limitsOf(PLATFORM, workspace)).toEqual({
      ...PLATFORM,
      concurrentExportsPerWorkspace: exports,
      concurrentRunsPerExport: runs,
    });
  });
});
