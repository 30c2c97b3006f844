import type { TenantTurns } from '../tenant-turns.js';
import type { ExportArchive } from './export-archive.js';

export function archiveInTurns(archive: ExportArchive, turns: TenantTurns): ExportArchive {
  return {
    store: (tenantId, ...given) => turns.run(tenantId, () => archive.store(tenantId, ...given)),
    find: (tenantId, id) => turns.run(tenantId, () => archive.find(tenantId, id)),
    findNamed: (tenantId, name) => turns.run(tenantId, () => archive.findNamed(tenantId, name)),
    list: (tenantId, search) => turns.run(tenantId, () => archive.list(tenantId, search)),
    runs: (tenantId, ...given) => turns.run(tenantId, () => archive.runs(tenantId, ...given)),
    lastWindowEnd: (tenantId, sourceId) =>
      turns.run(tenantId, () => archive.lastWindowEnd(tenantId, sourceId)),
  };
}
