import { openPool, type Pool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { testPostgres, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { Database } from '../src/store/database.js';
import { MAX_PARSED_CHARS } from '../src/store/json-text.js';
import type { ClaimedRun, ServerIdentity } from '../src/store/row/claimed-run.js';
import type { Queueing, StoredRun } from '../src/store/row/run-row.js';
import { claimRuns } from '../src/store/statement/claim-runs.js';
import { submitRun } from '../src/store/statement/submit-run.js';
import type { Sql } from '../src/store/sql.js';
import { createThread } from '../src/store/statement/change-thread.js';
import { WORKER } from '../src/store/worker-scope.js';
import { uuid7 } from '../src/run/requested-run.js';

const IDS = {
  one: '11111111-1111-4111-8111-111111111111',
  two: '22222222-2222-4222-8222-222222222222',
} as const;

/** A database with the schema, as two servers use it. */
export interface StoreFixture {
  readonly database: Database;
  readonly sql: Sql;
  /** For what no statement does. */
  readonly pool: Pool;
}

/** Waits until a statement of the database waits for a lock that another transaction holds. */
export async function untilLocked(pool: Pool): Promise<void> {
  await waitFor(async () => {
    const { rowCount } = await pool.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return rowCount !== 0;
  });
}

function openDatabase(uri: string, poolSize: number): Database {
  const log = createLogger('test', 'silent');
  return new Database({ uri, poolSize, maxParsedChars: MAX_PARSED_CHARS, clock: systemClock, log });
}

/** Template of the databases of tests: migrated. */
export async function prepareDatabase(uri: string): Promise<void> {
  const database = openDatabase(uri, 2);
  await database.migrate();
  await database.close();
}

/**
 * Registers the fixture with Jest; it is there once the tests run.
 * @param prepare of the template that its database is copied from; databases of one template have the same keys
 */
export function storeFixture(poolSize = 5, prepare = prepareDatabase): StoreFixture {
  const postgres = testPostgres();
  let database: Database;
  let pool: Pool;
  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase(prepare);
    database = openDatabase(uri, poolSize);
    pool = openPool({ uri, applicationName: 'test', log: createLogger('test', 'silent') });
  });
  afterAll(() => Promise.all([database.close(), pool.end()]));
  return {
    get database() {
      return database;
    },
    get sql() {
      return database.sql;
    },
    get pool() {
      return pool;
    },
  };
}

export function serverOf(name: keyof typeof IDS, graphIds: readonly string[] = ['graph']): ServerIdentity {
  return { serverId: IDS[name], leaseMs: 60_000, maxTakeovers: 3, graphIds };
}

export function newId(): string {
  return uuid7(systemClock.now());
}

export function storedRun(given: Partial<StoredRun> = {}): StoredRun {
  return {
    runId: newId(),
    threadId: newId(),
    isTemporary: false,
    assistantId: IDS.one,
    graphId: 'graph',
    metadata: {},
    kwargs: { stream_mode: ['values'], subgraphs: false, caller: {} },
    ...given,
  };
}

export function queueing(given: Partial<Queueing> = {}): Queueing {
  return {
    strategy: 'enqueue',
    delayMs: 0,
    startsHere: false,
    isWatched: false,
    newThread: undefined,
    ...given,
  };
}

/** A run at work at server one, on a thread of its own. */
export async function runAtWork(
  sql: Sql,
  metadata: Readonly<Record<string, unknown>> = {},
): Promise<ClaimedRun> {
  const run = storedRun();
  await createThread(WORKER, sql, run.threadId, metadata, 'raise');
  await submitRun(WORKER, sql, serverOf('one'), run, queueing());
  const claimed = (await claimRuns(WORKER, sql, serverOf('one'), 50)).find(
    ({ runId }) => runId === run.runId,
  );
  if (!claimed) throw new Error('nothing was claimed');
  return claimed;
}
