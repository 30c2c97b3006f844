import type { ExportLimits, Window } from '#lib/export-plan';
import { type EventRecorder, isAlreadyExists, type KubeClient, StatusWriter } from '#lib/kube';
import { after, controllerReference, done, isOwnedBy, type Result, wait } from '#lib/reconcile';
import { TerminalError, WaitingError } from '#lib/errors';
import {
  type BulkExport,
  type BulkExportDestination,
  type BulkExportRun,
  type BulkExportRunSpec,
  isDeleting,
  keyOf,
  type ObjectKey,
  REASON,
  RESOURCES,
  type Workspace,
} from '#lib/resources';
import { formatInstant } from '#lib/time';
import type { Project, TraceStore } from '#lib/trace-store';
import { isJobFinished } from '../ended-jobs.js';
import { type Caches, jobsOfExport, workspaceOf } from '../caches.js';
import type { DatabaseTime } from '../database-time.js';
import { archivedId, buildExportRun, destinationSnapshot } from './build-run.js';
import { ensureId } from '../identity/decide-id.js';
import {
  decideExport,
  type ExportDecision,
  type ExportWorld,
  type FormerWorld,
  type PredecessorWorld,
} from './decide.js';
import { isFinished, isSchedule, runPhase } from './export-phase.js';
import { EXPORT_CONDITIONS, summarizeExport } from './export-status.js';
import { findLateOf, findPredecessor } from './find-predecessor.js';
import { limitsOf } from './workspace-limits.js';

export interface BulkExportDependencies extends Pick<
  Caches,
  'workspaces' | 'destinations' | 'exports' | 'runs' | 'exportJobs'
> {
  readonly client: KubeClient;
  readonly events: EventRecorder;
  readonly limits: ExportLimits;
  readonly traceStore: Pick<TraceStore, 'projects' | 'exportArchive' | 'exportProgress'>;
  readonly time: DatabaseTime;
}

/** Runs that begin and end wake their export; this is for what those at work have written, and for time-outs. */
const LOOK_AGAIN_MS = { atWork: 5_000, waiting: 30_000 } as const;

const FORMER_LOOK_MS = 1_000;

/** Splits an export into runs of one UTC day and counts what became of them. */
export class BulkExportReconciler {
  readonly #status: StatusWriter;

