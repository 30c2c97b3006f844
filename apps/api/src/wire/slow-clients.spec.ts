import { SERVER_LIMITS } from '#lib/http';
import { createLogger } from '#lib/telemetry';
import { sendRaw, testPostgres } from '#lib/testing';
import { runApi, type RunningApi, type TestTenant } from '../testdata/running-api.js';

const postgres = testPostgres();
let api: RunningApi;
let tenant: TestTenant;

beforeAll(async () => {
  const [store, kube] = [await postgres.freshDatabase(), await postgres.freshDatabase()];
  const limits = { ...SERVER_LIMITS, headersMs: 400, bodyIdleMs: 500, checkMs: 100 };
  api = await runApi(store.uri, kube.uri, createLogger('api-test', 'silent'), limits);
  tenant = await api.workspace();
});

afterAll(() => api?.stop());

const head = (path: string): string =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\nx-api-key: ${tenant.key}\r\ncontent-type: application/json\r\n`;

describe('the api', () => {
  it.each<[string, string, string]>([
    ['headers', '/v2/deployments', ''],
    ['a body', '/v2/deployments', 'content-length: 100\r\n\r\n{"name":'],
    ['a batch of traces', '/runs/batch', 'content-length: 100\r\n\r\n{"post":['],
    ['a gzip body', '/runs/batch', 'content-encoding: gzip\r\ncontent-length: 100\r\n\r\n\x1f'],
    ['a zstd body', '/runs/batch', 'content-encoding: zstd\r\ncontent-length: 100\r\n\r\n('],
  ])('answers 408 and cuts a client that stops in the middle of %s', async (_title, path, rest) => {
    const { port } = new URL(api.url);
    expect((await sendRaw(Number(port), head(path) + rest)).status).toBe(408);
  });
});
