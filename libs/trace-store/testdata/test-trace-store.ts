import { afterAll, beforeAll } from '@jest/globals';
import pg from 'pg';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { systemClock } from '#lib/time';
import { openTraceStore, type TraceStore } from '../src/index.js';

type Options = Partial<Omit<Parameters<typeof openTraceStore>[0], 'uri'>>;

/** Template of the databases of tests: migrated. */
export async function prepareStore(uri: string): Promise<void> {
  const store = openTraceStore({ uri, log: createLogger('test', 'silent'), clock: systemClock });
  await store.migrate();
  await store.close();
}

/** Members are usable inside tests and hooks. */
export interface TestTraceStore {
  readonly store: TraceStore;
  /** The database of the store, with a connection of the superuser's. */
  readonly client: pg.Client;
  readonly uri: string;
  /** Another store on the same database; whoever opens it closes it. */
  another(options?: Options): TraceStore;
}

/**
 * A trace store on a database of its own for the test file that calls this (at its top or in a `describe`): migrated
 * before the tests, closed after them. Hooks that the caller registers later find it open.
 */
export function testTraceStore(options: Options = {}): TestTraceStore {
  let opened: { uri: string; store: TraceStore; client: pg.Client } | undefined;
  const open = (uri: string, over: Options = {}): TraceStore =>
    openTraceStore({ uri, poolSize: 4, log: createLogger('test', 'silent'), clock: systemClock, ...over });
  // hooks run in the order of their registration: the store closes before its Postgres does
  afterAll(async () => {
    await opened?.client.end();
    await opened?.store.close();
  });
  const postgres = testPostgres();
  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase(prepareStore);
    const client = new pg.Client({ connectionString: uri });
    opened = { uri, store: open(uri, options), client };
    await client.connect();
  });

  const up = () => {
    if (!opened) throw new Error('the test trace store is up only inside tests and hooks');
    return opened;
  };
  return {
    get store() {
      return up().store;
    },
    get client() {
      return up().client;
    },
    get uri() {
      return up().uri;
    },
    another: (over) => open(up().uri, { ...options, ...over }),
  };
}
