import { Admission } from '#lib/admission';
import { migrate, openPool, type Pool } from '#lib/postgres';
import { metrics } from '#lib/telemetry';
import { AttachmentTable } from './attachment/attachment-table.js';
import { SourceArchiveTable } from './attachment/source-archives.js';
import { tidyAttachments } from './attachment/tidy-attachments.js';
import { ApiKeyTable } from './key/api-key-table.js';
import { loadControlSchema } from './control-schema.js';
import { ControlTables } from './control/control-tables.js';
import { DatasetTable, removeMarkedDatasets } from './dataset/dataset-table.js';
import { DatasetVersionTable } from './dataset/dataset-version-table.js';
import { ExampleTable } from './dataset/example-table.js';
import { VersionWriter } from './dataset/write-version.js';
import type { Erasures } from './erasure/trace-eraser.js';
import { countLate, countRows } from './export/count-rows.js';
import { FeedbackConfigTable } from './feedback/feedback-config-table.js';
import { FeedbackTable } from './feedback/feedback-table.js';
import { FeedbackTokenTable } from './feedback/feedback-token-table.js';
import { SealedLoader } from './lake/sealed-loader.js';
import { SegmentReader } from './lake/segment-reader.js';
import { observedIngest } from './ingestion/ingest-request.js';
import { type IngestProblems, IngestProblemTable, RefusalLine } from './problem/ingest-problem-table.js';
import { readRun } from './query/find-run.js';
import { searchRuns } from './query/search-runs.js';
import { PriceApplicationTable, Repricing } from './repricing/repricing.js';
import {
  ProjectTiers,
  readRetention,
  type Retention,
  setRetention,
  upgradeTrace,
} from './retention/retention-table.js';
import { type Statistics, statisticsOfProjects, statisticsOfRuns } from './summary/read-statistics.js';
import { readThreads } from './thread/read-threads.js';
import type { Threads } from './thread/find-threads.js';
import { sessionName } from './moving/move-traces.js';
import { tidyFeedback } from './feedback/join-feedback.js';
import { DayPartitions } from './ingestion/day-partitions.js';
import { ExportArchiveTable } from './export/export-archive-table.js';
import { ExportProgressTable, tidyFences } from './export/export-progress-table.js';
import { Ingestion } from './ingestion/ingestion.js';
import { allMigrations } from './migrations/all-migrations.js';
import { AT_ONCE, inTurns, type InTurns, queriesInTurns, readsOfRequests, TenantRounds } from './in-turns.js';
import { estimatePostgres } from './sealing/estimate-postgres.js';
import { hasSealedDays } from './sealing/lake-segments.js';
import { DaySealer } from './sealing/sealer.js';
import { PostgresPayloadStore } from './run/payload-store.js';
import { readOpenDatabases } from './open-databases.js';
import { readTenantUse } from './tenant-use.js';
import { RunRemover } from './run/remove-runs.js';
import { dropAndNoteOverdue } from './ingestion/early-updates.js';
import { countWaiting, erasureLock, WAITING_ROOM } from './ingestion/waiting-patches.js';
import { PostgresExportSource } from './export/postgres-export-source.js';
import { BUILT_IN_PRICES } from './price/price-lists.js';
import { PriceTable } from './price/price-table.js';
import { RunPricing } from './price/run-pricing.js';
import { PromptCommitTable } from './prompt/prompt-commit-table.js';
import { PromptTable } from './prompt/prompt-table.js';
import { ProjectDirectory } from './project/project-directory.js';
import { ProjectTable } from './project/project-table.js';
import { ShareTable } from './share/share-table.js';
import { eachStep } from './limited-read.js';
import { Folding, foldStatistics } from './statistics/fold-statistics.js';
import { RevisionArchiveTable } from './revision/revision-archive-table.js';
import { Removals } from './removal/removals.js';
import { TenantRemoval, type TenantRemovals } from './removal/tenant-removal.js';
import type { TraceStore, TraceStoreOptions } from './trace-store.js';

const DEFAULT_POOL_SIZE = 8;

/** Owners of reads whose tenant is known only afterwards. */
const LINKS = 'links';
const STRANGERS = 'strangers';

/** Connections for the check of keys alone: every request waits for it, and no work of a tenant delays it. */
const KEY_CONNECTIONS = 2;

/** Any number that nothing else in this database locks. */
const MIGRATION_LOCK = 7_214_001;

