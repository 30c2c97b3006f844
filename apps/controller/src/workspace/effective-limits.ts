import type { ExportLimits } from '#lib/export-plan';
import type { Workspace, WorkspaceStatus } from '#lib/resources';
import { limitsOf } from '../bulk-export/workspace-limits.js';
import type { ExportHistory } from '../export-archive/decide-archive.js';
import { historyOf } from '../export-archive/workspace-history.js';

const HOUR_MS = 3_600_000;

/** Limits in effect for a workspace, as its status shows them. */
export function effectiveLimits(
  platform: { readonly limits: ExportLimits; readonly history: ExportHistory },
  workspace: Workspace,
): NonNullable<WorkspaceStatus['limits']> {
  const limits = limitsOf(platform.limits, workspace);
  return {
    concurrentExports: limits.concurrentExportsPerWorkspace,
    concurrentRunsPerExport: limits.concurrentRunsPerExport,
    exportHistoryHours: historyOf(platform.history, workspace).keptMs / HOUR_MS,
  };
}
