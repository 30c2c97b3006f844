import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '#lib/telemetry';
import { temporaryFolder, testPostgres } from '#lib/testing';
import { type RunningApi, runApi } from '../testdata/running-api.js';

describe('request id', () => {
  const postgres = testPostgres();
  const path = join(temporaryFolder(), 'log');
  const descriptor = openSync(path, 'a');
  let api: RunningApi;

  beforeAll(async () => {
    const [store, kube] = [await postgres.freshDatabase(), await postgres.freshDatabase()];
    api = await runApi(store.uri, kube.uri, createLogger('api', 'error', descriptor));
  }, 60_000);
  afterAll(async () => {
    await api.stop();
    closeSync(descriptor);
  });

  it('stands in the log line of the request that failed', async () => {
    const { key } = await api.workspace();
    const verify = api.store.apiKeys.verify.bind(api.store.apiKeys);
    Object.assign(api.store.apiKeys, { verify: () => Promise.reject(new Error('disk full')) });
    const response = await fetch(`${api.url}/v2/deployments`, {
      headers: { 'x-api-key': key, 'x-request-id': 'the-failed-one' },
    });
    Object.assign(api.store.apiKeys, { verify });
    expect(response.status).toBe(500);
    const lines = readFileSync(path, 'utf8').trim().split('\n');
    expect(lines.map((line) => JSON.parse(line) as object)).toContainEqual(
      expect.objectContaining({ requestId: 'the-failed-one', method: 'GET' }),
    );
  });
});
