import type { TenantTurns } from '../tenant-turns.js';
import type { RevisionArchive } from './revision-archive.js';

export function revisionsInTurns(archive: RevisionArchive, turns: TenantTurns): RevisionArchive {
  return {
    store: (owner, ...given) => turns.run(owner.tenantId, () => archive.store(owner, ...given)),
    find: (owner, id) => turns.run(owner.tenantId, () => archive.find(owner, id)),
    findOutputs: (owner, id) => turns.run(owner.tenantId, () => archive.findOutputs(owner, id)),
    list: (owner, search) => turns.run(owner.tenantId, () => archive.list(owner, search)),
    among: (owner, ids) => turns.run(owner.tenantId, () => archive.among(owner, ids)),
    count: (owner, except) => turns.run(owner.tenantId, () => archive.count(owner, except)),
    forget: (owner) => turns.run(owner.tenantId, () => archive.forget(owner)),
  };
}
