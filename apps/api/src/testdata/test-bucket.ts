import { afterAll, beforeAll } from '@jest/globals';
import { type EmbeddedObjectStore, startObjectStore } from '#lib/embedded-object-store';
import { createLogger } from '#lib/telemetry';
import { temporaryFolder } from '#lib/testing';
import type { testApi } from './test-api.js';

const KEYS = { accessKeyId: 'AKTEST', secretAccessKey: 'very secret' };

/** Usable inside tests and hooks. */
export interface TestBucket {
  /** What a request for an export to the bucket names: a destination that was validated, and a project. */
  readonly request: { readonly bulk_export_destination_id: string; readonly session_id: string };
  /** Makes another destination that leads to the bucket. @returns its id */
  makeDestination(): Promise<string>;
}

/** A bucket with a destination of the tenant, for the test file that calls this. */
export function testBucket({ api, tenant }: ReturnType<typeof testApi>): TestBucket {
  const folder = temporaryFolder();
  let objects: EmbeddedObjectStore | undefined;
  let request: TestBucket['request'] | undefined;
  const makeDestination = async (): Promise<string> => {
    const { json } = await tenant.call('POST', '/api/v1/bulk-exports/destinations', {
      destination_type: 'object_store',
      display_name: 'Bucket',
      config: { bucket_name: 'bucket', region: 'us-east-1', endpoint_url: objects?.endpoint ?? '' },
      credentials: { access_key_id: KEYS.accessKeyId, secret_access_key: KEYS.secretAccessKey },
    });
    return json.id;
  };
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
    request = {
      bulk_export_destination_id: await makeDestination(),
      session_id: (await api.store.projects.ensure(tenant.tenantId, 'project')).id,
    };
  });
  afterAll(() => objects?.stop());
  return {
    makeDestination,
    get request() {
      if (!request) throw new Error('the bucket is up only inside tests and hooks');
      return request;
    },
  };
}