/** Opens the trace store. Connects lazily; call `migrate` first if the schema may be old. */
export function openTraceStore(options: TraceStoreOptions): TraceStore {
  const { poolSize = DEFAULT_POOL_SIZE, waiting = WAITING_ROOM, modelPrices = BUILT_IN_PRICES } = options;
  const { log, clock } = options;
  const connections = connectionsOf(options);
  const pool = openPool({ ...connections, maxConnections: poolSize });
  const keyPool = openPool({ ...connections, maxConnections: KEY_CONNECTIONS });
  const control = new ControlTables(pool, loadControlSchema);
  const segments = options.lake && new SegmentReader(options.lake);
  const payloads = new PostgresPayloadStore(segments);
  const sealed = segments && new SealedLoader(segments);
  const projects = new ProjectTable(control, pool, {
    max: options.maxProjects,
    observer: {
      // its old name may be free for another now
      changed() {
        directory.forget();
        tiers.forget();
      },
      deleted: () => removals.begin(),
    },
  });
  const directory = new ProjectDirectory(projects, clock);
  const remover = new RunRemover(pool, payloads);
  const tiers = new ProjectTiers(clock);
  const pricing = new RunPricing(clock, modelPrices);
  const ingestion = new Ingestion(
    pool,
    new DayPartitions(pool, options.maxMonthsAhead),
    directory,
    payloads,
    {
      log,
      waiting,
      remover,
      tiers,
      pricing,
      clock,
      inTurn: (tenantId, work) => turns.run(tenantId, work),
      stored: () => folding.noteBatch(),
    },
  );

  const problems = new IngestProblemTable({ pool, projects, log, clock });

  // one connection is left for work of no tenant: tidying, the time
  const turns = new Admission({ capacity: Math.max(2, poolSize - 1), halves: true });
  const reads = readsOfRequests(turns);
  const removals = new Removals({ pool, remover, log, clock });

  const folding = new Folding(pool, log);
  const repricing = new TenantRounds(new Repricing(pool, pricing, log), log, clock);

  const endReading = metrics.ingestWaitingPatches.read(() => countWaiting(pool));

  return {
    migrate: () => migrate(pool, { migrations: allMigrations(control), lock: MIGRATION_LOCK, log, clock }),
    ingest: observedIngestion(ingestion, problems, turns),
    ingestProblems: collectedProblems(problems, turns),
    ...feedback(pool, turns),
    projects: inTurns(projects, turns),
    runs: inTurns<TraceStore['runs']>(
      {
        get: (tenantId, id, given) => readRun(pool, payloads, { tenantId, id, ...given }),
        search: (tenantId, search, page) =>
          searchRuns(pool, payloads, { tenantId, search, page }, { clock, sealed }),
      },
      reads,
    ),
    ...summaries(pool, reads, sealed),
    erasures: inTurns<Erasures>(
      { erase: (tenantId, ...given) => removals.eraser.erase(tenantId, ...given) },
      turns,
    ),
    tenants: inTurns<TenantRemovals>(new TenantRemoval(pool, () => removals.begin()), turns),
    attachments: inTurns(new AttachmentTable(pool, options.maxAttachmentBytes), turns, {
      takeUnused: AT_ONCE,
      forget: AT_ONCE,
    }),
    sourceArchives: inTurns(new SourceArchiveTable(pool), turns, { aged: AT_ONCE }),
    ...datasets(pool, turns, options),
    prompts: inTurns(new PromptTable(pool), turns),
    promptCommits: inTurns(new PromptCommitTable(pool), turns),
    shares: inTurns(new ShareTable(pool), turns, { open: LINKS }),
    retention: inTurns<Retention>(
      {
        async set(tenantId, settings) {
          await setRetention(pool, tenantId, settings);
          tiers.forget();
        },
        boundsOf: (tenantId) => readRetention(pool, tenantId),
        upgrade: (tenantId, traceId) => upgradeTrace(pool, tenantId, traceId),
      },
      turns,
    ),
    prices: inTurns(new PriceTable(pool, modelPrices, (tenantId) => pricing.forget(tenantId)), turns),
    priceApplications: inTurns(new PriceApplicationTable(pool, () => repricing.begin()), turns),
    // every request waits for the check of its key, which has its own connections
    apiKeys: inTurns(new ApiKeyTable(control, keyPool, options.maxApiKeys), turns, {
      verify: AT_ONCE,
      verifyProof: AT_ONCE,
    }),
    exportProgress: new ExportProgressTable(queriesInTurns(pool, reads), pool),
    exportArchive: inTurns(new ExportArchiveTable(pool), turns),
    revisionArchive: inTurns(new RevisionArchiveTable(pool), turns),
    exportSource: new PostgresExportSource(pool, payloads, undefined, undefined, sealed),
    lake: options.lake && new DaySealer({ pool, payloads, options: options.lake, log, clock }),
    tidy: () =>
      eachStep([
        () => ingestion.settleMissed(),
        () => ingestion.placeMissed(),
        () => tidyFeedback(pool),
        () => tidyFences(pool),
        () => dropAndNoteOverdue(pool, projects, log),
        () => removals.complete(),
        () => repricing.complete(),
        () => foldStatistics(pool),
        () => tidyAttachments(pool, log),
        () => removeMarkedDatasets(pool),
      ]),
    ...plainReads(pool, reads, options),
    async close() {
      endReading();
      await folding.end();
      await removals.close();
      await repricing.close();
      await control.close();
      await keyPool.end();
      await pool.end();
      options.lake?.store.close();
    },
  };
}

