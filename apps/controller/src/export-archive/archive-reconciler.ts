import type { Informer, KubeClient } from '#lib/kube';
import { after, done, type Result } from '#lib/reconcile';
import {
  type BulkExport,
  type BulkExportDestination,
  type BulkExportRun,
  keyOf,
  type ObjectKey,
  RESOURCES,
  type Workspace,
} from '#lib/resources';
import type { TraceStore } from '#lib/trace-store';
import { isCleared } from '../bulk-export/find-predecessor.js';
import { workspaceOf } from '../caches.js';
import type { DatabaseTime } from '../database-time.js';
import { archivedExport, archivedRun } from './archive-record.js';
import { type ArchiveWorld, decideArchive, type ExportHistory } from './decide-archive.js';
import { historyOf } from './workspace-history.js';

export interface ArchiveDependencies {
  readonly client: KubeClient;
  readonly history: ExportHistory;
  readonly traceStore: Pick<TraceStore, 'exportArchive' | 'exportProgress'>;
  readonly time: Pick<DatabaseTime, 'now'>;
  readonly workspaces: Informer<Workspace>;
  readonly destinations: Informer<BulkExportDestination>;
  readonly exports: Informer<BulkExport>;
  readonly runs: Informer<BulkExportRun>;
}

/**
 * Moves exports that ended a while ago, with their runs, from the API server to Postgres. They are stored first and
 * deleted afterwards: at every moment REST finds them in one of both. Their deletion takes along runs, Jobs and Secrets.
 */
export class ArchiveReconciler {
  constructor(private readonly deps: ArchiveDependencies) {}

  async reconcile(key: ObjectKey): Promise<Result> {
    const bulkExport = this.deps.exports.find(key);
    if (!bulkExport) return done();
    const { namespace = '', uid = '' } = bulkExport.metadata;
    const workspace = workspaceOf(this.deps.workspaces, namespace);
    // without a tenant there is no place for it
    if (!workspace) return done();
    const world = await this.#observe(bulkExport, workspace);
    const decision = decideArchive(world);
    switch (decision.kind) {
      case 'keep':
        return done();
      case 'later':
        return after(decision.ms);
      case 'archive':
        await this.#archive(world, workspace);
        await this.deps.client.delete(RESOURCES.BulkExport, keyOf(bulkExport), { uid });
        return done();
      default:
        return decision satisfies never;
    }
  }

  async #observe(bulkExport: BulkExport, workspace: Workspace): Promise<ArchiveWorld> {
    const { exports, history, runs, time, traceStore } = this.deps;
    const owned = runs.ownedBy(bulkExport);
    return {
      bulkExport,
      runs: owned,
      isSettled: await isCleared(owned, traceStore),
      siblings: exports.list(bulkExport.metadata.namespace),
      history: historyOf(history, workspace),
      now: await time.now(),
    };
  }

  async #archive({ bulkExport, runs }: ArchiveWorld, { spec: { tenantId } }: Workspace): Promise<void> {
    const { namespace = '' } = bulkExport.metadata;
    const destination = this.deps.destinations.find({
      namespace,
      name: bulkExport.spec.destinationRef.name,
    });
    await this.deps.traceStore.exportArchive.store(
      tenantId.toLowerCase(),
      archivedExport(bulkExport, destination),
      runs.map(archivedRun),
    );
  }
}
