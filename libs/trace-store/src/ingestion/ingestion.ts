import { copyIn, inTransaction, postgresTrouble, sqlState, type Connection, type Pool } from '#lib/postgres';
import { type Logger, metrics } from '#lib/telemetry';
import { databaseNow } from './database-now.js';
import { lookUpArriving } from './arriving-runs.js';
import type { DayPartitions } from './day-partitions.js';
import {
  storedElsewhere,
  tooDeep,
  tooFarAhead,
  tooManyProjects,
  tooManyWaiting,
  unknownProject,
} from './ingest-problems.js';
import { Family, parentKey } from './family.js';
import { EarlyUpdates } from './early-updates.js';
import { LeftRunsError } from './left-runs-error.js';
import { lookUpMet } from './met-runs.js';
import { MAX_PROBLEMS, parseBatch } from './parse-batch.js';
import { RunChanger, type Sender } from './run-changer.js';
import type { NewFeedback } from '../feedback/feedback.js';
import { IngestReport, type Subject } from '../problem/ingest-report.js';
import { RunPlacer } from '../placement/run-placer.js';
import { addUnplaced } from '../placement/unplaced-runs.js';
import { storeFeedback } from '../feedback/store-feedback.js';
import type { PayloadStore } from '../run/payload-store.js';
import { DEFAULT_PROJECT, type ProjectDirectory } from '../project/project-directory.js';
import { TooManyProjectsError } from '../project/too-many-projects-error.js';
import { MAX_KNOWN_ANCESTORS } from '../wire/dotted-order.js';
import type { RunBatch } from '../wire/run-operation.js';
import {
  buildRun,
  firstOf,
  groupByRun,
  opensRun,
  startOf,
  type ParsedOperation,
  type RunGroup,
} from './run-group.js';
import { claimPlaces, findPlaces, runKey, type WantedRun } from '../run/run-keys.js';
import type { ProjectTiers } from '../retention/project-tiers.js';
import type { RunPricing } from '../price/run-pricing.js';
import type { RunRemover } from '../run/remove-runs.js';
import { newRunRows, type ParentRow, selectParents } from '../run/run-table.js';
import type { RunPlace } from '../run/run-place.js';
import { newPairRows } from '../run/run-pairs.js';
import { metadataPairs } from './metadata-pairs.js';
import type { IngestResult } from './ingest-result.js';
import { OwnProject } from './own-project.js';
import { newSumsRows } from '../statistics/run-statistics-table.js';
import {
  addWaiting,
  findWaiting,
  type Portion,
  portionsByWaiting,
  removeWaiting,
  erasureLock,
  type WaitingRoom,
} from './waiting-patches.js';
import { patchesWithoutErased } from './without-erased.js';

/** A row found no partition: its day was dropped since it was looked up. */
const NO_PARTITION = '23514';
const ATTEMPTS = 4;
/** A dotted order is also held as a list of ids, and read from the text of the parent's. */
const HELD_PER_ORDER = 16;

/** A group with the place it asks for. */
interface Opening {
  readonly group: RunGroup;
  readonly place: RunPlace;
  readonly parentOrder: string | undefined;
  /** Whether the way to its root is known. */
  readonly isPlaced: boolean;
}

interface OpenedGroups {
  readonly found: readonly Opening[];
  readonly lost: readonly RunGroup[];
  readonly projectless: ReadonlyMap<RunGroup, TooManyProjectsError>;
  /** Too far below in their traces to be put there by their parents' ids. */
  readonly deep: readonly RunGroup[];
}

interface WrittenBatch {
  /** Groups whose creates name another project than that of the stored run. */
  readonly elsewhere: readonly (readonly [RunGroup, RunPlace])[];
  /** Operations for which there was no room to wait. */
  readonly late: readonly ParsedOperation[];
  /** How many operations belong to deleted traces. */
  readonly erased: number;
  readonly made: readonly RunPlace[];
  /** Runs that were made, and runs that updates wait for now. */
  readonly meeting: readonly string[];
}

export interface IngestionOptions {
  readonly log: Logger;
  readonly waiting: WaitingRoom;
  readonly remover: Pick<RunRemover, 'removeAt'>;
  readonly tiers: ProjectTiers;
  readonly pricing: RunPricing;
}

/**
 * Stores batches of creates and updates.
 *
 * A batch is one transaction: win places in `run_keys` (which serialises everybody who knows the same run), copy new
 * runs in, lock and change those that were there, let updates of unknown runs wait. After its commit, updates that wait
 * for runs that are stored now are merged; see `RunChanger`.
 */
export class Ingestion {
  readonly #changer: RunChanger;
  readonly #placer: RunPlacer;

