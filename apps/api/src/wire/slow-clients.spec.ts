import { SERVER_LIMITS } from '#lib/http';
import { createLogger } from '#lib/telemetry';
import { sendRaw } from '#lib/testing';
import { testApi } from '../testdata/test-api.js';

const limits = { ...SERVER_LIMITS, headersMs: 400, bodyIdleMs: 500, checkMs: 100 };
const { api, tenant } = testApi({ log: createLogger('api-test', 'silent'), limits });

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