/** Batches queue by themselves, some together; the problems of a batch are recorded in another turn. */
function observedIngestion(
  ingestion: Ingestion,
  problems: IngestProblemTable,
  turns: InTurns,
): TraceStore['ingest'] {
  return (tenantId, batch, onlyProject) =>
    observedIngest(batch, async () => {
      const result = await ingestion.ingest(tenantId, batch, onlyProject);
      const { events } = result;
      if (events.length > 0) await turns.run(tenantId, () => problems.record(tenantId, events, onlyProject));
      return result;
    });
}

/** Refusals are collected while earlier ones are queued. */
function collectedProblems(problems: IngestProblemTable, turns: InTurns): IngestProblems {
  const line = new RefusalLine((tenantId, ...given) =>
    turns.run(tenantId, () => problems.refuseAll(tenantId, ...given)),
  );
  return {
    refuse: (tenantId, why, own) => line.add(tenantId, why, own),
    list: (tenantId, options) => turns.run(tenantId, () => problems.list(tenantId, options)),
  };
}

function feedback(
  pool: Pool,
  turns: InTurns,
): Pick<TraceStore, 'feedback' | 'feedbackTokens' | 'feedbackConfigs'> {
  return {
    feedback: inTurns(new FeedbackTable(pool, erasureLock), turns),
    // the signature is checked without the database, but for the first time
    feedbackTokens: inTurns(new FeedbackTokenTable(pool), turns, { isSigned: AT_ONCE, find: STRANGERS }),
    feedbackConfigs: inTurns(new FeedbackConfigTable(pool), turns),
  };
}

function datasets(
  pool: Pool,
  turns: InTurns,
  { maxDatasets, maxDatasetBytes }: TraceStoreOptions,
): Pick<TraceStore, 'datasets' | 'datasetVersions' | 'examples'> {
  const writer = new VersionWriter(pool, maxDatasetBytes);
  return {
    datasets: inTurns(new DatasetTable(pool, maxDatasets), turns),
    datasetVersions: inTurns(new DatasetVersionTable(pool, writer), turns),
    examples: inTurns(new ExampleTable(pool, writer), turns),
  };
}

function summaries(
  pool: Pool,
  reads: InTurns,
  sealed: SealedLoader | undefined,
): Pick<TraceStore, 'statistics' | 'exportCounts' | 'threads'> {
  return {
    statistics: inTurns<Statistics>(
      {
        ofRuns: (tenantId, search) => statisticsOfRuns(pool, tenantId, search, sealed),
        ofProjects: (tenantId, ...given) => statisticsOfProjects(pool, tenantId, ...given),
      },
      reads,
    ),
    exportCounts: {
      count: (window) => reads.run(window.tenantId, () => countRows(pool, window, undefined, sealed)),
      countLate: (windows) =>
        reads.run(windows[0]?.tenantId ?? '', () => countLate(pool, windows, undefined, sealed)),
    },
    threads: inTurns<Threads>(
      { list: (tenantId, search, page) => readThreads(pool, tenantId, search, page, sealed) },
      reads,
    ),
  };
}

function connectionsOf({ uri, log, program, answerMs }: TraceStoreOptions) {
  const settings = { timezone: 'UTC', datestyle: 'ISO', bytea_output: 'hex' };
  return { uri, applicationName: sessionName(program), settings, log, answerMs };
}

function plainReads(
  pool: Pool,
  reads: InTurns,
  options: TraceStoreOptions,
): Pick<TraceStore, 'openDatabases' | 'databaseTime' | 'use' | 'estimatePostgres' | 'hasSealedDays'> {
  return {
    openDatabases: () => readOpenDatabases(pool),
    hasSealedDays: () => hasSealedDays(pool),
    databaseTime: () => readTime(pool),
    estimatePostgres: (tenantId, days) => reads.run(tenantId, () => estimatePostgres(pool, days)),
    use: (tenantId) => reads.run(tenantId, () => readTenantUse(pool, tenantId, options)),
  };
}

async function readTime(pool: Pool): Promise<Date> {
  const result = await pool.query<{ now: Date }>('SELECT clock_timestamp() AS now');
  const now = result.rows[0]?.now;
  if (!now) throw new Error('reading the time of the database failed: it returned no row');
  return now;
}
