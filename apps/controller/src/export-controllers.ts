import { followingRunsOf, isOlder, isQueued } from '#lib/export-plan';
import {
  type Change,
  type ControllerSpec,
  fromMapped,
  fromObjects,
  fromOwned,
  isDesiredChange,
  type Reader,
  type Source,
} from '#lib/kube';
import { webhookGuard } from '#lib/outbound';
import {
  type BulkExport,
  type BulkExportDestination,
  type BulkExportRun,
  idOf,
  isDeleting,
  type Job,
  keyOf,
  type ObjectKey,
  parseKey,
  RESOURCES,
  type Workspace,
  workspaceNamespace,
} from '#lib/resources';
import { lakeVariables, whyNotSealing } from '#lib/trace-store';
import { DestinationReconciler } from './bulk-export-destination/destination-reconciler.js';
import { AttemptWorkers, runsOfJob, WorkerJobs } from './bulk-export-run/attempt-workers.js';
import { BulkExportRunReconciler } from './bulk-export-run/bulk-export-run-reconciler.js';
import { FollowingRuns } from './bulk-export-run/following-runs.js';
import type { LeftUploads } from './bulk-export-run/left-uploads.js';
import { hasEnded, nextInLine, RunPlaces, WorkspaceLine } from './bulk-export-run/run-places.js';
import { readExportLag } from './bulk-export-run/run-status.js';
import { BulkExportReconciler } from './bulk-export/bulk-export-reconciler.js';
import { hasBegun, isFinished, isSchedule } from './bulk-export/export-phase.js';
import { exportsOfJob } from './caches.js';
import { exportHistory, exportLimits, platformSettings } from './config.js';
import { isJobFinished } from './ended-jobs.js';
import { ArchiveReconciler } from './export-archive/archive-reconciler.js';
import { beyondHistory } from './export-archive/decide-archive.js';
import { ScheduleReconciler } from './export-schedule/schedule-reconciler.js';
import { beyondOpen, isOpen } from './export-webhook/decide-webhook.js';
import { WebhookCalls } from './export-webhook/webhook-calls.js';
import { WebhookReconciler } from './export-webhook/webhook-reconciler.js';
import { FormerCredentialsReconciler } from './former-credentials/former-credentials-reconciler.js';
import { SealReconciler } from './lake/seal-reconciler.js';
import { controllerOf, type Parts } from './parts.js';

/** BulkExportDestinations: each is tested by writing to it. */
function destinationController(parts: Parts): ControllerSpec {
  const { client, clock, config, destinations, exports } = parts;
  const reconciler = new DestinationReconciler(parts, client, clock, config);
  const ofWorkspace = ({ metadata }: Workspace): readonly ObjectKey[] =>
    destinations
      .list(workspaceNamespace(metadata.name))
      .filter(({ spec }) => !spec.credentialsSecretRef)
      .map(keyOf);
  const ofFailedAttempt = ({ metadata, spec }: BulkExportRun): readonly ObjectKey[] => {
    const { namespace = '' } = metadata;
    const name = exports.find({ namespace, name: spec.exportName })?.spec.destinationRef.name;
    if (name === undefined) return [];
    reconciler.suspect({ namespace, name });
    return [{ namespace, name }];
  };
  /** One that is being deleted waits for the exports that use it. */
  const ofUser = ({ metadata: { namespace = '' }, spec }: BulkExport): readonly ObjectKey[] => {
    const found = destinations.find({ namespace, name: spec.destinationRef.name });
    return found && isDeleting(found) ? [keyOf(found)] : [];
  };
  const subject = [RESOURCES.BulkExportDestination, destinations] as const;
  return controllerOf('bulk-export-destination', reconciler, subject, [
    fromObjects(destinations, isDesiredChange),
    // which may allow or forbid the credentials of the platform
    fromMapped(parts.workspaces, ofWorkspace, isDesiredChange),
    fromMapped(exports, ofUser),
    fromMapped(parts.runs, ofFailedAttempt, hasFailedAttempt),
  ]);
}

