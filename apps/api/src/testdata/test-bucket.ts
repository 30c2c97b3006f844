import { afterAll, beforeAll } from '@jest/globals';
import { type EmbeddedObjectStore, startObjectStore } from '#lib/embedded-object-store';
import { createLogger } from '#lib/telemetry';
import { temporaryFolder } from '#lib/testing';
import type { testApi } from './test-api.js';

export const KEYS = { accessKeyId: 'AKTEST', secretAccessKey: 'very secret' };
/** The keys as destinations name them. */
export const CREDENTIALS = { access_key_id: KEYS.accessKeyId, secret_access_key: KEYS.secretAccessKey };

/** An object store with a bucket, for the test file that calls this; it is up in hooks that come after. */
export function testObjects(): Pick<EmbeddedObjectStore, 'endpoint'> {
  const folder = temporaryFolder();
  let objects: EmbeddedObjectStore | undefined;
  beforeAll(async () => {
    const log = createLogger('test', 'error');
    objects = await startObjectStore({
      folder,
      host: '127.0.0.1',
      port: 0,
      log,
      buckets: ['bucket'],
      ...KEYS,
    });
  });
  afterAll(() => objects?.stop());
  return {
    get endpoint() {
      return objects?.endpoint ?? '';
    },
  };
}

/** Usable inside tests and hooks. */
export interface TestBucket {
  /** What a request for an export to the bucket names: a destination that was validated, and a project. */
  readonly request: { readonly bulk_export_destination_id: string; readonly session_id: string };
  /** Makes another destination that leads to the bucket. @returns its id */
  makeDestination(): Promise<string>;
}

/** A bucket with a destination of the tenant, for the test file that calls this. */
export function testBucket({ api, tenant }: ReturnType<typeof testApi>): TestBucket {
  const objects = testObjects();
  let request: TestBucket['request'] | undefined;
  const makeDestination = async (): Promise<string> => {
    const { json } = await tenant.call('POST', '/api/v1/bulk-exports/destinations', {
      destination_type: 'object_store',
      display_name: 'Bucket',
      config: { bucket_name: 'bucket', region: 'us-east-1', endpoint_url: objects.endpoint },
      credentials: CREDENTIALS,
    });
    return json.id;
  };
  beforeAll(async () => {
    request = {
      bulk_export_destination_id: await makeDestination(),
      session_id: (await api.store.projects.ensure(tenant.tenantId, 'project')).id,
    };
  });
  return {
    makeDestination,
    get request() {
      if (!request) throw new Error('the bucket is up only inside tests and hooks');
      return request;
    },
  };
}
