import { migrate, openPool, type Pool } from '#lib/postgres';
import { metrics } from '#lib/telemetry';
import { AttachmentTable } from './attachment/attachment-table.js';
import { tidyAttachments } from './attachment/tidy-attachments.js';
import { ApiKeyTable } from './key/api-key-table.js';
import { ControlTables } from './control/control-tables.js';
import { datasetsInTurns } from './datasets-in-turns.js';
import { sessionName } from './session-name.js';
import { removeMarkedDatasets } from './dataset/remove-dataset.js';
import { tidyFeedback } from './feedback/tidy-feedback.js';
import { DayPartitions } from './ingestion/day-partitions.js';
import { archiveInTurns } from './export/archive-in-turns.js';
import { ExportArchiveTable } from './export/export-archive-table.js';
import { ExportProgressTable } from './export/export-progress-table.js';
import { Ingestion } from './ingestion/ingestion.js';
import { allMigrations } from './migrations/all-migrations.js';
import {
  attachmentsInTurns,
  erasuresInTurns,
  feedbackInTurns,
  keysInTurns,
  observedIngestion,
  priceApplicationsInTurns,
  pricesInTurns,
  problemsInTurns,
  projectsInTurns,
  queriesInTurns,
  sharesInTurns,
  statisticsInTurns,
  retentionInTurns,
  runsInTurns,
} from './in-turns.js';
import { loadControlSchema } from './control-schema.js';
import { PostgresPayloadStore } from './run/payload-store.js';
import { readOpenDatabases } from './open-databases.js';
import { readTenantUse } from './tenant-use.js';
import { RunRemover } from './run/remove-runs.js';
import { dropAndNoteOverdue } from './ingestion/note-overdue.js';
import { IngestProblemTable } from './problem/ingest-problem-table.js';
import { PostgresExportSource } from './export/postgres-export-source.js';
import { PriceTable } from './price/price-table.js';
import { RunPricing } from './price/run-pricing.js';
import { Repricing } from './repricing/repricing.js';
import { TenantRounds } from './rounds/tenant-rounds.js';
import { ProjectDirectory } from './project/project-directory.js';
import { ProjectTable } from './project/project-table.js';
import { ShareTable } from './share/share-table.js';
import { eachStep } from './each-step.js';
import { foldStatistics } from './statistics/fold-statistics.js';
import { Folding } from './statistics/folding.js';
import { ProjectTiers } from './retention/project-tiers.js';
import { RevisionArchiveTable } from './revision/revision-archive-table.js';
import { revisionsInTurns } from './revision/revisions-in-turns.js';
import { Removals } from './removal/removals.js';
import { type InTurns, readsOfRequests, TenantTurns } from './tenant-turns.js';
import type { TraceStore, TraceStoreOptions } from './trace-store.js';
import { countWaiting, erasureLock, WAITING_ROOM } from './ingestion/waiting-patches.js';

const DEFAULT_POOL_SIZE = 8;

/** For the check of keys alone: every request waits for it, and it waits for nothing that a tenant does. */
const KEY_CONNECTIONS = 2;

/** Any number that nothing else in this database locks. */
const MIGRATION_LOCK = 7_214_001;

