import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startObjectStore } from '#lib/embedded-object-store';
import { checkPrefix, testObjectKey } from '#lib/export-plan';
import { type ObjectStore, type ObjectStoreSettings, openObjectStore } from '#lib/object-store';
import { createLogger } from '#lib/telemetry';
import { temporaryFolder } from '#lib/testing';
import { foreignStores } from '../../support/foreign-stores.js';

const KEYS = { accessKeyId: 'AKTEST', secretAccessKey: 'very secret' };
const BUCKET = 'bkt';

type Start = (folder: string) => Promise<{ readonly endpoint: string; stop(): unknown }>;

const STORES: readonly (readonly [string, Start])[] = [
  [
    'the embedded store',
    (folder) =>
      startObjectStore({
        folder,
        host: '127.0.0.1',
        port: 0,
        log: createLogger('test', 'silent'),
        buckets: [BUCKET],
        ...KEYS,
      }),
  ],
  ...foreignStores().map(
    ({ name, start }) => [name, (folder: string) => start({ folder, bucket: BUCKET, ...KEYS })] as const,
  ),
];

/** Answers to a destination that is to be encrypted. */
const ENCRYPTED: Readonly<Record<string, object>> = {
  'the embedded store': {
    kind: 'refused',
    advice: 'NotImplemented: Server-side encryption is not implemented.',
  },
  // it ignores the header
  versitygw: { kind: 'usable', isEncryptionUnconfirmed: true },
  // it has no keys
  MinIO: { kind: 'refused', advice: expect.stringMatching(/^NotImplemented: Server side encryption /) },
};

function settingsOf({ endpoint }: { readonly endpoint: string }): ObjectStoreSettings {
  return { endpoint, allowPrivateEndpoints: true, ...KEYS };
}

describe.each(STORES)('keys and settings of objects at %s', (name, start) => {
  const folder = temporaryFolder();
  let server: Awaited<ReturnType<typeof start>>;
  let store: ObjectStore;

  beforeAll(async () => {
    server = await start(folder);
    store = openObjectStore(settingsOf(server));
  });
  afterAll(async () => {
    store.close();
    await server.stop();
  });

  async function keys(prefix: string): Promise<readonly string[]> {
    const found: string[] = [];
    for await (const { key } of store.list(BUCKET, `${prefix}/`)) found.push(key);
    return found;
  }

  it.each([
    'a b',
    '~me',
    '100%',
    '%of',
    'x%d',
    'R&D',
    '&amp;',
    '$x',
    'a+b',
    'a;b,c:d@e=f',
    "!'()*",
    'q?x=1',
    'a#b',
    '[1]',
    'ä',
    'e\u0301',
    '日本',
    '😀',
    'a/ä b/100%',
  ])('holds what an export does below %j', async (prefix) => {
    expect(checkPrefix(prefix)).toBeUndefined();
    expect(await store.checkDestination(BUCKET, prefix)).toMatchObject({ kind: 'usable', canRead: true });
    const [put, uploaded, open] = ['put', 'uploaded', 'open'].map((name) => testObjectKey(prefix, name));
    await store.put(BUCKET, put ?? '', 'hello', { onlyIfAbsent: true });
    const whole = await store.startMultipartUpload(BUCKET, uploaded ?? '', { onlyIfAbsent: true, mark: 'm' });
    await whole.write(Buffer.from('hello'));
    await whole.complete();
    const left = await store.startMultipartUpload(BUCKET, open ?? '');
    await store.abortUploadsOf(BUCKET, open ?? '');
    await left.write(Buffer.from('hello'));
    await expect(left.complete()).rejects.toMatchObject({ code: 'NoSuchUpload' });
    expect(await keys(prefix)).toEqual([put, uploaded]);
    for (const key of await keys(prefix)) {
      expect(await store.stat(BUCKET, key)).toMatchObject({ size: 5 });
      expect(Buffer.concat(await (await store.get(BUCKET, key)).toArray()).toString()).toBe('hello');
      await store.delete(BUCKET, key);
    }
    expect(await keys(prefix)).toEqual([]);
  });

  it('holds objects that are written with settings, or answers why not', async () => {
    const encrypted = openObjectStore({ ...settingsOf(server), written: { serverSideEncryption: 'AES256' } });
    expect(await encrypted.checkDestination(BUCKET)).toMatchObject(ENCRYPTED[name] ?? {});
    encrypted.close();
    const shared = openObjectStore({
      ...settingsOf(server),
      written: { storageClass: 'STANDARD', acl: 'bucket-owner-full-control' },
    });
    expect(await shared.checkDestination(BUCKET)).toEqual({ kind: 'usable', canDelete: true, canRead: true });
    const upload = await shared.startMultipartUpload(BUCKET, 'shared', { mark: 'm' });
    await upload.write(Buffer.from('hello'));
    expect(await upload.complete()).toMatchObject({ size: 5, isVerified: true });
    shared.close();
  });
});
