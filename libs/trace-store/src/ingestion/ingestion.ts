import { copyIn, inTransaction, postgresTrouble, sqlState, type Connection, type Pool } from '#lib/postgres';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { databaseNow } from '../limited-read.js';
import { LeftRunsError, lookUpArriving, lookUpMet, RunChanger, type Sender } from './run-changer.js';
import type { DayPartitions } from './day-partitions.js';
import { Family, parentKey } from './family.js';
import { EarlyUpdates } from './early-updates.js';
import {
  addWaiting,
  erasureLock,
  findWaiting,
  type Portion,
  portionsByWaiting,
  removeWaiting,
  type WaitingRoom,
} from './waiting-patches.js';
import { Gathering } from './gathering.js';
import {
  disjointOf,
  type IngestRequest,
  type IngestResult,
  OwnProject,
  readRequest,
  resultOf,
  type Unstored,
  weightOf,
} from './ingest-request.js';
import { addUnplaced, RunPlacer } from '../placement/run-placer.js';
import { type MadeRun, settleTops } from '../placement/trace-tops.js';
import { type ProjectTiers, upgradeTraces } from '../retention/retention-table.js';
import { storeFeedback } from '../feedback/store-feedback.js';
import type { PayloadStore } from '../run/payload-store.js';
import { DEFAULT_PROJECT, type ProjectDirectory } from '../project/project-directory.js';
import { TooManyProjectsError } from '../project/project.js';
import { MAX_KNOWN_ANCESTORS } from '../wire/dotted-order.js';
import type { RunBatch } from '../wire/run-operation.js';
import { buildRun, firstOf, opensRun, startOf, type ParsedOperation, type RunGroup } from './run-group.js';
import { claimPlaces, findPlaces, runKey, type WantedRun } from '../run/run-keys.js';
import type { RunPricing } from '../price/run-pricing.js';
import type { RunRemover } from '../run/remove-runs.js';
import { newRunRows, type ParentRow, selectParents } from '../run/run-table.js';
import type { RunPlace } from '../run/stored-run.js';
import { newPairRows } from '../run/run-pairs.js';
import { metadataPairs } from './scalar-pairs.js';
import { newSumsRows } from '../statistics/run-statistics-table.js';
import { TotalsChange } from '../run/trace-totals.js';
import { patchesWithoutErased } from './erased-traces.js';

/** A row found no partition: its day was dropped since it was looked up. */
const NO_PARTITION = '23514';
const ATTEMPTS = 4;
/** Runs that are made at once, some milliseconds; one may have a thousand ancestors, which are a list of ids as well. */
const MADE_AT_ONCE = { runs: 500, orderChars: 1 << 20 };

/** A group with the place it needs. */
interface Opening {
  readonly group: RunGroup;
  readonly place: RunPlace;
  readonly parentOrder: string | undefined;
  /** True when its way to the root is known. */
  readonly isPlaced: boolean;
}

interface OpenedGroups {
  readonly found: readonly Opening[];
  readonly lost: readonly RunGroup[];
  readonly projectless: ReadonlyMap<RunGroup, TooManyProjectsError>;
  /** Too far below in their traces to be put there by their parents' ids. */
  readonly deep: readonly RunGroup[];
}

interface WrittenBatch extends Pick<Unstored, 'elsewhere' | 'late' | 'erased'> {
  readonly made: readonly MadeRun[];
  /** Runs that were made, and runs that updates wait for now. */
  readonly meeting: readonly string[];
}

export interface IngestionOptions {
  readonly log: Logger;
  readonly waiting: WaitingRoom;
  readonly remover: Pick<RunRemover, 'removeAt'>;
  readonly tiers: ProjectTiers;
  readonly pricing: RunPricing;
  readonly clock: Pick<Clock, 'after'>;
  /** Performs work in the tenant's queue. */
  readonly inTurn: <T>(tenantId: string, work: () => Promise<T>) => Promise<T>;
  /** Callback after each transaction that stored runs. */
  readonly stored: () => void;
}

/**
 * Stores batches of creates and updates.
 *
 * A batch is one transaction: win places in `run_keys` (which serialises all writers of the same run), copy
 * new runs in, lock and change existing ones, let updates of unknown runs wait. After its commit, updates
 * that wait for runs that are stored now are merged; see `RunChanger`.
 */