/** Opens the trace store. Connects lazily; `migrate` first where the schema may be old. */
export function openTraceStore(options: TraceStoreOptions): TraceStore {
  const { poolSize = DEFAULT_POOL_SIZE, waiting = WAITING_ROOM, log, clock } = options;
  const connections = connectionsOf(options);
  const pool = openPool({ ...connections, maxConnections: poolSize });
  const keyPool = openPool({ ...connections, maxConnections: KEY_CONNECTIONS });
  const control = new ControlTables(pool, loadControlSchema);
  const payloads = new PostgresPayloadStore();
  const projects = new ProjectTable(control, pool, options.maxProjects);
  const directory = new ProjectDirectory(projects, clock);
  const remover = new RunRemover(pool, payloads);
  const tiers = new ProjectTiers(clock);
  const pricing = new RunPricing(clock);
  const ingestion = new Ingestion(
    pool,
    new DayPartitions(pool, options.maxMonthsAhead),
    directory,
    payloads,
    {
      ...{ log, waiting, remover, tiers, pricing, clock },
      inTurn: (tenantId, work) => turns.run(tenantId, work),
      stored: () => folding.noteBatch(),
    },
  );

  const problems = new IngestProblemTable({ pool, projects, log, clock });

  // one connection is left for what is no tenant's: tidying, the time
  const turns = new TenantTurns(Math.max(2, poolSize - 1));
  const reads = readsOfRequests(turns);
  const removals = new Removals({ pool, remover, log, clock });

  const folding = new Folding(pool, log);
  const repricing = new TenantRounds(new Repricing(pool, pricing, log), log, clock);

  const endReading = metrics.ingestWaitingPatches.read(() => countWaiting(pool));

  return {
    migrate: () => migrate(pool, { migrations: allMigrations(control), lock: MIGRATION_LOCK, log, clock }),
    ingest: observedIngestion(ingestion, problems, turns),
    ingestProblems: problemsInTurns(problems, turns),
    ...feedbackInTurns(pool, turns, erasureLock),
    // its old name may be free for another now
    projects: projectsInTurns(projects, turns, {
      changed() {
        directory.forget();
        tiers.forget();
      },
      deleted: () => removals.begin(),
    }),
    runs: runsInTurns(pool, payloads, reads),
    ...statisticsInTurns(pool, reads),
    erasures: erasuresInTurns(removals.eraser, turns),
    attachments: attachmentsInTurns(new AttachmentTable(pool, options.maxAttachmentBytes), turns),
    ...datasetsInTurns(pool, turns, options),
    shares: sharesInTurns(new ShareTable(pool), turns),
    retention: retentionInTurns(pool, turns, () => tiers.forget()),
    prices: pricesInTurns(new PriceTable(pool, (tenantId) => pricing.forget(tenantId)), turns),
    priceApplications: priceApplicationsInTurns(pool, turns, () => repricing.begin()),
    apiKeys: keysInTurns(new ApiKeyTable(control, keyPool, options.maxApiKeys), turns),
    exportProgress: new ExportProgressTable(queriesInTurns(pool, reads)),
    ...archives(pool, turns),
    exportSource: new PostgresExportSource(pool, payloads),
    async tidy() {
      await eachStep([
        () => ingestion.settleMissed(),
        () => ingestion.placeMissed(),
        () => tidyFeedback(pool),
        () => dropAndNoteOverdue(pool, projects, log),
        () => removals.complete(),
        () => repricing.complete(),
        () => foldStatistics(pool),
        () => tidyAttachments(pool, log),
        () => removeMarkedDatasets(pool),
      ]);
    },
    ...plainReads(pool, reads, options),
    async close() {
      endReading();
      await folding.end();
      await removals.close();
      await repricing.close();
      await control.close();
      await keyPool.end();
      await pool.end();
    },
  };
}

function archives(pool: Pool, turns: TenantTurns): Pick<TraceStore, 'exportArchive' | 'revisionArchive'> {
  return {
    exportArchive: archiveInTurns(new ExportArchiveTable(pool), turns),
    revisionArchive: revisionsInTurns(new RevisionArchiveTable(pool), turns),
  };
}

function connectionsOf({ uri, log, program }: TraceStoreOptions) {
  const settings = { timezone: 'UTC', datestyle: 'ISO', bytea_output: 'hex' };
  return { uri, applicationName: sessionName(program), settings, log };
}

function plainReads(
  pool: Pool,
  reads: InTurns,
  options: TraceStoreOptions,
): Pick<TraceStore, 'openDatabases' | 'databaseTime' | 'use'> {
  return {
    openDatabases: () => readOpenDatabases(pool),
    databaseTime: () => readTime(pool),
    use: (tenantId) => reads.run(tenantId, () => readTenantUse(pool, tenantId, options)),
  };
}

async function readTime(pool: Pool): Promise<Date> {
  const result = await pool.query<{ now: Date }>('SELECT clock_timestamp() AS now');
  const now = result.rows[0]?.now;
  if (!now) throw new Error('reading the time of the database failed: it returned no row');
  return now;
}
