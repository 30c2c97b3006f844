import pg from 'pg';
import { isUuid } from '#lib/auth';
import { ApiKeyTable } from './api-key-table.js';
import { ControlTables } from './control/control-tables.js';
import { DayPartitions } from './day-partitions.js';
import { deploymentDatabases } from './deployment-database-server.js';
import { ExportProgressTable } from './export-progress-table.js';
import { Ingestion } from './ingestion.js';
import { migrate } from './migrate.js';
import { PostgresPayloadStore } from './payload-store.js';
import { PostgresExportSource } from './postgres-export-source.js';
import { ProjectDirectory } from './project-directory.js';
import { ProjectTable } from './project-table.js';
import { findPlaces } from './run-keys.js';
import { selectRuns } from './run-table.js';
import type { TraceStore, TraceStoreOptions } from './trace-store.js';
import { dropOverdue, WAITING_ROOM } from './waiting-patches.js';

const DEFAULT_POOL_SIZE = 8;

/** Opens the trace store. Connects lazily; `migrate` first where the schema may be old. */
export function openTraceStore(options: TraceStoreOptions): TraceStore {
  const { uri, poolSize = DEFAULT_POOL_SIZE, waiting = WAITING_ROOM, log, clock } = options;
  const pool = new pg.Pool({
    connectionString: uri,
    max: poolSize,
    idleTimeoutMillis: 30_000,
    connectionTimeoutMillis: 10_000,
    application_name: 'agentplane trace store',
    options: '-c timezone=UTC -c datestyle=ISO -c bytea_output=hex',
  });
  pool.on('error', (error) => log.warn({ err: error }, 'an idle database connection broke'));
  // The pool listens to idle connections only. One that breaks while it is lent out (Postgres restarts in the middle of
  // a transaction) fails its query; without a listener the same event would end the whole process.
  pool.on('connect', (client) => client.on('error', () => undefined));

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

  return {
    migrate: () => migrate(pool, log),
    ingest: (tenantId, batch) => ingestion.ingest(tenantId, batch),
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
    deploymentDatabases,
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
      await tables.close();
      await pool.end();
    },
  };
}