export class Ingestion {
  readonly #changer: RunChanger;
  readonly #placer: RunPlacer;
  readonly #gathering: Gathering<RunBatch, IngestResult>;

  constructor(
    private readonly pool: Pool,
    private readonly partitions: DayPartitions,
    private readonly projects: ProjectDirectory,
    private readonly payloads: PayloadStore,
    private readonly options: IngestionOptions,
  ) {
    this.#changer = new RunChanger(payloads, options.pricing);
    this.#placer = new RunPlacer(pool);
    this.#gathering = new Gathering(options.clock);
  }

  /**
   * Small batches of one sender may share a transaction; each is answered as if it had come alone.
   * @param onlyProject name of the one project that the sender may write into
   */
  ingest(tenantId: string, batch: RunBatch, onlyProject?: string): Promise<IngestResult> {
    const store = (batches: readonly RunBatch[]) =>
      this.options.inTurn(tenantId, () => this.#ingestAll(tenantId, batches, onlyProject));
    if ((batch.feedback ?? []).length > 0)
      return store([batch]).then(([result]) => {
        if (result?.status !== 'fulfilled') throw result?.reason;
        return result.value;
      });
    const line = onlyProject === undefined ? tenantId : `${tenantId} ${onlyProject}`;
    return this.#gathering.add(line, batch, weightOf(batch), store);
  }

  async #ingestAll(
    tenantId: string,
    batches: readonly RunBatch[],
    onlyProject: string | undefined,
  ): Promise<readonly PromiseSettledResult<IngestResult>[]> {
    const { members } = await this.options.pricing.book(this.pool, tenantId);
    const requests: IngestRequest[] = [];
    for (const batch of batches) requests.push(await readRequest(batch, members));
    const results = new Map<IngestRequest, PromiseSettledResult<IngestResult>>();
    const store = async (some: readonly IngestRequest[]): Promise<void> => {
      try {
        const unstored = await this.#store(tenantId, some, onlyProject);
        for (const request of some) {
          const value = resultOf(request, unstored, this.partitions.maxMonthsAhead);
          results.set(request, { status: 'fulfilled', value });
        }
      } catch (reason) {
        // a failure concerns one request alone; data that was stored already is stored once
        if (some.length > 1 && postgresTrouble(reason) !== 'unavailable')
          for (const request of some) await store([request]);
        else for (const request of some) results.set(request, { status: 'rejected', reason });
      }
    };
    const { together, alone } = disjointOf(requests);
    await store(together);
    for (const request of alone) await store([request]);
    return requests.map((request) => results.get(request) ?? { status: 'rejected', reason: undefined });
  }

