import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '#lib/telemetry';
import { temporaryFolder, testPostgres } from '#lib/testing';
import { type RunningApi, runApi } from '../testdata/running-api.js';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

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

  const idOf = async (path: string, headers: Record<string, string> = {}): Promise<string> => {
    const response = await fetch(api.url + path, { headers });
    return response.headers.get('x-request-id') ?? '';
  };

  it('is the id that the caller sends, when it is well-formed', async () => {
    expect(await idOf('/info', { 'x-request-id': 'build-7/step.3' })).toBe('build-7/step.3');
  });

  it.each([
    ['the caller sends none', '/info', {}],
    ['the caller sends one with a space', '/info', { 'x-request-id': 'a b' }],
    ['the caller sends one that is too long', '/info', { 'x-request-id': 'a'.repeat(129) }],
    ['the key is missing', '/runs/x', {}],
    ['the route does not exist', '/nowhere', {}],
  ])('is a new one when %s', async (_case, route, headers) => {
    expect(await idOf(route, headers)).toMatch(UUID);
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