  constructor(
    private readonly pool: Pool,
    private readonly partitions: DayPartitions,
    private readonly projects: ProjectDirectory,
    private readonly payloads: PayloadStore,
    private readonly options: IngestionOptions,
  ) {
    this.#changer = new RunChanger(payloads, options.pricing);
    this.#placer = new RunPlacer(pool);
  }

  /** @param onlyProject name of the one project that the sender may write into */
  async ingest(tenantId: string, batch: RunBatch, onlyProject?: string): Promise<IngestResult> {
    const report = new IngestReport();
    const book = await this.options.pricing.book(this.pool, tenantId);
    const { operations, refused } = await parseBatch(batch, report, book.members);
    const groups = groupByRun(operations);
    const written = await this.#retry(async () => {
      const sender = { tenantId, own: await this.#ownProject(tenantId, onlyProject, groups) };
      const opens = (group: RunGroup): boolean => opensRun(group, sender.own !== undefined);
      const opening = await this.#open(sender, groups.filter(opens));
      const hasDay = await this.partitions.ensure(opening.found.map(({ place }) => place.startTime));
      const placed = opening.found.filter(({ place }) => hasDay(place.startTime));
      const dayless = opening.found.filter(({ place }) => !hasDay(place.startTime)).map(({ group }) => group);
      const changing = groups.filter((group) => !opens(group));
      const outcome = await inTransaction(
        this.pool,
        async (client) => {
          const batchOfRuns = await this.#write(client, sender, placed, changing);
          return { ...batchOfRuns, feedback: await storeFeedback(client, sender, batch.feedback ?? []) };
        },
        `BEGIN; SELECT pg_advisory_xact_lock_shared(${erasureLock(tenantId)})`,
      );
      return { ...opening, dayless, ...outcome };
    });
    const meeting = [...written.meeting, ...written.feedback.awaited];
    const met = await lookUpMet(this.pool, tenantId, meeting, written.made);
    await this.#changer.settle(this.pool, tenantId, met);
    await this.#placer.settle(tenantId, met.parents);
    const { lost, projectless, deep, dayless, late, elsewhere, erased, feedback } = written;
    const ofGroups = [
      ...lost.map((group) => ({ group, problems: unknownProject(group) })),
      ...[...projectless].map(([group, error]) => ({ group, problems: tooManyProjects(group, error) })),
      ...deep.map((group) => ({ group, problems: tooDeep(group) })),
      ...dayless.map((group) => ({ group, problems: tooFarAhead(group, this.partitions.maxMonthsAhead) })),
      ...elsewhere.map(([group, place]) => ({ group, problems: storedElsewhere(group, place) })),
    ];
    for (const { group, problems } of ofGroups)
      report.refuse({ id: group.id, project: firstOf(group, 'project') }, problems);
    for (const parsed of late) report.refuse(parsed.change, [tooManyWaiting(parsed)]);
    for (const one of feedback.refused) report.refuse(subjectOf(one.feedback), [one.problem]);
    const problems = [
      ...refused,
      ...ofGroups.flatMap((one) => one.problems),
      ...late.map(tooManyWaiting),
      ...feedback.refused.map(({ problem }) => problem),
    ];
    const offered = batch.post.length + batch.patch.length;
    metrics.ingestRefused.add(offered - operations.length + operationsOf(deep), { reason: 'invalid' });
    metrics.ingestRefused.add(operationsOf(lost), { reason: 'unknown_project' });
    metrics.ingestRefused.add(operationsOf([...projectless.keys()]), { reason: 'too_many_projects' });
    metrics.ingestRefused.add(operationsOf(dayless), { reason: 'outside_days' });
    metrics.ingestRefused.add(late.length, { reason: 'waiting_room_full' });
    const ofOthers = elsewhere.map(([group]) => group);
    metrics.ingestRefused.add(operationsOf(ofOthers), { reason: 'other_project' });
    metrics.ingestRefused.add(erased, { reason: 'erased' });
    const unplaced = operationsOf([...lost, ...projectless.keys(), ...deep, ...dayless, ...ofOthers]);
    return {
      accepted: operations.length - unplaced - late.length - erased,
      erased: erased + feedback.erased.length,
      refused: problems.slice(0, MAX_PROBLEMS),
      mended: report.mended,
      events: report.events,
    };
  }

  /** @throws PublicError forbidden when a run names another project */
  async #ownProject(
    tenantId: string,
    name: string | undefined,
    groups: readonly RunGroup[],
  ): Promise<OwnProject | undefined> {
    if (name === undefined) return undefined;
    const reference = { kind: 'name', name } as const;
    const find = async (): Promise<OwnProject> => {
      const id = await this.projects.resolve(tenantId, reference);
      // never undefined: without a project of its own the sender would be as one that may write into any
      if (id === undefined) throw new ProjectVanished();
      return new OwnProject(id, name);
    };
    const known = await find();
    if (known.isNamedBy(groups)) return known;
    // another process may have made the project again, with another id than the one remembered here
    this.projects.doubt(tenantId, reference);
    const own = await find();
    own.checkNames(groups);
    return own;
  }

  async #retry<T>(work: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work();
      } catch (error) {
        const code = sqlState(error);
        const isWorthIt =
          error instanceof ProjectVanished ||
          error instanceof LeftRunsError ||
          code === NO_PARTITION ||
          postgresTrouble(error) === 'conflict';
        if (!isWorthIt || attempt === ATTEMPTS) throw error;
        this.options.log.warn({ attempt, code }, 'ingestion of a batch conflicted; retrying');
        this.partitions.forget();
        this.projects.forget();
        // what arrives is then as if they had gone before
        if (error instanceof LeftRunsError) await this.options.remover.removeAt(error.runs);
      }
    }
  }

  /**
   * Finds project and trace of each run to be made. Lost are those whose project id does not exist, projectless those
   * whose project would be one too many, deep those of which their parents' ids say too little.
   */
  async #open({ tenantId, own }: Sender, groups: readonly RunGroup[]): Promise<OpenedGroups> {
    const isTimeless = groups.some((group) => firstOf(group, 'startTime') === undefined);
    const now = isTimeless ? await databaseNow(this.pool) : 0n;
    const parents = await this.#parents({ tenantId, own }, groups);
    const family = new Family(groups, parents, now);
    const found: Opening[] = [];
    const lost: RunGroup[] = [];
    const projectless = new Map<RunGroup, TooManyProjectsError>();
    const deep: RunGroup[] = [];
    const references = groups.map((group) => firstOf(group, 'project') ?? DEFAULT_PROJECT);
    const projects = own ? undefined : await this.projects.resolveAll(tenantId, references);
    for (const [at, group] of groups.entries()) {
      const projectId = own?.id ?? projects?.[at];
      if (projectId instanceof TooManyProjectsError) {
        projectless.set(group, projectId);
        continue;
      }
      if (projectId === undefined) {
        lost.push(group);
        continue;
      }
      const standing = family.standingOf(group);
      if (standing === 'too deep') {
        deep.push(group);
        continue;
      }
      const { traceId, parentOrder, isPlaced } = standing;
      const place = { tenantId, projectId, traceId, id: group.id, startTime: startOf(group, now) };
      found.push({ group, place, parentOrder, isPlaced });
    }
    return { found, lost, projectless, deep };
  }

  /** Stored parents of runs that came without a dotted order of their own. */
  async #parents(
    { tenantId, own }: Sender,
    groups: readonly RunGroup[],
  ): Promise<ReadonlyMap<string, ParentRow>> {
    const asked = new Map<string, WantedRun>();
    for (const group of groups) {
      const id = firstOf(group, 'dottedOrder') === undefined ? firstOf(group, 'parentRunId') : undefined;
      if (id !== undefined) asked.set(parentKey(id, group.traceId), { id, traceId: group.traceId });
    }
    const wanted = [...asked.values()];
    const places = await findPlaces(this.pool, tenantId, wanted, { projectId: own?.id });
    const readable = places.filter((place) => place !== undefined && isReadable(place, own)) as RunPlace[];
    const rows = await selectParents(this.pool, tenantId, readable, MAX_KNOWN_ANCESTORS);
    const byKey = new Map(rows.map((row) => [runKey(row), row]));
    const found = [...asked.keys()].flatMap((key, at) => {
      const row = places[at] && byKey.get(runKey(places[at]));
      return row ? [[key, row] as const] : [];
    });
    return new Map(found);
  }

  async #write(
    client: Connection,
    sender: Sender,
    placed: readonly Opening[],
    changing: readonly RunGroup[],
  ): Promise<WrittenBatch> {
    const arriving = placed.map(({ group, place }) => ({ ...place, threadId: firstOf(group, 'threadId') }));
    const { erased, waiting: bytesWaiting } = await lookUpArriving(client, sender.tenantId, arriving);
    const opening = placed.filter((_one, at) => {
      const run = arriving[at];
      return run === undefined || !erased.has(run);
    });
    const won = await claimPlaces(
      client,
      sender.tenantId,
      opening.map(({ place }) => place),
    );
    const fresh = opening.filter(({ place }) => won.has(runKey(place)));
    const late = opening
      .filter(({ place }) => !won.has(runKey(place)))
      .map(({ group, place }) => ({ ...group, ...place }));
    const portions = portionsByWaiting(fresh, bytesWaiting, {
      maxBytes: this.options.waiting.bytesOfRun,
      ownBytes: ({ parentOrder = '' }) => parentOrder.length * HELD_PER_ORDER,
    });
    for (const portion of portions) await this.#insert(client, sender.tenantId, portion);
    await addUnplaced(client, sender.tenantId, fresh.flatMap(unplacedOf));
    const elsewhere: (readonly [RunGroup, RunPlace])[] = [];
    const { unknown } = await this.#changer.change(client, sender, [...late, ...changing], (group, place) => {
      const isElsewhere = namesOther(group, place);
      if (isElsewhere) elsewhere.push([group, place]);
      return !isElsewhere;
    });
    // a place that is neither won nor taken: the project was deleted since it was looked up
    if (late.some((group) => unknown.includes(group))) throw new ProjectVanished();
    const waiting = await this.#wait(client, sender, unknown);
    const [asked, left] = [placed, opening].map((list) => operationsOf(list.map(({ group }) => group)));
    return {
      elsewhere,
      late: waiting.refused,
      erased: (asked ?? 0) - (left ?? 0) + waiting.erased,
      made: fresh.map(({ place }) => place),
      meeting: [...fresh.map(({ place }) => place.id), ...unknown.map(({ id }) => id)],
    };
  }

  /** @returns operations for which there is no room to wait, and how many belong to deleted traces */
  async #wait(
    client: Connection,
    { tenantId, own }: Sender,
    groups: readonly RunGroup[],
  ): Promise<{ readonly refused: readonly ParsedOperation[]; readonly erased: number }> {
    const patches = groups.flatMap(({ id: runId, traceId, operations }) =>
      operations.map((parsed) => ({ ...parsed, runId, traceId, projectId: own?.id })),
    );
    const waiting = await patchesWithoutErased(client, tenantId, patches);
    const refused = await addWaiting(client, tenantId, waiting, this.options.waiting);
    return { refused, erased: patches.length - waiting.length };
  }

  /** Merges updates with runs that processes stored which ended before they looked for them. */
  settleMissed(): Promise<void> {
    return this.#changer.settleMissed(this.pool);
  }

  /** Places runs whose ancestors came and were not looked for, and lets those stay whose parents did not come. */
  async placeMissed(): Promise<void> {
    await this.#placer.settleMissed();
    await this.#placer.giveUp();
  }

  async #insert(client: Connection, tenantId: string, portion: Portion<Opening>): Promise<void> {
    const updates = await EarlyUpdates.read(await findWaiting(client, tenantId, portion.awaited));
    const projectIds = portion.runs.map(({ place }) => place.projectId);
    const tierOf = await this.options.tiers.read(client, tenantId, projectIds);
    const runs = portion.runs.map(({ group, place, parentOrder }) => {
      const early = updates.take(place);
      const posts = group.operations.filter(({ change }) => change.kind === 'post');
      const patches = group.operations.filter(({ change }) => change.kind === 'patch');
      const changes = [...posts, ...early, ...patches].map(({ change }) => change);
      return buildRun(place, changes, { parentOrder, traceTier: tierOf(place.projectId) });
    });
    const rows = await this.options.pricing.priced(
      client,
      tenantId,
      runs.map(({ row }) => row),
    );
    const copies = [
      newRunRows(rows),
      this.payloads.newRows(runs.map(({ row, payloads }) => ({ place: row, payloads }))),
      newSumsRows(tenantId, rows),
    ];
    const pairs = runs.map(({ row, payloads }) => ({
      place: row,
      pairs: () => metadataPairs(payloads.extra),
    }));
    for await (const some of newPairRows(pairs)) {
      copies.push(some);
      await copyIn(client, copies.splice(0));
    }
    await copyIn(client, copies);
    await removeWaiting(client, tenantId, updates.ended);
  }
}

/** A run with its parent, while the way to its root is not known. */
function unplacedOf({ group, place, isPlaced }: Opening) {
  const parentRunId = firstOf(group, 'parentRunId');
  return isPlaced || parentRunId === undefined ? [] : [{ place, parentRunId }];
}

/** A project was deleted between its look-up and its use. */
class ProjectVanished extends Error {}

/** A group that won no place for its create asked for one, and may have named the project. */
function namesOther(group: RunGroup & { readonly projectId?: string }, place: RunPlace): boolean {
  const isNamed = group.operations.some(
    ({ change }) => change.kind === 'post' && change.project !== undefined,
  );
  return isNamed && group.projectId !== undefined && group.projectId !== place.projectId;
}

function subjectOf({ runId, projectId }: NewFeedback): Subject {
  return { id: runId, ...(projectId === undefined ? {} : { project: { kind: 'id', id: projectId } }) };
}

function operationsOf(groups: readonly RunGroup[]): number {
  return groups.reduce((sum, group) => sum + group.operations.length, 0);
}

function isReadable({ projectId }: RunPlace, own: OwnProject | undefined): boolean {
  return own === undefined || projectId === own.id;
}
