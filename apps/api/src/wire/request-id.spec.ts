import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '#lib/telemetry';
import { temporaryFolder } from '#lib/testing';
import { testApi } from '../testdata/test-api.js';

describe('request id', () => {
  const path = join(temporaryFolder(), 'log');
  const descriptor = openSync(path, 'a');
  const { api, tenant } = testApi({ log: createLogger('api', 'error', descriptor) });
  afterAll(() => closeSync(descriptor));

  it('stands in the log line of the request that failed', async () => {
    const verify = api.store.apiKeys.verify.bind(api.store.apiKeys);
    Object.assign(api.store.apiKeys, { verify: () => Promise.reject(new Error('disk full')) });
    const response = await fetch(`${api.url}/v2/deployments`, {
      headers: { 'x-api-key': tenant.key, 'x-request-id': 'the-failed-one' },
    });
    Object.assign(api.store.apiKeys, { verify });
    expect(response.status).toBe(500);
    const lines = readFileSync(path, 'utf8').trim().split('\n');
    expect(lines.map((line) => JSON.parse(line) as object)).toContainEqual(
      expect.objectContaining({ requestId: 'the-failed-one', method: 'GET' }),
    );
  });
});