/** Answers whether another attempt of a run has failed. */
function hasFailedAttempt(change: Change<BulkExportRun>): boolean {
  if (change.kind !== 'changed') return false;
  const [before, now] = [change.before, change.object].map(({ status }) => Object.keys(status?.errors ?? {}));
  return (now?.length ?? 0) > (before?.length ?? 0);
}

/** BulkExports: splits each into runs of one UTC day and counts what became of them. */
function exportController(parts: Parts): ControllerSpec {
  const { config, exports } = parts;
  const reconciler = new BulkExportReconciler({ ...parts, limits: exportLimits(config) });
  const ofDestination = ({ metadata }: BulkExportDestination): readonly ObjectKey[] =>
    exports
      .list(metadata.namespace ?? '')
      .filter(({ spec }) => spec.destinationRef.name === metadata.name)
      .map(keyOf);
  const ofWorkspace = ({ metadata }: Workspace): readonly ObjectKey[] =>
    exports
      .list(workspaceNamespace(metadata.name))
      .filter((one) => !isFinished(one))
      .map(keyOf);
  const sources = [
    fromObjects(exports, isDesiredChange),
    fromOwned(parts.runs, RESOURCES.BulkExport, changesExport),
    fromMapped(exports, (one) => nextExport(one, exports), movesQueue),
    fromMapped(parts.destinations, ofDestination, concernsExports),
    // an edit of a workspace may raise its limits
    fromMapped(parts.workspaces, ofWorkspace, isDesiredChange),
    fromMapped(parts.exportJobs, exportsOfJob, hasLeftRuns),
  ];
  return {
    ...controllerOf('bulk-export', reconciler, [RESOURCES.BulkExport, exports], sources),
    // one pass at a time: of two exports that begin at once neither would see the other; runs have their places
    concurrency: 1,
    isUrgent: (text) => {
      const found = exports.find(parseKey(text));
      return found !== undefined && hasBegun(found) && !isFinished(found);
    },
  };
}

/**
 * True when the queue of a workspace may advance: an export has ended, or the first that waited has begun, or
 * waits for something else now. Exports in the queue do not poll.
 */
export function movesQueue(change: Change<BulkExport>): boolean {
  if (change.kind !== 'changed') return change.kind === 'deleted';
  const { before, object } = change;
  return (
    (isFinished(object) && !isFinished(before)) ||
    (hasBegun(object) && !hasBegun(before)) ||
    (isQueued(before) && !isQueued(object))
  );
}

/** The export of the workspace that comes next: the first of those that wait for others to end. */
export function nextExport(
  { metadata: { namespace } }: BulkExport,
  exports: Pick<Reader<BulkExport>, 'list'>,
): readonly ObjectKey[] {
  let first: BulkExport | undefined;
  for (const one of exports.list(namespace))
    if (isQueued(one) && (!first || isOlder(one, first))) first = one;
  return first ? [keyOf(first)] : [];
}

/**
 * True when a change of a destination concerns its exports: a daily test with the same result is no reason to
 * reconcile thousands.
 */
function concernsExports(change: Change<BulkExportDestination>): boolean {
  if (isDesiredChange(change) || change.kind !== 'changed') return true;
  const [before, now] = [change.before.status, change.object.status].map((status) =>
    JSON.stringify([status?.observedGeneration, status?.conditions]),
  );
  return before !== now;
}

/**
 * True when the change of a run may alter what an export decides or reports. The progress of its runs is
 * polled.
 */
function changesExport(change: Change<BulkExportRun>): boolean {
  if (change.kind === 'deleted') return true;
  // the export has counted a new run when it made it
  const before = change.kind === 'changed' ? change.before.status?.conditions : undefined;
  return JSON.stringify(before) !== JSON.stringify(change.object.status?.conditions);
}

/** True when a worker of several runs has ended: the runs that it left may wait for something else now. */
function hasLeftRuns(change: Change<Job>): boolean {
  if (followingRunsOf(change.object).length === 0) return false;
  if (change.kind !== 'changed') return change.kind === 'deleted';
  return isJobFinished(change.object) && !isJobFinished(change.before);
}

/** True when a Job was made, has ended or is being deleted: whether its pod is ready concerns no run. */
export function endsWorker(change: Change<Job>): boolean {
  if (change.kind !== 'changed') return true;
  const { before, object } = change;
  return isJobFinished(before) !== isJobFinished(object) || isDeleting(before) !== isDeleting(object);
}

