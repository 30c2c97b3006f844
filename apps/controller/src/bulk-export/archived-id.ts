import type { BulkExport, Workspace } from '#lib/resources';
import type { TraceStore } from '#lib/trace-store';
import { isFinished } from './export-phase.js';

/**
 * Asks whether an id belongs to an export of the workspace that was moved to the archive: a manifest that is applied
 * again would else take what was answered for another export. One that has ended may be in both places for a moment.
 */
export function archivedId(
  archive: Pick<TraceStore['exportArchive'], 'find'>,
  workspace: Workspace | undefined,
  bulkExport: BulkExport,
): ((id: string) => Promise<boolean>) | undefined {
  if (!workspace || isFinished(bulkExport)) return undefined;
  const tenantId = workspace.spec.tenantId.toLowerCase();
  return async (id) => (await archive.find(tenantId, id)) !== undefined;
}
