import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SERVER_LIMITS } from '#lib/http';
import { createLogger } from '#lib/telemetry';
import { sendRaw } from '#lib/testing';
import { startObjectStore, type EmbeddedObjectStore } from './start-object-store.js';

let folder: string;
let store: EmbeddedObjectStore;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'object-store-'));
  store = await startObjectStore({
    folder,
    host: '127.0.0.1',
    port: 0,
    accessKeyId: 'id',
    secretAccessKey: 'secret',
    log: createLogger('test', 'silent'),
    limits: { ...SERVER_LIMITS, headersMs: 200, bodyIdleMs: 300, checkMs: 50 },
  });
});

afterAll(async () => {
  await store.stop();
  await rm(folder, { recursive: true, force: true });
});

describe('the object store', () => {
  it.each([
    ['headers', 'PUT /bucket/key HTTP/1.1\r\nhost: x\r\n'],
    ['a body', 'PUT /bucket/key HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nhalf'],
  ])('cuts a client that stops in the middle of %s', async (_title, text) => {
    expect((await sendRaw(store.port, text)).status).toBeGreaterThanOrEqual(400);
  });
});