  constructor(private readonly deps: BulkExportDependencies) {
    this.#status = new StatusWriter(deps.client, {
      fieldManager: 'agentplane-controller-export',
      conditionTypes: EXPORT_CONDITIONS,
    });
  }

  async reconcile(key: ObjectKey): Promise<Result> {
    const world = await this.#observe(key);
    if (!world) return done();
    const decision = await this.#decide(world);
    if (decision.kind === 'finished') {
      // its runs end after it when it was cancelled or failed: the counts follow them
      if (world.runs.length > 0) await this.#report(world, decision);
      return done();
    }
    // before its end is reported: from then on nothing is added to its files
    if (decision.kind === 'cancel' || decision.kind === 'fail')
      await this.deps.traceStore.exportProgress.cancelExport(world.bulkExport.metadata.uid ?? '');
    // the status has the window and the project before the first run is made from them
    await this.#report(world, decision);
    if (decision.kind === 'run') await this.#makeRuns(world, decision);
    switch (decision.kind) {
      case 'wait':
        return wait(decision.reason, decision.ms);
      case 'run':
        return after(decision.next.length < decision.missing.length ? 0 : lookAgainMs(world));
      case 'cancel':
      case 'complete':
      case 'fail':
        return done();
      default:
        return decision satisfies never;
    }
  }

  /** Its runs may be shut out by a cancellation that the cache has not seen. */
  async #decide(world: ExportWorld): Promise<ExportDecision> {
    const decision = decideExport(world);
    if (decision.kind !== 'fail') return decision;
    const current = await this.deps.client.find(RESOURCES.BulkExport, keyOf(world.bulkExport));
    return current?.spec.cancel ? { kind: 'cancel' } : decision;
  }

  async #observe(key: ObjectKey): Promise<ExportWorld | undefined> {
    const { client, exports, limits, time, traceStore, workspaces } = this.deps;
    const found = exports.find(key);
    // deleted: its runs are owned by it and clean up after themselves; a schedule has a reconciler of its own
    if (!found || isDeleting(found) || isSchedule(found)) return undefined;
    // its id is in the keys of its files: two exports must not write over one another
    const { namespace = '' } = found.metadata;
    const workspace = workspaceOf(workspaces, namespace);
    const isTaken = archivedId(traceStore.exportArchive, workspace, found);
    const bulkExport = await ensureId(client, RESOURCES.BulkExport, found, exports, isTaken);
    const runs = this.deps.runs.ownedBy(bulkExport);
    return {
      bulkExport,
      workspace,
      destination: await this.#findDestination(bulkExport, runs.length),
      // its runs name the project already
      project: runs.length > 0 ? undefined : await this.#findProject(bulkExport, workspace),
      runs: runs.sort((a, b) => a.spec.startTime.localeCompare(b.spec.startTime)),
      hasWorker: jobsOfExport(this.deps.exportJobs, bulkExport).some((job) => !isJobFinished(job)),
      ...(await this.#findFormers(bulkExport, workspace, runs.length)),
      siblings: exports.list(namespace),
      now: await time.now(),
      limits: limitsOf(limits, workspace),
    };
  }

  /** Finds former exports as long as this one has runs of its own to make. */
  async #findFormers(
    bulkExport: BulkExport,
    workspace: Workspace | undefined,
    made: number,
  ): Promise<{
    readonly predecessor?: PredecessorWorld | undefined;
    readonly lateOf?: FormerWorld | undefined;
  }> {
    const total = bulkExport.status?.runs?.total ?? 0;
    if (!workspace || isFinished(bulkExport) || (total > 0 && made >= total)) return {};
    const tenantId = workspace.spec.tenantId.toLowerCase();
    return {
      predecessor: await findPredecessor(bulkExport, tenantId, this.deps),
      lateOf: await findLateOf(bulkExport, tenantId, this.deps),
    };
  }

  /** Asked of the server before its absence ends an export: a cache may have missed it. */
  async #findDestination(
    { metadata: { namespace = '' }, spec, status }: BulkExport,
    made: number,
  ): Promise<BulkExportDestination | undefined> {
    const { client, destinations } = this.deps;
    const key = { namespace, name: spec.destinationRef.name };
    const isAccepted = made > 0 || status?.destinationId !== undefined;
    return (
      destinations.find(key) ??
      (isAccepted ? await client.find(RESOURCES.BulkExportDestination, key) : undefined)
    );
  }

  async #findProject(bulkExport: BulkExport, workspace: Workspace | undefined): Promise<Project | undefined> {
    if (!workspace) return undefined;
    const { name, id } = bulkExport.spec.tracingProject;
    const { projects } = this.deps.traceStore;
    if (id !== undefined) return await projects.find(workspace.spec.tenantId, { id });
    return name === undefined ? undefined : await projects.find(workspace.spec.tenantId, { name });
  }

  async #report(world: ExportWorld, decision: ExportDecision): Promise<void> {
    const { bulkExport } = world;
    const written = await this.#status.apply(
      RESOURCES.BulkExport,
      bulkExport,
      summarizeExport(world, decision),
    );
    if (written === bulkExport) return;
    await this.deps.exports.seen(written);
    this.#announce(bulkExport, decision);
  }

  #announce(bulkExport: BulkExport, decision: ExportDecision): void {
    const { events } = this.deps;
    if (decision.kind === 'complete')
      events.record(RESOURCES.BulkExport, bulkExport, {
        type: 'Normal',
        reason: REASON.completed,
        message: 'every day is completed',
      });
    if (decision.kind === 'fail' || decision.kind === 'wait')
      events.record(RESOURCES.BulkExport, bulkExport, {
        type: decision.kind === 'fail' ? 'Warning' : 'Normal',
        reason: decision.reason,
        message: decision.message,
      });
  }

  async #makeRuns(
    { bulkExport, destination, workspace, predecessor, lateOf, runs: made }: ExportWorld,
    { next, projectId, window }: ExportDecision & { kind: 'run' },
  ): Promise<void> {
    if (next.length === 0 || !destination || !workspace) return;
    const { client, exports, runs } = this.deps;
    // runs that a crash left out get the destination of the runs that exist
    const snapshot = made[0]?.spec.destination ?? destinationSnapshot(destination);
    const exportWindow = windowOf(bulkExport, window, predecessor);
    const formers = uidsByStart(predecessor);
    const lateOfs = uidsByStart(lateOf);
    let newest: BulkExportRun | undefined;
    for (const partition of next) {
      if (exports.find(keyOf(bulkExport))?.spec.cancel) break;
      const startMs = Number(partition.start / 1000n);
      const [predecessorUid, lateOfUid] = [formers.get(startMs), lateOfs.get(startMs)];
      const identity = {
        tenantId: workspace.spec.tenantId,
        projectId,
        exportWindow,
        ...(predecessorUid === undefined ? {} : { predecessorUid }),
        // without the run of its day it fails, and reads no rows that it should leave out
        ...(lateOf ? { lateOfUid: lateOfUid ?? '' } : {}),
      };
      const run = buildExportRun(bulkExport, snapshot, identity, partition);
      const owner = controllerReference(RESOURCES.BulkExport, bulkExport);
      const metadata = { ...run.metadata, ownerReferences: [owner] };
      try {
        newest = await client.create(RESOURCES.BulkExportRun, { ...run, metadata });
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
        // an earlier pass made it, and the cache has not seen it yet; or it is not ours
        await this.#refuseForeign(bulkExport, keyOf(run));
      }
    }
    if (newest) await runs.seen(newest);
  }

  /** The runs of a former export of the name take a moment to end; an orphaned one would block this export until it is removed. */
  async #refuseForeign(bulkExport: BulkExport, key: ObjectKey): Promise<void> {
    const existing = await this.deps.client.find(RESOURCES.BulkExportRun, key);
    if (!existing || isOwnedBy(existing, bulkExport)) return;
    const message = `BulkExportRun ${key.name} exists and belongs to a former export of the same name`;
    if (isDeleting(existing)) throw new WaitingError(REASON.deleting, message, FORMER_LOOK_MS);
    throw new TerminalError(REASON.notOurs, `${message}; remove it`);
  }
}

function lookAgainMs({ runs }: ExportWorld): number {
  return LOOK_AGAIN_MS[runs.some((run) => runPhase(run) === 'running') ? 'atWork' : 'waiting'];
}

/** Uids of the runs of an export, by the begin of their windows. */
function uidsByStart(former: Pick<FormerWorld, 'runs'> | undefined): ReadonlyMap<number, string | undefined> {
  return new Map(former?.runs.map(({ metadata, spec }) => [Date.parse(spec.startTime), metadata.uid]));
}

/**
 * Window of the whole export for its runs. An export that continues that of a window of a schedule takes its
 * place.
 */
function windowOf(
  { spec: { sourceExport } }: BulkExport,
  { start, end }: Window,
  predecessor: PredecessorWorld | undefined,
): BulkExportRunSpec['exportWindow'] {
  const scheduleId =
    sourceExport?.runRequestId === undefined && sourceExport
      ? sourceExport.id
      : predecessor?.runs[0]?.spec.exportWindow?.scheduleId;
  return {
    startTime: formatInstant(start, 'if-any'),
    endTime: formatInstant(end, 'if-any'),
    ...(scheduleId === undefined ? {} : { scheduleId }),
  };
}