  async #store(
    tenantId: string,
    requests: readonly IngestRequest[],
    onlyProject: string | undefined,
  ): Promise<Unstored> {
    const groups = requests.flatMap((request) => request.groups);
    const judged = requests.flatMap(({ batch }) => batch.feedback ?? []);
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
          return { ...batchOfRuns, feedback: await storeFeedback(client, sender, judged) };
        },
        ['BEGIN', `SELECT pg_advisory_xact_lock_shared(${erasureLock(tenantId)})`],
      );
      return { ...opening, dayless, ...outcome };
    });
    this.options.stored();
    await upgradeTraces(this.pool, tenantId, written.feedback.extended);
    const meeting = [...written.meeting, ...written.feedback.awaited];
    const met = await lookUpMet(this.pool, tenantId, meeting, written.made);
    await this.#changer.settle(this.pool, tenantId, met);
    await this.#placer.settle(tenantId, met.parents);
    await settleTops(this.pool, tenantId, written.made, met);
    return written;
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
      // never undefined: without a project the sender would count as one that may write into any
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
        // arriving runs are then treated as if they had gone before
        if (error instanceof LeftRunsError) await this.options.remover.removeAt(error.runs);
      }
    }
  }

  /**
   * Finds project and trace of each run to be made. Lost are those whose project id does not exist,
   * projectless those whose project would exceed the limit, deep those whose parents' ids are not enough to
   * place them.
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
      ownShare: ({ group, parentOrder = firstOf(group, 'dottedOrder')?.text ?? '' }) =>
        1 / MADE_AT_ONCE.runs + parentOrder.length / MADE_AT_ONCE.orderChars,
    });
    const totals = new TotalsChange();
    for (const portion of portions) await this.#insert(client, sender.tenantId, portion, totals);
    await addUnplaced(client, sender.tenantId, fresh.flatMap(unplacedOf));
    const elsewhere: (readonly [RunGroup, RunPlace])[] = [];
    const { unknown } = await this.#changer.change(
      client,
      { ...sender, totals },
      [...late, ...changing],
      (group, place) => {
        const isElsewhere = namesOther(group, place);
        if (isElsewhere) elsewhere.push([group, place]);
        return !isElsewhere;
      },
    );
    // a place that is not won and not taken: the project was deleted since it was looked up
    const unknownOnes: ReadonlySet<RunGroup> = new Set(unknown);
    if (late.some((group) => unknownOnes.has(group))) throw new ProjectVanished();
    const waiting = await this.#wait(client, sender, unknown);
    await totals.write(client, sender.tenantId);
    const kept = new Set(opening);
    const gone = placed.filter((one) => !kept.has(one)).map(({ group }) => group);
    return {
      elsewhere,
      late: waiting.refused,
      erased: [...gone.flatMap(({ id, operations }) => operations.map(() => id)), ...waiting.erased],
      made: fresh.map(({ group, place }) => ({ ...place, parentRunId: firstOf(group, 'parentRunId') })),
      meeting: [...fresh.map(({ place }) => place.id), ...unknown.map(({ id }) => id)],
    };
  }

  /**
   * @returns operations that exceed the limit of waiting ones, and runs of those that belong to deleted
   * traces
   */
  async #wait(
    client: Connection,
    { tenantId, own }: Sender,
    groups: readonly RunGroup[],
  ): Promise<{ readonly refused: readonly ParsedOperation[]; readonly erased: readonly string[] }> {
    const patches = groups.flatMap(({ id: runId, traceId, operations }) =>
      operations.map((parsed) => ({ ...parsed, runId, traceId, projectId: own?.id })),
    );
    const waiting = await patchesWithoutErased(client, tenantId, patches);
    const refused = await addWaiting(client, tenantId, waiting, this.options.waiting);
    const kept = new Set(waiting);
    return { refused, erased: patches.filter((patch) => !kept.has(patch)).map(({ runId }) => runId) };
  }

  /** Merges updates with runs that processes stored which ended before they looked for them. */
  settleMissed(): Promise<void> {
    return this.#changer.settleMissed(this.pool);
  }

  /** Places runs whose ancestors came without a lookup, and gives up those whose parents did not come. */
  async placeMissed(): Promise<void> {
    await this.#placer.settleMissed();
    await this.#placer.giveUp();
  }

  async #insert(
    client: Connection,
    tenantId: string,
    portion: Portion<Opening>,
    totals: TotalsChange,
  ): Promise<void> {
    const updates = await EarlyUpdates.read(await findWaiting(client, tenantId, portion.awaited));
    const projectIds = portion.runs.map(({ place }) => place.projectId);
    const tierOf = await this.options.tiers.read(client, tenantId, projectIds);
    const runs = portion.runs.map(({ group, place, parentOrder }) => {
      const early = updates.take(place);
      const posts = group.operations.filter(({ change }) => change.kind === 'post');
      const patches = group.operations.filter(({ change }) => change.kind === 'patch');
      const changes = [...posts, ...early, ...patches].map(({ change }) => change);
      return { changes, ...buildRun(place, changes, { parentOrder, traceTier: tierOf(place.projectId) }) };
    });
    const rows = await this.options.pricing.priced(
      client,
      tenantId,
      runs.map(({ row }) => row),
    );
    totals.add([], rows);
    const copies = [
      newRunRows(rows),
      this.payloads.newRows(runs.map(({ row, payloads }) => ({ place: row, payloads }))),
      newSumsRows(tenantId, rows),
    ];
    const pairs = runs.map(({ row, changes, payloads: { extra } }) => ({
      place: row,
      pairs: metadataPairs(changes, extra),
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

/** A group that won no place for its create requested one, and may have named the project. */
function namesOther(group: RunGroup & { readonly projectId?: string }, place: RunPlace): boolean {
  const isNamed = group.operations.some(
    ({ change }) => change.kind === 'post' && change.project !== undefined,
  );
  return isNamed && group.projectId !== undefined && group.projectId !== place.projectId;
}

function isReadable({ projectId }: RunPlace, own: OwnProject | undefined): boolean {
  return own === undefined || projectId === own.id;
}