/** True when a pass over the run may still find work. */
function isLookedAt(run: BulkExportRun | undefined): boolean {
  return run !== undefined && (isDeleting(run) || !isFinished(run));
}

/** BulkExportRuns: one Job an attempt, until the run's file is whole or the run has failed. */
function exportRunController(parts: Parts, uploads: LeftUploads): ControllerSpec {
  const { clock, config, exports, exportJobs, runs } = parts;
  const { systemNamespace, databaseUri } = config;
  const workerJobs = new WorkerJobs(exportJobs);
  const places = new RunPlaces(runs, workerJobs, new WorkspaceLine(clock), clock);
  const shared = { ...parts, workerJobs, places, uploads, limits: exportLimits(config) };
  const reconciler = new BulkExportRunReconciler({
    ...shared,
    workers: new AttemptWorkers({
      ...shared,
      settings: platformSettings(config),
      systemNamespace,
      databaseUri,
      lakeKeys: lakeVariables(config)?.keys ?? {},
      jobs: exportJobs,
    }),
    following: new FollowingRuns({
      ...shared,
      most: config.exportRunsOfWorker,
      createdWithinMs: config.exportRunsWithinMs,
    }),
  });
  readExportLag(runs);
  return controllerOf(
    'bulk-export-run',
    reconciler,
    [RESOURCES.BulkExportRun, runs],
    [
      fromObjects(runs, isDesiredChange),
      fromMapped(exports, (one) => runs.ownedBy(one).filter(isLookedAt).map(keyOf), isOfRuns),
      fromMapped(runs, (run) => nextInLine(run, exports, runs, (one) => workerJobs.isTaken(one)), hasEnded),
      fromMapped(runs, () => places.nextOfPlatform(), hasEnded),
      // the first run clears away what the worker leaves
      fromMapped(
        exportJobs,
        (job) => runsOfJob(job).filter((key, at) => at === 0 || isLookedAt(runs.find(key))),
        endsWorker,
      ),
      // a worker of several runs keeps its place until its process has ended
      fromMapped(exportJobs, () => places.nextOfPlatform(), hasLeftRuns),
    ],
  );
}

/**
 * True when the change of an export matters to its runs. There may be thousands of runs, and labels do not
 * concern them.
 */
function isOfRuns(change: Change<BulkExport>): boolean {
  if (change.kind !== 'changed') return true;
  const [before, now] = [change.before.metadata, change.object.metadata];
  const isAnother =
    before.generation !== now.generation || before.deletionTimestamp !== now.deletionTimestamp;
  return isAnother || hasEnded(change);
}

/** BulkExports that are schedules: makes an export for each of their windows. */
function scheduleController(parts: Parts, ticks: Source): ControllerSpec {
  const { config, exports } = parts;
  const reconciler = new ScheduleReconciler({ ...parts, limits: exportLimits(config) });
  const ofDestination = ({ metadata }: BulkExportDestination): readonly ObjectKey[] =>
    exports
      .list(metadata.namespace ?? '')
      .filter((one) => isSchedule(one) && one.spec.destinationRef.name === metadata.name)
      .map(keyOf);
  return controllerOf(
    'export-schedule',
    reconciler,
    [RESOURCES.BulkExport, exports],
    [
      fromObjects(exports, (change) => isSchedule(change.object) && isDesiredChange(change)),
      fromMapped(exports, (one) => sourceOf(one, exports), hasEnded),
      fromMapped(parts.destinations, ofDestination),
      ticks,
    ],
  );
}

/** The schedule whose place a child that ended gives back. */
function sourceOf(child: BulkExport, exports: Pick<Reader<BulkExport>, 'list'>): readonly ObjectKey[] {
  const id = child.spec.sourceExport?.id;
  if (id === undefined) return [];
  return exports
    .list(child.metadata.namespace)
    .filter((one) => isSchedule(one) && idOf(one) === id)
    .map(keyOf);
}

