import type { ExportLimits } from '#lib/export-plan';
import type { Workspace } from '#lib/resources';

/** The lower of the platform's limits and the workspace's. */
export function limitsOf(platform: ExportLimits, workspace: Workspace | undefined): ExportLimits {
  const own = workspace?.spec.limits;
  return {
    ...platform,
    concurrentExportsPerWorkspace: Math.min(
      platform.concurrentExportsPerWorkspace,
      own?.concurrentExports ?? Number.POSITIVE_INFINITY,
    ),
    concurrentRunsPerExport: Math.min(
      platform.concurrentRunsPerExport,
      own?.concurrentRunsPerExport ?? Number.POSITIVE_INFINITY,
    ),
  };
}
