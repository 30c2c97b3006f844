import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'minio';
import { createLogger } from '#lib/telemetry';
import { startObjectStore, type EmbeddedObjectStore } from './start-object-store.js';
import { StoreUserFile } from './users/store-user-file.js';

const MIB = 1 << 20;

describe('a document of a user who may do little', () => {
  let folder: string;
  let store: EmbeddedObjectStore;
  let client: Client;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'object-store-documents-'));
    const users = new StoreUserFile(join(folder, 'users.json'));
    const { accessKeyId, secretAccessKey } = users.ensure('one', [
      { bucket: 'shared', prefix: 'one', actions: ['write', 'read', 'delete'] },
    ]);
    store = await startObjectStore({
      folder: join(folder, 'objects'),
      host: '127.0.0.1',
      port: 0,
      log: createLogger('test', 'silent'),
      buckets: ['shared'],
      users,
    });
    client = new Client({
      endPoint: '127.0.0.1',
      port: store.port,
      useSSL: false,
      region: 'us-east-1',
      accessKey: accessKeyId,
      secretKey: secretAccessKey,
    });
  });

  afterAll(async () => {
    await store.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const remove = async (body: string): Promise<string> => {
    const url = await client.presignedUrl('POST', 'shared', '', 60, { delete: '' });
    const answer = await fetch(url, { method: 'POST', body });
    return `${answer.status} ${(await answer.text()).replace('\n', '')}`;
  };

  // a pattern that looks for the end of each element through all the rest takes minutes
  it.each([
    ['elements that do not end', '<Object>'.repeat(MIB / 8)],
    ['tags that do not end', '<Object '.repeat(MIB / 8)],
    ['elements within another without an end', `<Object>${'<Key>'.repeat(MIB / 5)}</Object>`],
  ])('fails or succeeds in a moment: %s', async (_, body) => {
    const startedMs = performance.now();
    expect(await remove(body)).toMatch(/^(400 .*MalformedXML|200 .*AccessDenied)/);
    expect(performance.now() - startedMs).toBeLessThan(20_000);
  });
});
