import { afterAll, beforeAll } from '@jest/globals';
import { testPostgres } from '#lib/testing';
import {
  type ApiOptions,
  prepareKube,
  prepareStore,
  runApi,
  type RunningApi,
  type TestTenant,
} from './running-api.js';

/** Members are usable inside tests and hooks. */
export interface TestApi {
  readonly api: Omit<RunningApi, 'stop'>;
  /** A workspace of the plan `enterprise`. */
  readonly tenant: TestTenant;
}

/**
 * An api with a tenant for the test file that calls this (at its top or in a `describe`): up before the tests, stopped
 * after them. Hooks that the caller registers later find it running.
 */
export function testApi(options?: ApiOptions): TestApi {
  let running: RunningApi | undefined;
  let made: TestTenant | undefined;
  // hooks run in the order of their registration: the api stops before its Postgres does
  afterAll(() => running?.stop());
  const postgres = testPostgres();
  beforeAll(async () => {
    const [store, kube] = await Promise.all([
      postgres.freshDatabase(prepareStore),
      postgres.freshDatabase(prepareKube),
    ]);
    running = await runApi(store.uri, kube.uri, options);
    made = await running.workspace();
  });

  return {
    api: {
      get url() {
        return up(running).url;
      },
      get storeUri() {
        return up(running).storeUri;
      },
      get store() {
        return up(running).store;
      },
      get client() {
        return up(running).client;
      },
      get services() {
        return up(running).services;
      },
      workspace: (plan) => up(running).workspace(plan),
    },
    tenant: {
      get tenantId() {
        return up(made).tenantId;
      },
      get namespace() {
        return up(made).namespace;
      },
      get key() {
        return up(made).key;
      },
      call: (...request) => up(made).call(...request),
    },
  };
}

function up<T>(part: T | undefined): T {
  if (part === undefined) throw new Error('the test api is up only inside tests and hooks');
  return part;
}
