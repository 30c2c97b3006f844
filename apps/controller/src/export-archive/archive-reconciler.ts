import type { KubeClient } from '#lib/kube';
import { after, done, type Result } from '#lib/reconcile';
import {
  ANNOTATION,
  type BulkExport,
  type BulkExportDestination,
  type BulkExportRun,
  type Condition,
  exportWireStatus,
  idOf,
  keyOf,
  type KubeObject,
  type ObjectKey,
  RESOURCES,
  type Workspace,
} from '#lib/resources';
import type { ArchivedExport, ArchivedRun, ArchiveRecords, TraceStore } from '#lib/trace-store';
import { isCleared } from '../bulk-export/find-predecessor.js';
import { type Caches, workspaceOf } from '../caches.js';
import type { DatabaseTime } from '../database-time.js';
import { type ArchiveWorld, decideArchive, type ExportHistory, historyOf } from './decide-archive.js';

const OURS: ReadonlySet<string> = new Set(Object.values(ANNOTATION));

/**
 * Maximum length of an annotation: ids and hashes are shorter. Any writer of the resource chooses the value.
 */
const MAX_ANNOTATION = 256;
/** Bytes of one resource in the archive, three times the largest that REST can request. A larger one is stored small. */
const MAX_RECORD_BYTES = 64 * 1024;
/** Characters of what people wrote, in a small record. */
const MAX_SMALL_TEXT = 1_024;

type Metadata = Readonly<Record<string, unknown>>;

/** Metadata that REST renders. Annotations of others may be arbitrarily large and are never shown again. */
function shownMetadata({ metadata }: KubeObject): Metadata {
  const { name, namespace, uid, creationTimestamp, generation, annotations = {} } = metadata;
  const own = Object.entries(annotations).filter(
    ([key, value]) => OURS.has(key) && value.length <= MAX_ANNOTATION,
  );
  return { name, namespace, uid, creationTimestamp, generation, annotations: Object.fromEntries(own) };
}

/** @param small the same resource without its large fields */
function records(object: KubeObject, small: object): ArchiveRecords {
  const metadata = shownMetadata(object);
  const [full, reduced] = [
    { ...object, metadata },
    { ...small, metadata },
  ].map((one) => JSON.stringify(one));
  return {
    object: Buffer.byteLength(full ?? '') <= MAX_RECORD_BYTES ? (full ?? '') : (reduced ?? ''),
    small: reduced ?? '',
  };
}

function shortened(text: string): string {
  return text.length <= MAX_SMALL_TEXT ? text : `${text.slice(0, MAX_SMALL_TEXT - 1)}…`;
}

function smallStatus<T extends { readonly conditions?: readonly Condition[] }>(
  status: T | undefined,
): T | undefined {
  if (!status?.conditions) return status;
  const conditions = status.conditions.map((one) => ({ ...one, message: shortened(one.message) }));
  return { ...status, conditions };
}

/** An export as it goes to the archive. Small, a long filter and long messages are cut, which an ellipsis shows. */
export function archivedExport(
  bulkExport: BulkExport,
  destination: BulkExportDestination | undefined,
): ArchivedExport & ArchiveRecords {
  const { metadata, spec, status } = bulkExport;
  const source = spec.sourceExport;
  const small = {
    spec: { ...spec, ...(spec.filter === undefined ? {} : { filter: shortened(spec.filter) }) },
    status: smallStatus(status),
  };
  return {
    id: idOf(bulkExport) ?? '',
    name: metadata.name,
    createdAt: metadata.creationTimestamp ?? '',
    status: exportWireStatus(bulkExport),
    destinationId: destination && idOf(destination),
    projectId: status?.tracingProjectId ?? spec.tracingProject.id,
    sourceId: source?.id,
    continuesId: spec.continues?.id,
    windowEnd: source && source.runRequestId === undefined ? spec.endTime : undefined,
    ...records(bulkExport, small),
  };
}

/** Small, it has the message of its last failed attempt alone, and where it wrote to. */
export function archivedRun(run: BulkExportRun): ArchivedRun & ArchiveRecords {
  const { startTime, endTime, destination } = run.spec;
  const { bucketName, prefix } = destination.config;
  const errors = Object.entries(run.status?.errors ?? {});
  const last = errors.sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true })).at(-1);
  const small = {
    spec: { startTime, endTime, destination: { config: { bucketName, prefix } } },
    status: run.status && {
      ...smallStatus(run.status),
      errors: last && { [last[0]]: shortened(last[1]) },
    },
  };
  // each of thousands of runs repeats the filter of the export, and no interface shows it per run
  const { filter: _filter, ...spec } = run.spec;
  const full = { ...run, spec };
  return { id: idOf(run) ?? '', uid: run.metadata.uid ?? '', startTime, ...records(full, small) };
}

export interface ArchiveDependencies extends Pick<
  Caches,
  'workspaces' | 'destinations' | 'exports' | 'runs'
> {
  readonly client: KubeClient;
  readonly history: ExportHistory;
  readonly traceStore: Pick<TraceStore, 'exportArchive' | 'exportProgress'>;
  readonly time: Pick<DatabaseTime, 'now'>;
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
