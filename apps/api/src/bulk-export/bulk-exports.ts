import { randomUUID } from 'node:crypto';
import type { Caller } from '#lib/auth';
import { PublicError } from '#lib/errors';
import { isQueued, queuePositions, type RenderedExport, renderExport } from '#lib/export-plan';
import { parseFilter } from '#lib/filter-language';
import type { Draft } from '#lib/kube';
import {
  ANNOTATION,
  type BulkExport,
  type BulkExportDestination,
  type BulkExportRun,
  exportWireStatus,
  idOf,
  isFinishedExport,
  LABEL,
  MANAGED_BY,
} from '#lib/resources';
import { type Clock, instantOf } from '#lib/time';
import type { TraceStore } from '#lib/trace-store';
import type { ResourceHome } from '../kubernetes/resource-home.js';
import type { Workspaces } from '../tenancy/workspaces.js';
import { rememberWords, type SentWords, wordFor } from '../wire/vocabulary.js';
import { changeOf } from './change-export.js';
import { type CheckedExport, checkExportRequest } from './check-export-request.js';
import { makeContinuation } from './continue-export.js';
import { isVendors, requireExportPlan } from './destinations.js';
import {
  type ExportAnswer,
  type ExportEstimateAnswer,
  type ExportRunAnswer,
  inExportWords,
  type LateRunsAnswer,
  renderExportRun,
} from './export-answer.js';
import { coveredWindows, EXPORT_DEFAULTS, exportFigures, renderEstimate } from './export-estimate.js';
import { ExportHistory, type ExportOwner, type FoundExport } from './export-history.js';
import {
  type CreateExportRequest,
  type ExportsQuery,
  type ListedExportsQuery,
  MAX_LISTED,
  type PatchExportRequest,
  type ScheduledRunsQuery,
} from './export-request.js';
import type { ExportWebhooks } from './export-webhooks.js';
import { type FormerExport, lateExportDraft, reportLateRuns } from './late-runs.js';
import type { KeyedExports, RepeatKey } from './repeat-key.js';

const FIELDS = ['status', 'bulk_export_destination_id', 'session_id', 'source_bulk_export_id'] as const;

/** True when an export meets every condition of a list. */
function isListed(answer: RenderedExport, query: ListedExportsQuery): boolean {
  return FIELDS.every((field) => {
    const wanted = query[field];
    return wanted === undefined || answer[field]?.toLowerCase() === wanted.toLowerCase();
  });
}

export interface ExportHomes {
  readonly exports: ResourceHome<BulkExport>;
  readonly runs: ResourceHome<BulkExportRun>;
  readonly destinations: ResourceHome<BulkExportDestination>;
}

/** The newest exports of a project that an estimate reads. */
const EARLIER_EXPORTS = 20;

/** An export of one day takes a few seconds. */
const RETRY_AFTER_SECONDS = 30;

/** Positions for answers that are not shown. */
const NO_POSITIONS: ReadonlyMap<string, number> = new Map();

/** Exports of a workspace: writes the desired state, reads the actual one. */
export class BulkExports {
  readonly #history: ExportHistory;
  /** Refuses to exceed the limit; an export of an earlier request is found whatever the number. */
  readonly #bounded: KeyedExports['home'];