/** Calls the webhooks of exports that have ended. */
function webhookController(parts: Parts): ControllerSpec {
  const { config, exports } = parts;
  const calls = new WebhookCalls();
  const guard = webhookGuard({
    allowPrivate: config.exportWebhookPrivateAddresses,
    advice: 'set AGENTPLANE_EXPORT_WEBHOOK_PRIVATE_ADDRESSES=true for the platform to allow these',
  });
  const reconciler = new WebhookReconciler({ ...parts, calls, guard });
  const pushedOut = ({ metadata }: BulkExport): readonly ObjectKey[] =>
    beyondOpen(exports.list(metadata.namespace)).map(keyOf);
  return controllerOf(
    'export-webhook',
    reconciler,
    [RESOURCES.BulkExport, exports],
    [
      // counts of runs that end after their export are changes of its status
      fromObjects(exports, ({ kind, object }) => kind === 'deleted' || isOpen(object)),
      fromMapped(exports, pushedOut, hasEnded),
      calls,
    ],
  );
}

/** Moves exports that ended a while ago to Postgres. */
function archiveController(parts: Parts): ControllerSpec {
  const { exports } = parts;
  const history = exportHistory(parts.config);
  const reconciler = new ArchiveReconciler({ ...parts, history });
  const pushedOut = ({ metadata }: BulkExport): readonly ObjectKey[] =>
    beyondHistory(exports.list(metadata.namespace), history.keptExports).map(keyOf);
  const ofWorkspace = ({ metadata }: Workspace): readonly ObjectKey[] =>
    exports.list(workspaceNamespace(metadata.name)).map(keyOf);
  const isOfEnded = ({ metadata: { namespace = '' }, spec }: BulkExportRun): boolean => {
    const found = exports.find({ namespace, name: spec.exportName });
    return found !== undefined && isFinished(found);
  };
  return controllerOf(
    'export-archive',
    reconciler,
    [RESOURCES.BulkExport, exports],
    [
      fromObjects(
        exports,
        (change) => isFinished(change.object) && (change.kind === 'added' || hasEnded(change)),
      ),
      fromMapped(exports, pushedOut, (change) => change.kind === 'changed' && hasEnded(change)),
      // runs of an export that was cancelled end after it
      fromOwned(parts.runs, RESOURCES.BulkExport, (change) => hasEnded(change) && isOfEnded(change.object)),
      // its history may be shorter now
      fromMapped(parts.workspaces, ofWorkspace, isDesiredChange),
    ],
  );
}

/** Deletes the Secrets that destinations had before. */
function formerCredentialsController(parts: Parts): ControllerSpec {
  const { destinations } = parts;
  const subject = [RESOURCES.BulkExportDestination, destinations] as const;
  return controllerOf('former-credentials', new FormerCredentialsReconciler(parts), subject, [
    fromObjects(destinations),
  ]);
}

/** There is one lake. */
const LAKE: readonly ObjectKey[] = [{ name: 'lake' }];

/** Seals days that no longer change, in a Job of their own. */
function sealController(parts: Parts): ControllerSpec {
  const { config, namespaces, sealJobs, traceStore } = parts;
  const reconciler = new SealReconciler({
    ...parts,
    systemNamespace: config.systemNamespace,
    databaseUri: config.databaseUri,
    lake: whyNotSealing(config) === undefined ? traceStore.lake : undefined,
    settings: platformSettings(config),
    lakeKeys: lakeVariables(config)?.keys ?? {},
  });
  return {
    name: 'lake',
    reconcile: () => reconciler.reconcile(),
    sources: [fromMapped(namespaces, () => LAKE), ...(sealJobs ? [fromMapped(sealJobs, () => LAKE)] : [])],
  };
}

/**
 * Controllers of exports, in the order in which they begin to work.
 * @param ticks feeds the schedules that may be due
 */
export function exportControllers(
  parts: Parts,
  uploads: LeftUploads,
  ticks: Source,
): readonly ControllerSpec[] {
  return [
    destinationController(parts),
    exportController(parts),
    exportRunController(parts, uploads),
    scheduleController(parts, ticks),
    webhookController(parts),
    archiveController(parts),
    formerCredentialsController(parts),
    sealController(parts),
  ];
}
