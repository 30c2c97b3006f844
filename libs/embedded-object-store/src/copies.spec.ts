import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, CopyConditions } from 'minio';
import { createLogger } from '#lib/telemetry';
import { startObjectStore, type EmbeddedObjectStore } from './start-object-store.js';

const KEYS = { accessKeyId: 'master', secretAccessKey: 'master-secret' };
const GUEST = { accessKeyId: 'guest', secretAccessKey: 'guest-secret' };
const LARGE = randomBytes((6 << 20) + 3);

let folder: string;
let store: EmbeddedObjectStore;
let client: Client;

function connect({ accessKeyId, secretAccessKey }: typeof KEYS): Client {
  return new Client({
    endPoint: '127.0.0.1',
    port: store.port,
    useSSL: false,
    accessKey: accessKeyId,
    secretKey: secretAccessKey,
    region: 'us-east-1',
  });
}

async function contentOf(key: string): Promise<Buffer> {
  return Buffer.concat(await (await client.getObject('first', key)).toArray());
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'no error',
    (error: { code?: string; message: string }) => error.code ?? error.message,
  );
}

/** A request with further headers, by a presigned URL. */
async function send(
  method: string,
  key: string,
  headers: Record<string, string>,
  body?: string,
  query: Record<string, string> = {},
): Promise<Response> {
  const url = await client.presignedUrl(method, 'first', key, 60, query);
  return fetch(url, { method, headers, ...(body === undefined ? {} : { body }) });
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'object-copies-'));
  store = await startObjectStore({
    folder,
    host: '127.0.0.1',
    port: 0,
    log: createLogger('test', 'silent'),
    buckets: ['first'],
    ...KEYS,
    users: {
      find: (id) =>
        id === GUEST.accessKeyId
          ? { ...GUEST, grants: [{ bucket: 'first', prefix: 'guest/', actions: ['read', 'write', 'stat'] }] }
          : undefined,
    },
  });
  client = connect(KEYS);
  await client.putObject('first', 'from/ü b', LARGE, LARGE.length, {
    'Content-Type': 'text/x',
    'x-amz-meta-who': 'me',
  });
});

afterAll(async () => {
  await store.stop();
  await rm(folder, { recursive: true, force: true });
});

describe('a copy within the store', () => {
  it('has the bytes and the metadata of its source', async () => {
    await client.copyObject('first', 'copy', '/first/from/ü b', new CopyConditions());
    expect((await contentOf('copy')).equals(LARGE)).toBe(true);
    expect((await client.statObject('first', 'copy')).metaData).toMatchObject({
      'content-type': 'text/x',
      who: 'me',
    });
  });

  it('takes ranges of objects as parts of an upload', async () => {
    const uploadId = await client.initiateNewMultipartUpload('first', 'composed', {});
    const put = async (part: number, range: string): Promise<{ part: number; etag: string }> => {
      const answer = await send(
        'PUT',
        'composed',
        { 'x-amz-copy-source': encodeURI('/first/from/ü b'), 'x-amz-copy-source-range': range },
        undefined,
        { uploadId, partNumber: String(part) },
      );
      const text = await answer.text();
      return { part, etag: /<ETag>&quot;(\w+)/.exec(text)?.[1] ?? text };
    };
    const parts = [
      await put(1, `bytes=0-${(5 << 20) - 1}`),
      await put(2, `bytes=${5 << 20}-${LARGE.length - 1}`),
    ];
    expect((await put(3, `bytes=5-${LARGE.length}`)).etag).toContain('InvalidArgument');
    await client.completeMultipartUpload('first', 'composed', uploadId, parts);
    expect((await contentOf('composed')).equals(LARGE)).toBe(true);
  });

  it.each([
    ['an absent source', '/first/absent', {}, 404, 'NoSuchKey'],
    ['an absent bucket', '/second/a', {}, 404, 'NoSuchBucket'],
    ['a source without a bucket', 'first', {}, 400, 'InvalidArgument'],
    ['a version', '/first/copy?versionId=3', {}, 501, 'NotImplemented'],
    ['itself', '/first/target', {}, 400, 'InvalidRequest'],
    [
      'a source with another etag',
      '/first/from/ü b',
      { 'x-amz-copy-source-if-match': '"other"' },
      412,
      'PreconditionFailed',
    ],
    [
      'a source that is older',
      '/first/from/ü b',
      { 'x-amz-copy-source-if-modified-since': 'Fri, 01 Jan 2100 00:00:00 GMT' },
      412,
      'PreconditionFailed',
    ],
    ['a path out of the store', '/../first/from', {}, 404, 'NoSuch'],
  ])('refuses %s', async (_name, from, headers, status, code) => {
    await client.putObject('first', 'target', 'kept');
    const answer = await send('PUT', 'target', { 'x-amz-copy-source': encodeURI(from), ...headers });
    expect({ status: answer.status, text: await answer.text() }).toMatchObject({
      status,
      text: expect.stringContaining(code),
    });
    expect((await contentOf('target')).toString()).toBe('kept');
  });

  it('reads a source only for a user who may read it, whether it exists or not', async () => {
    const guest = connect(GUEST);
    await guest.putObject('first', 'guest/own', 'mine');
    const copy = (from: string): Promise<string> =>
      codeOf(guest.copyObject('first', 'guest/copy', from, new CopyConditions()));
    expect(await copy('/first/guest/own')).toBe('no error');
    expect(await copy('/first/from/ü b')).toBe('AccessDenied');
    expect(await copy('/first/absent')).toBe('AccessDenied');
    expect(await copy('/first/guest/../copy')).not.toBe('no error');
  });
});

describe('a checksum', () => {
  // the check values of "123456789"
  it.each([
    ['crc32', 'y/Q5Jg=='],
    ['crc32c', '4waSgw=='],
    ['crc64nvme', 'rosUhgp5mIg='],
    ['sha1', createHash('sha1').update('123456789').digest('base64')],
    ['sha256', createHash('sha256').update('123456789').digest('base64')],
  ])('compares, keeps and answers one by %s', async (algorithm, value) => {
    const name = `x-amz-checksum-${algorithm}`;
    const key = `sum-${algorithm}`;
    const stored = await send('PUT', key, { [name]: value }, '123456789');
    expect(await stored.text()).toBe('');
    expect(stored.headers.get(name)).toBe(value);
    const read = await send('HEAD', key, { 'x-amz-checksum-mode': 'ENABLED' });
    expect(read.headers.get(name)).toBe(value);
    const wrong = await send('PUT', `${key}-wrong`, { [name]: value }, '12345678');
    expect({ status: wrong.status, text: await wrong.text() }).toMatchObject({
      status: 400,
      text: expect.stringContaining('BadDigest'),
    });
    expect((await send('HEAD', `${key}-wrong`, {})).status).toBe(404);
  });

  it('refuses an unknown one and two at once', async () => {
    const two = { 'x-amz-checksum-crc32': 'y/Q5Jg==', 'x-amz-checksum-sha1': '98O8HYCOBHMq21E/hzWlPM7DHMQ=' };
    expect((await send('PUT', 'two', two, '123456789')).status).toBe(400);
    expect((await send('PUT', 'odd', { 'x-amz-trailer': 'x-amz-checksum-md5' }, 'x')).status).toBe(400);
  });
});
