import { migrate, openPool } from '#lib/postgres';
import { isUuid } from '#lib/resources';
import { metrics } from '#lib/telemetry';
import { ApiKeyTable } from './api-key-table.js';
import { ControlTables } from './control/control-tables.js';
import { DayPartitions } from './day-partitions.js';
import { ExportProgressTable } from './export-progress-table.js';
import { Ingestion } from './ingestion.js';
import { observedIngest } from './observe-ingestion.js';
import { MIGRATIONS } from './migrations/all-migrations.js';
import { PostgresPayloadStore } from './payload-store.js';
import { PostgresExportSource } from './postgres-export-source.js';
import { ProjectDirectory } from './project-directory.js';
import { ProjectTable } from './project-table.js';
import { findPlaces } from './run-keys.js';
import { selectRuns } from './run-table.js';
import type { TraceStore, TraceStoreOptions } from './trace-store.js';
import { countWaiting, dropOverdue, WAITING_ROOM } from './waiting-patches.js';

const DEFAULT_POOL_SIZE = 8;

/** Any number that nothing else in this database locks. */
const MIGRATION_LOCK = 7_214_001;

/** Opens the trace store. Connects lazily; `migrate` first where the schema may be old. */
export function openTraceStore(options: TraceStoreOptions): TraceStore {
  const { uri, poolSize = DEFAULT_POOL_SIZE, waiting = WAITING_ROOM, log, clock } = options;
  const pool = openPool({
    uri,
    applicationName: 'agentplane trace store',
    maxConnections: poolSize,
    settings: { timezone: 'UTC', datestyle: 'ISO', bytea_output: 'hex' },
    log,
  });
  const tables = new ControlTables(uri);
  const projects = new ProjectTable(tables, pool);
  const payloads = new PostgresPayloadStore();
  const ingestion = new Ingestion(
    pool,
    new DayPartitions(pool, clock, options.maxDays),
    new ProjectDirectory(projects),
    payloads,
    {
      clock,
      log,
      waiting,
    },
  );

  const endReading = metrics.ingestWaitingPatches.read(() => countWaiting(pool));

  return {
    migrate: () => migrate(pool, { migrations: MIGRATIONS, lock: MIGRATION_LOCK, log, clock }),
    ingest: (tenantId, batch) => observedIngest(batch, () => ingestion.ingest(tenantId, batch)),
    projects,
    runs: {
      async get(tenantId, id) {
        if (!isUuid(id)) return undefined;
        const [place] = (await findPlaces(pool, tenantId, [id.toLowerCase()])).get(id.toLowerCase()) ?? [];
        const [row] = place ? await selectRuns(pool, tenantId, [place]) : [];
        return row && { row, payloads: await payloads.get(pool, row) };
      },
    },
    apiKeys: new ApiKeyTable(tables, pool),
    exportProgress: new ExportProgressTable(pool),
    exportSource: new PostgresExportSource(pool),
    async tidy() {
      const dropped = await dropOverdue(pool);
      if (dropped > 0) log.warn({ patches: dropped }, 'updates of runs that never came were dropped');
    },
    async databaseTime() {
      const result = await pool.query<{ now: Date }>('SELECT clock_timestamp() AS now');
      const now = result.rows[0]?.now;
      if (!now) throw new Error('the database answered without a time');
      return now;
    },
    async close() {
      endReading();
      await tables.close();
      await pool.end();
    },
  };
}
