import { type ExportLimits } from '#lib/export-plan';
import { type EventRecorder, type Informer, isAlreadyExists, type KubeClient, StatusWriter } from '#lib/kube';
import { TerminalError, WaitingError } from '#lib/errors';
import { after, done, isStatusCurrent, type Result, wait } from '#lib/reconcile';
import {
  type BulkExport,
  type BulkExportDestination,
  idOf,
  isDeleting,
  keyOf,
  type ObjectKey,
  REASON,
  RESOURCES,
  type Workspace,
} from '#lib/resources';
import type { Project, TraceStore } from '#lib/trace-store';
import { limitsOf } from '../bulk-export/workspace-limits.js';
import { isSchedule } from '../bulk-export/export-phase.js';
import { exportsOfSchedule, workspaceOf } from '../caches.js';
import type { DatabaseTime } from '../database-time.js';
import { archivedId } from '../bulk-export/archived-id.js';
import { ensureId } from '../identity/ensure-id.js';
import { buildChild } from './build-child.js';
import { decideSchedule, isRunRequested, type ScheduleDecision } from './decide-schedule.js';
import { SCHEDULE_FIELDS, summarizeSchedule } from './schedule-status.js';
import type { ScheduleWorld } from './world.js';

export interface ScheduleDependencies {
  readonly client: KubeClient;
  readonly events: EventRecorder;
  readonly limits: ExportLimits;
  readonly traceStore: Pick<TraceStore, 'projects' | 'exportArchive'>;
  readonly time: Pick<DatabaseTime, 'now'>;
  readonly workspaces: Informer<Workspace>;
  readonly destinations: Informer<BulkExportDestination>;
  readonly exports: Informer<BulkExport>;
}

const FORMER_LOOK_MS = 1_000;
/** A cache that has not seen our last report yet. */
const BEHIND_MS = 500;

/**
 * Makes the exports of a schedule, one in a pass, the earliest window first. The name of an export follows from its
 * window, and where the next window begins from the exports that were made: a controller that dies between any two steps
 * makes the same export again.
 */
export class ScheduleReconciler {
  readonly #deps: ScheduleDependencies;
  readonly #status: StatusWriter;

  constructor(deps: ScheduleDependencies) {
    this.#deps = deps;
    this.#status = new StatusWriter(deps.client, { fieldManager: 'agentplane-controller-schedule' });
  }

  async reconcile(key: ObjectKey): Promise<Result> {
    const found = this.#deps.exports.find(key);
    if (!found || isDeleting(found) || !isSchedule(found)) return done();
    if (this.#status.isBehind(found)) return wait(REASON.pending, BEHIND_MS);
    const world = await this.#observe(found);
    const decision = decideSchedule(world);
    await this.#report(world, decision);
    switch (decision.kind) {
      case 'spawn':
        await this.#spawn(world.schedule, decision);
        return after(0);
      case 'rest':
        return after(decision.ms);
      case 'wait':
        return wait(decision.reason, decision.ms);
      case 'cancel':
      case 'fail':
      case 'finished':
        return done();
      default:
        return decision satisfies never;
    }
  }

  async #observe(found: BulkExport): Promise<ScheduleWorld> {
    const { client, destinations, exports, limits, time, traceStore, workspaces } = this.#deps;
    const { namespace = '' } = found.metadata;
    const workspace = workspaceOf(workspaces, namespace);
    const isTaken = archivedId(traceStore.exportArchive, workspace, found);
    const schedule = await ensureId(client, RESOURCES.BulkExport, found, exports, isTaken);
    const id = idOf(schedule);
    const children = exportsOfSchedule(exports, namespace, id);
    const now = await time.now();
    const isDue = isExportDue({ schedule, now });
    return {
      schedule,
      workspace,
      destination: destinations.find({ namespace, name: schedule.spec.destinationRef.name }),
      project: await this.#findProject({ schedule, children, now }, workspace),
      children,
      // the archive is asked too: the status may be lost or restored from an old copy, and exports may be
      // archived
      archivedUntil:
        isDue && workspace && id !== undefined
          ? await traceStore.exportArchive.lastWindowEnd(workspace.spec.tenantId.toLowerCase(), id)
          : undefined,
      now,
      maxUnfinished: limitsOf(limits, workspace).concurrentExportsPerWorkspace,
    };
  }

  /** The database is asked only where something may be made of the answer: there is a tick every few seconds. */
  async #findProject(
    { schedule, children, now }: Pick<ScheduleWorld, 'schedule' | 'children' | 'now'>,
    workspace: Workspace | undefined,
  ): Promise<Pick<Project, 'id' | 'name'> | undefined> {
    if (!workspace) return undefined;
    const { tracingProjectId: known, tracingProjectName: name = '' } = schedule.status ?? {};
    const isDue = isExportDue({ schedule, now });
    if (known !== undefined && !isDue && isStatusCurrent(schedule) && !isRunRequested({ schedule, children }))
      return { id: known, name };
    const wanted = schedule.spec.tracingProject;
    const { projects } = this.#deps.traceStore;
    const id = known ?? wanted.id;
    if (id !== undefined) return await projects.find(workspace.spec.tenantId, { id });
    return wanted.name === undefined
      ? undefined
      : await projects.find(workspace.spec.tenantId, { name: wanted.name });
  }

  async #report(world: ScheduleWorld, decision: ScheduleDecision): Promise<void> {
    const { schedule } = world;
    const status = summarizeSchedule(world, decision);
    const written = await this.#status.apply(RESOURCES.BulkExport, schedule, status, SCHEDULE_FIELDS);
    if (written === schedule) return;
    await this.#deps.exports.seen(written);
    if (decision.kind === 'fail' || decision.kind === 'wait')
      this.#deps.events.record(RESOURCES.BulkExport, schedule, {
        type: 'Warning',
        reason: decision.reason,
        message: decision.message,
      });
  }

  async #spawn(
    schedule: BulkExport,
    { window, projectId, requestId }: ScheduleDecision & { kind: 'spawn' },
  ): Promise<void> {
    const { client, exports } = this.#deps;
    const child = buildChild(schedule, window, projectId, requestId);
    try {
      await exports.seen(await client.create(RESOURCES.BulkExport, child));
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      await this.#recognize(child);
    }
  }

  /** An earlier pass made it, and the cache has not seen it yet; or the name is another's, and the window has to wait. */
  async #recognize(child: Pick<BulkExport, 'metadata' | 'spec'>): Promise<void> {
    const { client, exports } = this.#deps;
    const key = keyOf(child);
    const existing = await client.find(RESOURCES.BulkExport, key);
    if (!existing) return;
    const { sourceExport, startTime } = existing.spec;
    const isOurs =
      sourceExport?.id === child.spec.sourceExport?.id &&
      (startTime === child.spec.startTime || sourceExport?.runRequestId !== undefined);
    if (isOurs) return await exports.seen(existing);
    const message = `BulkExport ${key.name} exists and was not made by this schedule`;
    if (isDeleting(existing)) throw new WaitingError(REASON.deleting, message, FORMER_LOOK_MS);
    throw new TerminalError(REASON.notOurs, `${message}; delete it`);
  }
}

/** True when, as far as the status knows, a window has ended. */
function isExportDue({ schedule: { status }, now }: Pick<ScheduleWorld, 'schedule' | 'now'>): boolean {
  return status?.nextSpawn === undefined || Date.parse(status.nextSpawn) <= now.getTime();
}