  constructor(
    private readonly homes: ExportHomes,
    private readonly workspaces: Workspaces,
    private readonly store: Pick<
      TraceStore,
      'projects' | 'exportCounts' | 'exportProgress' | 'exportArchive'
    >,
    private readonly webhooks: ExportWebhooks,
    private readonly clock: Pick<Clock, 'now'>,
    private readonly maxUnfinished: number,
  ) {
    const { exports } = homes;
    this.#bounded = {
      findByName: (namespace, name) => exports.findByName(namespace, name),
      change: (key, change) => exports.change(key, change),
      create: async (draft) => {
        this.#requireRoom(draft);
        return await exports.create(draft);
      },
    };
    this.#history = new ExportHistory(homes.exports, homes.runs, store.exportArchive);
  }

  /**
   * @param repeatKey of the caller: a repeated request is answered with the export of the first
   * @throws PublicError conflict when another body was sent with the key; too_many
   */
  async create(
    caller: Caller,
    request: CreateExportRequest,
    sent: SentWords,
    repeatKey?: RepeatKey,
  ): Promise<ExportAnswer> {
    const { namespace, spec, isVendors } = await this.#check(caller, request);
    const words = isVendors ? { ...sent, destination_type: 's3' } : sent;
    const id = randomUUID();
    const plain = {
      metadata: {
        name: `export-${id.slice(0, 13)}`,
        namespace,
        annotations: { [ANNOTATION.id]: id, ...rememberWords(words, true) },
        labels: { [LABEL.managedBy]: MANAGED_BY },
      },
      spec,
    };
    const { draft, body, sign } = this.webhooks.prepare(plain, request.webhook ?? undefined);
    if (repeatKey) {
      const found = await repeatKey.createOnce(this.#keyed(this.#owner(caller)), draft, body);
      // also of an export whose first request ended before its Secret was made
      if (!found.archived) await sign(found.bulkExport);
      return this.#render(caller, found);
    }
    const bulkExport = await this.#bounded.create(draft);
    try {
      await sign(bulkExport);
    } catch (error) {
      await this.homes.exports.delete(bulkExport);
      throw error;
    }
    return this.#render(caller, { bulkExport });
  }

  /** Estimate of the export of a request. Nothing is made. @throws PublicError as `create` does */
  async estimate(caller: Caller, request: CreateExportRequest): Promise<ExportEstimateAnswer> {
    const { spec: asked, sessionId } = await this.#check(caller, request);
    const spec = { ...EXPORT_DEFAULTS, ...asked };
    const now = this.clock.now();
    const covered = coveredWindows(spec, instantOf(now));
    const { start, end } = covered.window;
    const counted = await this.store.exportCounts.count({
      tenantId: caller.tenantId,
      projectId: sessionId,
      startTime: start,
      endTime: end,
      ...(spec.filter === undefined ? {} : { filter: parseFilter(spec.filter) }),
    });
    const query = { status: 'COMPLETED' as const, session_id: sessionId };
    const earlier = await this.#history.list(this.#owner(caller), {
      offset: 0,
      limit: EARLIER_EXPORTS,
      status: query.status,
      projectId: sessionId,
      isListed: (bulkExport) => isListed(this.#rendered(caller, { bulkExport }, NO_POSITIONS), query),
    });
    const figures = exportFigures(
      spec,
      earlier.map(({ bulkExport }) => bulkExport),
    );
    return renderEstimate(covered, counted, figures, now);
  }

  async list(caller: Caller, query: ListedExportsQuery): Promise<readonly ExportAnswer[]> {
    const { offset = 0, limit = MAX_LISTED, status } = query;
    const page = await this.#history.list(this.#owner(caller), {
      offset,
      limit,
      status,
      isListed: (bulkExport) => isListed(this.#rendered(caller, { bulkExport }, NO_POSITIONS), query),
      after: query.after === undefined ? undefined : await this.#export(caller, query.after.toLowerCase()),
      destinationId: query.bulk_export_destination_id,
      projectId: query.session_id,
      sourceId: query.source_bulk_export_id,
    });
    const positions = this.#queuePositions(caller);
    return page.map((one) => this.#render(caller, one, positions));
  }

  async get(caller: Caller, id: string): Promise<ExportAnswer> {
    return this.#render(caller, await this.#export(caller, id));
  }

  /** @param isEmpty true for a body without any member, known or not */
  async change(
    caller: Caller,
    id: string,
    request: PatchExportRequest,
    isEmpty: boolean,
  ): Promise<ExportAnswer> {
    const found = await this.#export(caller, id);
    const { bulkExport } = found;
    const manner = {
      isVendors: this.#isVendors(bulkExport),
      isEmpty: isEmpty && Object.values(request).every((value) => value === undefined),
    };
    const change = changeOf(bulkExport, { ...request, ...manner }, this.homes.destinations);
    const { name, namespace = '' } = bulkExport.metadata;
    const changed = change
      ? await this.homes.exports.change({ namespace, name }, (current) => ({
          ...current,
          spec: { ...current.spec, ...change },
        }))
      : bulkExport;
    if (!found.archived && changed.spec.cancel) await this.#shutOut(changed);
    return this.#render(caller, change ? { bulkExport: changed } : found);
  }

  /**
   * Rejects further attempts, before a cancellation is answered. The exports of a schedule are not cancelled
   * with it.
   */
  async #shutOut({ metadata: { uid = '' }, spec }: BulkExport): Promise<void> {
    if (spec.intervalHours === undefined) await this.store.exportProgress.cancelExport(uid);
  }

  /**
   * Makes an export that continues from the point at which a failed or timed out one stopped.
   * @param repeatKey as of `create`
   * @throws PublicError bad_request or conflict, in the words that the controller has for the same
   */
  async continue(caller: Caller, id: string, repeatKey?: RepeatKey): Promise<ExportAnswer> {
    requireExportPlan(this.workspaces.homeOf(caller.tenantId));
    const owner = this.#owner(caller);
    const found = await this.#export(caller, id);
    const { metadata, spec } = found.bulkExport;
    const continued = {
      namespace: owner.namespace,
      predecessor: found.bulkExport,
      runs: await this.#history.runsOf(owner, found),
      destination: this.homes.destinations.findByName(metadata.namespace ?? '', spec.destinationRef.name),
      keepsWebhook: await this.webhooks.canSign(found.bulkExport),
      others: await this.#history.continuationsOf(owner, idOf(found.bulkExport) ?? ''),
    };
    const made = await makeContinuation(this.#bounded, continued, repeatKey?.mark);
    // one that an earlier request made may be archived meanwhile
    const isNew = !continued.others.includes(made);
    return isNew ? this.#render(caller, { bulkExport: made }) : await this.get(caller, idOf(made) ?? '');
  }

  /** Number of runs that came or changed after a completed export had read their day. */
  async reportLate(caller: Caller, id: string): Promise<LateRunsAnswer> {
    const owner = this.#owner(caller);
    return reportLateRuns(
      this.store,
      owner.tenantId,
      await this.#former(owner, await this.#export(caller, id)),
    );
  }

  /**
   * Makes an export of just those runs.
   * @param repeatKey as of `create`
   */
  async exportLate(caller: Caller, id: string, repeatKey?: RepeatKey): Promise<ExportAnswer> {
    requireExportPlan(this.workspaces.homeOf(caller.tenantId));
    const owner = this.#owner(caller);
    const former = await this.#former(owner, await this.#export(caller, id));
    const keepsWebhook = await this.webhooks.canSign(former.bulkExport);
    const draft = await lateExportDraft(this.store, owner.namespace, former, keepsWebhook);
    if (!repeatKey) return this.#render(caller, { bulkExport: await this.#bounded.create(draft) });
    return this.#render(caller, await repeatKey.createOnce(this.#keyed(owner), draft, draft.spec));
  }

  /** Runs by time of their window, oldest first. */
  async listRuns(caller: Caller, id: string, query: ExportsQuery): Promise<readonly ExportRunAnswer[]> {
    const found = await this.#export(caller, id);
    const runs = await this.#history.runsOf(this.#owner(caller), found, query);
    return this.#renderRuns(caller, found.bulkExport, runs);
  }

  /** Runs of all exports that a schedule has made, oldest export first. */
  async listScheduledRuns(
    caller: Caller,
    { source_bulk_export_id: sourceId, offset = 0, limit = MAX_LISTED }: ScheduledRunsQuery,
  ): Promise<readonly ExportRunAnswer[]> {
    const owner = this.#owner(caller);
    const isListed = ({ spec }: BulkExport): boolean =>
      spec.sourceExport?.id.toLowerCase() === sourceId.toLowerCase();
    const found: ExportRunAnswer[] = [];
    for await (const one of this.#history.oldestFirst(owner, { sourceId, isListed }, MAX_LISTED)) {
      if (found.length >= offset + limit) break;
      const runs = await this.#history.runsOf(owner, one);
      found.push(...(await this.#renderRuns(caller, one.bulkExport, runs)));
    }
    return found.slice(offset, offset + limit);
  }

  async getRun(caller: Caller, id: string, runId: string): Promise<ExportRunAnswer> {
    const found = await this.#export(caller, id);
    const [run] = await this.#history.runsOf(this.#owner(caller), found, { id: runId });
    const [rendered] = run ? await this.#renderRuns(caller, found.bulkExport, [run]) : [];
    if (!rendered) throw new PublicError('not_found', `Export run with ID ${runId} not found`);
    return rendered;
  }

  #check(caller: Caller, request: CreateExportRequest): Promise<CheckedExport> {
    const { destinations } = this.homes;
    const { projects } = this.store;
    const { workspaces, webhooks, clock } = this;
    const world = { destinations, projects, workspaces, webhooks, now: clock.now() };
    return checkExportRequest(caller, request, world);
  }

  /** Places in which to look for the export of an `Idempotency-Key`. */
  #keyed(owner: ExportOwner): KeyedExports {
    const archived = (name: string): Promise<FoundExport | undefined> =>
      this.#history.findArchived(owner, name);
    return { home: this.#bounded, archived };
  }

  async #former(owner: ExportOwner, found: FoundExport): Promise<FormerExport> {
    return { bulkExport: found.bulkExport, runs: await this.#history.runsOf(owner, found) };
  }

  #owner({ tenantId }: Caller): ExportOwner {
    return { tenantId: tenantId.toLowerCase(), namespace: this.workspaces.homeOf(tenantId).namespace };
  }

  /** @throws PublicError not_found, the same for missing and foreign ones */
  async #export(caller: Caller, id: string): Promise<FoundExport> {
    const found = await this.#history.find(this.#owner(caller), id);
    if (!found) throw new PublicError('not_found', `Bulk export with ID ${id} not found`);
    return found;
  }

  async #renderRuns(
    { tenantId }: Caller,
    bulkExport: BulkExport,
    runs: readonly BulkExportRun[],
  ): Promise<readonly ExportRunAnswer[]> {
    const uids = runs.map((run) => run.metadata.uid ?? '');
    const [progress, keys] = await Promise.all([
      this.store.exportProgress.list(uids, tenantId),
      this.store.exportProgress.keys(uids, tenantId),
    ]);
    return runs.map((run) => {
      const uid = run.metadata.uid ?? '';
      return renderExportRun(run, idOf(bulkExport) ?? '', progress.get(uid), keys.get(uid) ?? [], {
        sessionId: bulkExport.status?.tracingProjectId ?? bulkExport.spec.tracingProject.id ?? null,
        isVendors: this.#isVendors(bulkExport),
      });
    });
  }

  /** @throws PublicError too_many */
  #requireRoom({ metadata: { namespace = '' }, spec }: Pick<Draft<BulkExport>, 'metadata' | 'spec'>): void {
    if (spec.intervalHours !== undefined) return;
    const unfinished = this.homes.exports.filter(
      namespace,
      (one) => one.spec.intervalHours === undefined && !isFinishedExport(exportWireStatus(one)),
    );
    if (unfinished.length < this.maxUnfinished) return;
    throw new PublicError(
      'too_many',
      `making the export failed: ${unfinished.length} exports of this workspace have not ended, the most it may have is ${this.maxUnfinished}; wait until some have ended, or cancel them`,
      [],
      { retryAfterSeconds: RETRY_AFTER_SECONDS },
    );
  }

  #queuePositions({ tenantId }: Caller): ReadonlyMap<string, number> {
    return queuePositions(this.homes.exports.list(this.workspaces.homeOf(tenantId).namespace));
  }

  /**
   * True when the destination was created in the words of LangSmith. Exports remember it; those that a schedule makes look at
   * their destination.
   */
  #isVendors(bulkExport: BulkExport): boolean {
    const { spec, metadata } = bulkExport;
    if (wordFor(bulkExport, 'destination_type', 'object_store') === 's3') return true;
    const destination = this.homes.destinations.findByName(
      metadata.namespace ?? '',
      spec.destinationRef.name,
    );
    return destination !== undefined && isVendors(destination);
  }

  /** The answer in the words of the export. @param positions of the workspace, where many exports are rendered */
  #render(caller: Caller, found: FoundExport, positions?: ReadonlyMap<string, number>): ExportAnswer {
    const rendered = this.#rendered(caller, found, positions);
    return inExportWords(found.bulkExport, rendered, this.#isVendors(found.bulkExport));
  }

  #rendered(
    caller: Caller,
    { bulkExport, archived }: FoundExport,
    positions?: ReadonlyMap<string, number>,
  ): RenderedExport {
    const { name, namespace = '' } = bulkExport.metadata;
    const queue = !archived && isQueued(bulkExport) ? (positions ?? this.#queuePositions(caller)) : undefined;
    const destination = this.homes.destinations.findByName(namespace, bulkExport.spec.destinationRef.name);
    return renderExport(bulkExport, {
      tenantId: caller.tenantId,
      destinationId: (archived ? archived.destinationId : destination && idOf(destination)) ?? null,
      now: this.clock.now(),
      queuePosition: queue?.get(name),
    });
  }
}
