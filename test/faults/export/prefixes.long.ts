import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startObjectStore } from '#lib/embedded-object-store';
import { checkPrefix, testObjectKey } from '#lib/export-plan';
import { type ObjectStore, openObjectStore } from '#lib/object-store';
import { createLogger } from '#lib/telemetry';
import { temporaryFolder } from '#lib/testing';
import { VERSITYGW, Versitygw } from '../../support/versitygw.js';

const KEYS = { accessKeyId: 'AKTEST', secretAccessKey: 'secret' };
const BUCKET = 'bkt';

type Start = (folder: string) => Promise<{ readonly endpoint: string; stop(): unknown }>;

function atVersitygw(program: string): Start {
  return (folder) => Versitygw.start({ program, folder, bucket: BUCKET, ...KEYS });
}

const STORES: Readonly<Record<string, Start>> = {
  'the embedded store': (folder) =>
    startObjectStore({
      ...{ folder, host: '127.0.0.1', port: 0, log: createLogger('test', 'silent') },
      ...{ buckets: [BUCKET], ...KEYS },
    }),
  ...(VERSITYGW === undefined ? {} : { versitygw: atVersitygw(VERSITYGW) }),
};
if (VERSITYGW === undefined)
  process.stderr.write('AGENTPLANE_TEST_VERSITYGW names no program: prefixes are tried at one store\n');

describe.each(Object.entries(STORES))('prefixes at %s', (_name, start) => {
  const folder = temporaryFolder();
  let server: Awaited<ReturnType<typeof start>>;
  let store: ObjectStore;

  beforeAll(async () => {
    server = await start(folder);
    store = openObjectStore({ endpoint: server.endpoint, allowPrivateEndpoints: true, ...KEYS });
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
    ...[
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
    ],
    ...['[1]', 'ä', 'e\u0301', '日本', '😀', 'a/ä b/100%'],
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
});
