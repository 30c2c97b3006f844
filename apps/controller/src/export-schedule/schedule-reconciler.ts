import { TerminalError, WaitingError } from '#lib/errors';
import type { ExportLimits, Window } from '#lib/export-plan';
import {
  type EventRecorder,
  isAlreadyExists,
  type KubeClient,
  type Reader,
  type Source,
  StatusWriter,
} from '#lib/kube';
import { Tick } from '#lib/nest';
import { after, done, isStatusCurrent, type Result, wait } from '#lib/reconcile';
import {
  API_VERSION,
  type BulkExport,
  type BulkExportSpec,
  idOf,
  isDeleting,
  keyOf,
  LABEL,
  MANAGED_BY,
  type ObjectKey,
  REASON,
  RESOURCES,
  type Workspace,
} from '#lib/resources';
import { formatInstant } from '#lib/time';
import type { Project, TraceStore } from '#lib/trace-store';
import { archivedId } from '../bulk-export/build-run.js';
import { isFinished, isSchedule } from '../bulk-export/export-phase.js';
import { limitsOf } from '../bulk-export/workspace-limits.js';
import { type Caches, exportsOfSchedule, workspaceOf } from '../caches.js';
import type { DatabaseTime } from '../database-time.js';
import { ensureId } from '../identity/decide-id.js';
import {
  decideSchedule,
  isRunRequested,
  type ScheduleDecision,
  type ScheduleWorld,
} from './decide-schedule.js';
import { SCHEDULE_FIELDS, summarizeSchedule } from './schedule-status.js';

const EVERY_TEN_SECONDS = '*/10 * * * * *';

/**
 * Has every live schedule looked at, again and again. Which window is due follows from the database's time: a clock that
 * was set, or a machine that slept, is noticed at the next tick, whatever a timer was told before.
 */
export class ScheduleTicks implements Source {
  #enqueue: (key: ObjectKey) => void = () => {};

  constructor(private readonly exports: Pick<Reader<BulkExport>, 'list'>) {}

  feed(enqueue: (key: ObjectKey) => void): () => void {
    this.#enqueue = enqueue;
    return () => {
      this.#enqueue = () => {};
    };
  }

  @Tick('export schedules', EVERY_TEN_SECONDS)
  async look(): Promise<void> {
    for (const one of this.exports.list())
      if (isSchedule(one) && !isFinished(one) && !isDeleting(one)) this.#enqueue(keyOf(one));
  }
}

/** An export's name is at most 54 characters long: those of its runs follow from it. */
const MAX_STEM = 36;
const ID_DIGITS = 6;
const REQUEST_DIGITS = 7;

/**
 * The name of the export of a window: the same whenever it is asked for, so that a controller that dies after it made the
 * export, or before it noted that, makes no second one. The digits of the schedule's id keep those of a former schedule
 * of the same name apart. Windows of one schedule begin in different hours.
 */
export function childName(schedule: BulkExport, { start }: Window, requestId?: string): string {
  const digits = (id: string, many: number) => id.replaceAll('-', '').slice(0, many).toLowerCase();
  const hour = formatInstant(start).slice(0, 13).replaceAll(/[-T]/g, '');
  const last = requestId === undefined ? hour : `now${digits(requestId, REQUEST_DIGITS)}`;
  return `${schedule.metadata.name.slice(0, MAX_STEM)}-${digits(idOf(schedule) ?? '', ID_DIGITS)}-${last}`;
}

/**
 * The export of one window. It carries everything that says what is exported and where to. Its schedule is linked and
 * does not own it: deleting or cancelling the schedule leaves it.
 */
export function buildChild(
  schedule: BulkExport,
  window: Window,
  projectId: string,
  requestId?: string,
): Omit<BulkExport, 'status'> {
  const { namespace, name } = schedule.metadata;
  const { intervalHours: _interval, runRequest: _request, ...carried } = schedule.spec;
  const spec: BulkExportSpec = {
    ...carried,
    tracingProject: { id: projectId },
    startTime: formatInstant(window.start, 'if-any'),
    endTime: formatInstant(window.end, 'if-any'),
    cancel: false,
    suspend: false,
    sourceExport: {
      id: idOf(schedule) ?? '',
      ...(requestId === undefined ? {} : { runRequestId: requestId }),
    },
  };
  return {
    apiVersion: API_VERSION,
    kind: 'BulkExport',
    metadata: {
      name: childName(schedule, window, requestId),
      ...(namespace === undefined ? {} : { namespace }),
      labels: { [LABEL.sourceExport]: name, [LABEL.managedBy]: MANAGED_BY },
    },
    spec,
  };
}

export interface ScheduleDependencies extends Pick<Caches, 'workspaces' | 'destinations' | 'exports'> {
  readonly client: KubeClient;
  readonly events: EventRecorder;
  readonly limits: ExportLimits;
  readonly traceStore: Pick<TraceStore, 'projects' | 'exportArchive'>;
  readonly time: Pick<DatabaseTime, 'now'>;
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
  readonly #status: StatusWriter;

  constructor(private readonly deps: ScheduleDependencies) {
    this.#status = new StatusWriter(deps.client, { fieldManager: 'agentplane-controller-schedule' });
  }

  async reconcile(key: ObjectKey): Promise<Result> {
    const found = this.deps.exports.find(key);
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
    const { client, destinations, exports, limits, time, traceStore, workspaces } = this.deps;
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
    const { projects } = this.deps.traceStore;
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
    await this.deps.exports.seen(written);
    if (decision.kind === 'fail' || decision.kind === 'wait')
      this.deps.events.record(RESOURCES.BulkExport, schedule, {
        type: 'Warning',
        reason: decision.reason,
        message: decision.message,
      });
  }

  async #spawn(
    schedule: BulkExport,
    { window, projectId, requestId }: ScheduleDecision & { kind: 'spawn' },
  ): Promise<void> {
    const { client, exports } = this.deps;
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
    const { client, exports } = this.deps;
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
