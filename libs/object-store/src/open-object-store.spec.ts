import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { startObjectStore, type EmbeddedObjectStore, type FaultHook } from '#lib/embedded-object-store';
import { errorText } from '#lib/errors';
import { createLogger } from '#lib/telemetry';
import { FakeClock, fastClock, itLong, waitFor } from '#lib/testing';
import { ObjectStoreError } from './object-store-error.js';
import type { ObjectStore, ObjectStoreSettings, WriteSettings } from './object-store.js';
import { openObjectStore } from './open-object-store.js';
import { testDestination } from './test-destination.js';

const KEYS = { accessKeyId: 'AKTEST', secretAccessKey: 'secret' };
const MIB = 1 << 20;

let folder: string;
let server: EmbeddedObjectStore;
let store: ObjectStore;
let fault: FaultHook | undefined;
let asked: string[];
const opened: ObjectStore[] = [];

function open(settings: Partial<ObjectStoreSettings> = {}): ObjectStore {
  const { endpoint } = server;
  const all = { endpoint, allowPrivateEndpoints: true, ...KEYS, ...settings };
  const made = openObjectStore(all, fastClock(20));
  opened.push(made);
  return made;
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'no error',
    (error: unknown) => (error instanceof ObjectStoreError ? error.code : String(error)),
  );
}

async function keys(prefix = ''): Promise<string[]> {
  const found: string[] = [];
  for await (const { key } of store.list('bkt', prefix)) found.push(key);
  return found;
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'store-client-'));
  fault = undefined;
  asked = [];
  const log = createLogger('test', 'silent');
  server = await startObjectStore({
    folder,
    host: '127.0.0.1',
    port: 0,
    log,
    buckets: ['bkt'],
    ...KEYS,
    fault: (target) => {
      asked.push(`${target.method} ${target.key} ${[...target.query.keys()].join()}`);
      return fault?.(target);
    },
  });
  store = open();
});

afterEach(async () => {
  for (const made of opened.splice(0)) made.close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

describe('an object', () => {
  it('puts, finds, reads, lists and deletes an object', async () => {
    const body = randomBytes(100_000);
    const { etag } = await store.put('bkt', 'a/1', body, { contentType: 'application/x-test' });
    expect(etag).toBe(createHash('md5').update(body).digest('hex'));
    expect(await store.stat('bkt', 'a/1')).toMatchObject({ size: 100_000, etag });
    expect(Buffer.concat(await (await store.get('bkt', 'a/1')).toArray())).toEqual(body);
    const middle = await store.get('bkt', 'a/1', { offset: 10, length: 5 });
    expect(Buffer.concat(await middle.toArray())).toEqual(body.subarray(10, 15));
    await store.put('bkt', 'a/2 ä', 'x');
    expect(await keys('a/')).toEqual(['a/1', 'a/2 ä']);
    await store.delete('bkt', 'a/1');
    await store.delete('bkt', 'a/1');
    expect(await store.stat('bkt', 'a/1')).toBeUndefined();
  });

  itLong('lists objects beyond the first page', async () => {
    for (let n = 0; n < 1003; n++) await store.put('bkt', `n/${String(n).padStart(4, '0')}`, '');
    expect(await keys('n/')).toHaveLength(1003);
  });

  it('puts an object only at a free key when asked to', async () => {
    await store.put('bkt', 'once', 'x', { onlyIfAbsent: true });
    expect(await codeOf(store.put('bkt', 'once', 'y', { onlyIfAbsent: true }))).toBe('PreconditionFailed');
    expect(Buffer.concat(await (await store.get('bkt', 'once')).toArray()).toString()).toBe('x');
  });

  it('puts an object in spite of a busy store and cut connections', async () => {
    const faults = [{ kind: 'error', code: 'SlowDown' }, { kind: 'reset' }, { kind: 'lost-answer' }] as const;
    let n = 0;
    fault = () => faults[n++];
    await store.put('bkt', 'a', 'x');
    expect(n).toBe(4);
  });

  it('fails with the code of the store', async () => {
    fault = () => ({ kind: 'error', code: 'AccessDenied' });
    expect(await codeOf(store.put('bkt', 'a', 'x'))).toBe('AccessDenied');
    expect(asked).toHaveLength(1);
    expect(await codeOf(store.put('nobucket', 'a', 'x'))).toBe('AccessDenied');
    fault = undefined;
    expect(await codeOf(store.put('nobucket', 'a', 'x'))).toBe('NoSuchBucket');
  });

  it('gives up when the store stays busy or silent', async () => {
    fault = () => ({ kind: 'error', code: 'InternalError' });
    expect(await codeOf(open({ attempts: 2 }).put('bkt', 'a', 'x'))).toBe('InternalError');
    fault = () => ({ kind: 'delay', ms: 5000 });
    expect(await codeOf(open({ attempts: 1, timeoutMs: 100 }).put('bkt', 'a', 'x'))).toBe('ETIMEDOUT');
  });

  it('gives up when all its connections stay busy with others', async () => {
    const stores = new AbortController();
    const other = await listen((_request, response) => {
      response.writeHead(200).write('x');
      // never silent for long
      const more = setInterval(() => response.write('x'), 50);
      response.once('close', () => clearInterval(more));
    });
    const crowded = open({ endpoint: other.url, attempts: 1, timeoutMs: 200 });
    const { signal } = stores;
    const streams = await Promise.all(
      Array.from({ length: 16 }, () => crowded.get('bkt', 'endless', { signal })),
    );
    for (const stream of streams) stream.on('error', () => undefined).resume();
    expect(await codeOf(crowded.get('bkt', 'waiting'))).toBe('ETIMEDOUT');
    stores.abort();
    await other.close();
  });

  it('ends a reading with its signal, before the store answers and after', async () => {
    const [leave, cut] = [new AbortController(), new AbortController()];
    const closed: string[] = [];
    const other = await listen((request, response) => {
      const { url = '' } = request;
      response.once('close', () => closed.push(url));
      if (url === '/bkt/silent') leave.abort();
      else response.writeHead(200).write('x');
    });
    const reading = open({ endpoint: other.url });
    expect(await codeOf(reading.get('bkt', 'silent', { signal: leave.signal }))).toBe('Aborted');
    expect(await codeOf(reading.get('bkt', 'late', { signal: leave.signal }))).not.toBe('no error');
    const stream = await reading.get('bkt', 'begun', { signal: cut.signal });
    cut.abort();
    await expect(text(stream)).rejects.toThrow();
    await waitFor(() => closed.length === 2);
    expect(closed).toEqual(['/bkt/silent', '/bkt/begun']);
    await other.close();
  });

  it('sends requests to the root of a host that names the bucket', async () => {
    const paths: string[] = [];
    const other = await listen((request, response) => {
      paths.push(`${request.method} ${request.url}`);
      response.setHeader('etag', '"x"').end();
    });
    const virtual = open({ endpoint: other.url, includeBucketInPrefix: false });
    await virtual.put('bkt', 'k/1', 'x');
    await other.close();
    expect(paths).toEqual(['PUT /k/1']);
  });
});

describe('a multipart upload', () => {
  async function upload(
    body: Buffer,
    chunkBytes: number,
    options = {},
  ): Promise<{ size: number; etag: string }> {
    const making = await store.startMultipartUpload('bkt', 'big', options);
    try {
      for (let at = 0; at < body.length; at += chunkBytes)
        await making.write(body.subarray(at, at + chunkBytes));
      return await making.complete();
    } finally {
      await making.abort();
    }
  }

  it.each([
    ['nothing', 0],
    ['less than a part', 1000],
    ['exactly one part', 5 * MIB],
    ['exactly two parts', 10 * MIB],
    ['two parts and a bit', 10 * MIB + 1],
  ])('holds %s', async (_name, size) => {
    const body = randomBytes(size);
    expect(await upload(body, 777_777, { partBytes: 5 * MIB })).toMatchObject({ size });
    expect(Buffer.concat(await (await store.get('bkt', 'big')).toArray()).equals(body)).toBe(true);
  });

  it('arrives whole in spite of resets, busy answers and lost answers', async () => {
    const seen = new Map<string, number>();
    fault = ({ method, query }) => {
      if (query.has('uploads')) return undefined;
      const name = `${method} ${query.get('partNumber')}`;
      const n = (seen.get(name) ?? 0) + 1;
      seen.set(name, n);
      if (n > 2) return undefined;
      if (n === 1) return { kind: 'lost-answer' };
      return method === 'PUT' ? { kind: 'error', code: 'SlowDown' } : { kind: 'reset' };
    };
    const body = randomBytes(21 * MIB);
    const { etag } = await upload(body, MIB, { partBytes: 5 * MIB, inFlight: 3 });
    expect(etag).toMatch(/-5$/);
    expect(await store.stat('bkt', 'big')).toMatchObject({ size: body.length, etag });
    expect(Buffer.concat(await (await store.get('bkt', 'big')).toArray()).equals(body)).toBe(true);
  });

  it('rejects the writer when a part fails for good, and leaves nothing behind', async () => {
    fault = ({ query }) =>
      query.get('partNumber') === '2' ? { kind: 'error', code: 'AccessDenied' } : undefined;
    expect(await codeOf(upload(randomBytes(30 * MIB), MIB, { partBytes: 5 * MIB }))).toBe('AccessDenied');
    expect(await readdir(join(folder, '.store/uploads/bkt'))).toEqual([]);
    expect(await store.stat('bkt', 'big')).toBeUndefined();
  });

  it('stops when its signal is aborted', async () => {
    const controller = new AbortController();
    const making = await store.startMultipartUpload('bkt', 'big', {
      partBytes: 5 * MIB,
      signal: controller.signal,
    });
    await making.write(randomBytes(6 * MIB));
    controller.abort(new Error('enough'));
    await expect(making.write(randomBytes(MIB))).rejects.toThrow('enough');
    await making.abort();
    expect(await readdir(join(folder, '.store/uploads/bkt'))).toEqual([]);
  });

  it('completes only at a free key when that is asked for', async () => {
    await store.put('bkt', 'big', 'someone else');
    expect(await codeOf(upload(randomBytes(10), 10, { onlyIfAbsent: true }))).toBe('PreconditionFailed');
    await store.delete('bkt', 'big');
    let n = 0;
    // the answer is lost: the repetition finds our own object
    fault = ({ method, query }) =>
      method === 'POST' && query.has('uploadId') && n++ === 0 ? { kind: 'lost-answer' } : undefined;
    expect(await codeOf(upload(randomBytes(10), 10, { onlyIfAbsent: true }))).toBe('no error');
  });

  it('recognises a multipart upload by its mark', async () => {
    const upload = await store.startMultipartUpload('bkt', 'k', { mark: 'one' });
    await upload.write(Buffer.from('x'));
    await upload.complete();
    expect(await store.stat('bkt', 'k')).toMatchObject({ size: 1, mark: 'one' });
    await store.put('bkt', 'k', 'y');
    expect(await store.stat('bkt', 'k')).not.toHaveProperty('mark');
  });

  it('replaces the object at its key when that is asked for on completion', async () => {
    await store.put('bkt', 'k', 'there already');
    const upload = await store.startMultipartUpload('bkt', 'k', { onlyIfAbsent: true });
    await upload.write(Buffer.from('x'));
    expect(await codeOf(upload.complete())).toBe('PreconditionFailed');
    expect(await store.stat('bkt', 'k')).toMatchObject({ size: 13 });
    await upload.complete({ replace: true });
    expect(await store.stat('bkt', 'k')).toMatchObject({ size: 1 });
  });

  it('does not adopt another object of its size after a lost answer', async () => {
    const upload = await store.startMultipartUpload('bkt', 'k', { onlyIfAbsent: true, mark: 'mine' });
    await upload.write(Buffer.from('x'));
    let posts = 0;
    fault = ({ method }) => (method === 'POST' && posts++ === 0 ? { kind: 'lost-answer' } : undefined);
    expect(await upload.complete()).toMatchObject({ size: 1 });
    expect(await store.stat('bkt', 'k')).toMatchObject({ mark: 'mine' });
    expect(posts).toBe(2);

    const other = await store.startMultipartUpload('bkt', 'other', { onlyIfAbsent: true, mark: 'mine too' });
    await other.write(Buffer.from('x'));
    await store.put('bkt', 'other', 'y');
    posts = 0;
    fault = ({ method }) => (method === 'POST' && posts++ === 0 ? { kind: 'reset' } : undefined);
    expect(await codeOf(other.complete())).toBe('PreconditionFailed');
  });

  it('writes a multipart upload on a store without conditional writes', async () => {
    fault = ({ headers }) =>
      headers['if-none-match'] === undefined ? undefined : { kind: 'error', code: 'NotImplemented' };
    await store.put('bkt', 'a', 'x', { onlyIfAbsent: true });
    const upload = await store.startMultipartUpload('bkt', 'b', { onlyIfAbsent: true });
    await upload.write(Buffer.from('x'));
    await upload.complete();
    expect(await keys()).toEqual(['a', 'b']);
  });

  it('aborts a multipart upload by its id, once or more', async () => {
    const making = await store.startMultipartUpload('bkt', 'big');
    await store.abortUpload('bkt', 'big', making.uploadId);
    await store.abortUpload('bkt', 'big', making.uploadId);
    expect(await codeOf(making.write(Buffer.from('x')).then(() => making.complete()))).toBe('NoSuchUpload');
  });
});

describe('abortUploadsOf', () => {
  it('aborts every open upload of a key, and of no other', async () => {
    for (const key of ['big', 'big', 'bigger']) await store.startMultipartUpload('bkt', key);
    await store.abortUploadsOf('bkt', 'big');
    const left = await readdir(join(folder, '.store/uploads/bkt'));
    expect(left).toHaveLength(1);
  });

  it('fails with the code of the store', async () => {
    fault = () => ({ kind: 'error', code: 'AccessDenied' });
    expect(await codeOf(store.abortUploadsOf('bkt', 'big'))).toBe('AccessDenied');
  });

  it('comes to an end where a store always has more', async () => {
    let pages = 0;
    const more = '<IsTruncated>true</IsTruncated><NextKeyMarker>bigger</NextKeyMarker>';
    const other = await listen((_, response) => {
      pages++;
      response.end(`<ListMultipartUploadsResult>${more}</ListMultipartUploadsResult>`);
    });
    await open({ endpoint: other.url, region: 'us-east-1' }).abortUploadsOf('bkt', 'big');
    expect(pages).toBe(10);
    await other.close();
  });

  it('goes on with the upload after the last of a page, and takes digits for a key', async () => {
    const asked: string[] = [];
    const upload = (id: string) => `<Upload><Key>2024</Key><UploadId>${id}</UploadId></Upload>`;
    const next = '<NextKeyMarker>2024</NextKeyMarker><NextUploadIdMarker>a&amp;b</NextUploadIdMarker>';
    const other = await listen(({ method, url = '' }, response) => {
      asked.push(`${method} ${url}`);
      if (method === 'DELETE') return void response.writeHead(204).end();
      const isFirst = !url.includes('key-marker');
      const page = isFirst ? `${upload('1')}<IsTruncated>true</IsTruncated>${next}` : upload('2');
      response.end(`<ListMultipartUploadsResult>${page}</ListMultipartUploadsResult>`);
    });
    await open({ endpoint: other.url }).abortUploadsOf('bkt', '2024');
    expect(asked).toEqual([
      'GET /bkt?uploads&max-uploads=1000&prefix=2024',
      'DELETE /bkt/2024?uploadId=1',
      'GET /bkt?uploads&max-uploads=1000&prefix=2024&key-marker=2024&upload-id-marker=a%26b',
      'DELETE /bkt/2024?uploadId=2',
    ]);
    await other.close();
  });

  it('reads a page of many elements within many of long names', async () => {
    // a parser that knows of each element where it is takes minutes, or refuses to nest them
    const names = Array.from({ length: 120 }, (_, at) => `n${at}${'x'.repeat(2_000)}`);
    const outer = [names.map((name) => `<${name}>`), names.map((name) => `</${name}>`).reverse()];
    const within = outer.map((tags) => tags.join('')).join('<a/>'.repeat(80_000));
    const page = `<ListMultipartUploadsResult>${within}</ListMultipartUploadsResult>`;
    const other = await listen((_, response) => response.end(page));
    expect(await codeOf(open({ endpoint: other.url }).abortUploadsOf('bkt', 'big'))).toBe('no error');
    await other.close();
  });
});

describe('settings of new objects', () => {
  it('sends them with objects, uploads and the test object, and with nothing else', async () => {
    const written = {
      serverSideEncryption: 'aws:kms',
      kmsKeyId: 'arn:aws:kms:k',
      storageClass: 'STANDARD_IA',
      acl: 'bucket-owner-full-control',
    } as const;
    const seen: string[] = [];
    fault = ({ method, query, headers }) => {
      const found = Object.entries(headers).filter(([name]) => /^x-amz-(server-side|storage|acl)/.test(name));
      const words = [...query.keys()].filter((name) => name !== 'partNumber');
      seen.push(
        `${method} ${words.join()} ${found
          .map((pair) => pair.join('='))
          .sort()
          .join(' ')}`,
      );
      // the embedded store has no encryption
      for (const [name] of found) delete (headers as Record<string, unknown>)[name];
      return undefined;
    };
    const store = open({ written });
    expect(await store.checkDestination('bkt')).toEqual({
      kind: 'usable',
      canDelete: true,
      canRead: true,
      isEncryptionUnconfirmed: true,
    });
    const upload = await store.startMultipartUpload('bkt', 'a', { onlyIfAbsent: true });
    await upload.write(Buffer.from('text'));
    await upload.complete();
    const headers = [
      'x-amz-acl=bucket-owner-full-control',
      'x-amz-server-side-encryption-aws-kms-key-id=arn:aws:kms:k',
      'x-amz-server-side-encryption=aws:kms',
      'x-amz-storage-class=STANDARD_IA',
    ].join(' ');
    expect(seen).toEqual([
      `PUT  ${headers}`,
      'HEAD  ',
      'DELETE  ',
      `POST uploads ${headers}`,
      'PUT uploadId ',
      'POST uploadId ',
      'HEAD  ',
    ]);
  });

  it.each<[string, WriteSettings, RegExp]>([
    ['encryption', { serverSideEncryption: 'AES256' }, /^NotImplemented: .*encryption/],
    ['a storage class', { storageClass: 'GLACIER' }, /^InvalidStorageClass: /],
  ])('refuses %s that the store does not have, in the words of the store', async (_name, written, advice) => {
    expect(await open({ written }).checkDestination('bkt')).toMatchObject({
      kind: 'refused',
      message: 'Bucket is not valid',
      advice: expect.stringMatching(advice),
    });
  });
});

describe('checkDestination', () => {
  it('accepts a destination and leaves nothing behind', async () => {
    expect(await store.checkDestination('bkt', '/my/prefix/')).toEqual({
      kind: 'usable',
      canDelete: true,
      canRead: true,
    });
    expect(asked[0]).toMatch(/^PUT my\/prefix\/tmp\/[0-9a-f-]{36}\.txt/);
    expect(await keys()).toEqual([]);
  });

  it('accepts a destination where it may only write', async () => {
    fault = ({ method }) => (method === 'PUT' ? undefined : { kind: 'error', code: 'AccessDenied' });
    expect(await store.checkDestination('bkt')).toEqual({ kind: 'usable', canDelete: false, canRead: false });
  });

  it.each<[string, Partial<ObjectStoreSettings>, string, string]>([
    ['an unknown key id', { accessKeyId: 'AKOTHER' }, 'bkt', 'Key ID you provided does not exist'],
    ['a wrong secret', { secretAccessKey: 'wrong' }, 'bkt', 'Access denied'],
    ['a bucket that is not there', {}, 'nobucket', 'Bucket is not valid'],
    ['a bucket name that cannot be', {}, 'Not_A_Bucket!', 'Bucket is not valid'],
    ['a port without a listener', { endpoint: 'http://127.0.0.1:1', attempts: 1 }, 'bkt', 'Invalid endpoint'],
    [
      'a host that does not exist',
      { endpoint: 'http://nowhere.invalid', attempts: 1 },
      'bkt',
      'Invalid endpoint',
    ],
    [
      'TLS where there is none',
      { endpoint: 'https://127.0.0.1:PORT', attempts: 1 },
      'bkt',
      'Invalid endpoint',
    ],
  ])('refuses %s', async (_name, settings, bucket, message) => {
    const endpoint = (settings.endpoint ?? server.endpoint).replace('PORT', String(server.port));
    const check = await open({ ...settings, endpoint }).checkDestination(bucket);
    expect(check).toMatchObject({ kind: 'refused', message });
    expect(JSON.stringify(check)).not.toContain('127.0.0.1');
  });

  it.each<[string, RequestListener, string]>([
    ['says yes to everything', (_, response) => response.end('<html>Welcome</html>'), 'Invalid endpoint'],
    [
      'knows no such page',
      (_, response) => response.writeHead(404).end('<html>no</html>'),
      'Invalid endpoint',
    ],
    ['forbids the method', (_, response) => response.writeHead(405).end(), 'Invalid endpoint'],
    [
      'leads elsewhere',
      (_, response) => response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
      'Invalid endpoint',
    ],
    [
      'says 200 and an ETag to everything',
      (_, response) => response.writeHead(200, { etag: '"x"' }).end(),
      'Invalid endpoint',
    ],
    [
      'accepts an object and does not have it',
      ({ method }, response) => response.writeHead(method === 'PUT' ? 200 : 404, { etag: '"x"' }).end(),
      'Invalid endpoint',
    ],
    [
      'accepts an object and fails to look for it',
      ({ method }, response) => response.writeHead(method === 'PUT' ? 200 : 500, { etag: '"x"' }).end(),
      'Invalid endpoint',
    ],
    [
      'accepts an object and cannot look for it',
      ({ method }, response) => response.writeHead(method === 'PUT' ? 200 : 405, { etag: '"x"' }).end(),
      'Invalid endpoint',
    ],
    ['is down', (_, response) => response.writeHead(503).end('<html>down</html>'), 'Invalid endpoint'],
    ['never answers', () => undefined, 'Invalid endpoint'],
  ])('refuses a web server that %s', async (_name, listener, message) => {
    const other = await listen(listener);
    const tested = open({ endpoint: other.url, attempts: 2, timeoutMs: 300 });
    const advice = expect.stringMatching(/ \(\w+\)$/);
    expect(await tested.checkDestination('bkt')).toMatchObject({ kind: 'refused', message, advice });
    await other.close();
  });

  it('names the request that a busy store refused', async () => {
    const busy = await listen((_, response) =>
      response.writeHead(503).end('<Error><Code>SlowDown</Code></Error>'),
    );
    await expect(open({ endpoint: busy.url, attempts: 1 }).put('bkt', 'k', 'x')).rejects.toThrow(
      'The object store answered SlowDown to: put k in bucket bkt',
    );
    await busy.close();
  });

  it.each([
    ['PUT', 400, { kind: 'refused', message: 'Invalid endpoint' }],
    ['DELETE', 200, { kind: 'usable', canDelete: false }],
  ])('reads no endless answer to %s to its end', async (method, status, expected) => {
    let sent = 0;
    let length = '';
    const other = await listen((request, response) => {
      const isEndless = request.method === method;
      if (request.method === 'PUT') length = request.headers['content-length'] ?? '';
      const asStored = request.method === 'HEAD' ? { 'content-length': length } : {};
      response.writeHead(isEndless ? status : 200, { etag: '"x"', ...asStored });
      if (!isEndless) return void response.end();
      const more = (): void => {
        sent += MIB;
        // else the test itself would be the victim
        if (sent > 128 * MIB) response.end();
        else response.write(Buffer.alloc(MIB, 'x'), () => setImmediate(more));
      };
      more();
    });
    expect(await open({ endpoint: other.url, attempts: 1 }).checkDestination('bkt')).toMatchObject(expected);
    expect(sent).toBeLessThan(64 * MIB);
    await other.close();
  });

  it('gives up a server that says a byte now and then', async () => {
    const clock = new FakeClock();
    const { promise: isAsked, resolve } = Promise.withResolvers<void>();
    let gone = 0;
    const other = await listen((_, response) => {
      response.writeHead(400).flushHeaders();
      const more = setInterval(() => response.write('x'), 5);
      response.on('close', () => (clearInterval(more), gone++));
      resolve();
    });
    const settings = { endpoint: other.url, allowPrivateEndpoints: true, ...KEYS };
    const testing = testDestination(settings, 'bkt', undefined, { clock });
    await isAsked;
    await clock.advance(30_000);
    expect(await testing).toEqual({
      kind: 'refused',
      message: 'Invalid endpoint',
      detail: 'ETIMEDOUT',
      advice: 'no answer in time (ETIMEDOUT)',
      retryable: true,
    });
    await waitFor(() => gone === 1);
    await other.close();
  });

  it.each([
    ['constructor', 'constructor'],
    ['x'.repeat(10_000), 'NotAnObjectStore'],
    ['a\u001b[2J', 'NotAnObjectStore'],
  ])('takes a word alone for the code of a store: %.20s', async (code, detail) => {
    const body = `<Error><Code>${code}</Code></Error>`;
    const other = await listen((_, response) => response.writeHead(400).end(body));
    const check = await open({ endpoint: other.url, attempts: 1 }).checkDestination('bkt');
    expect(check).toMatchObject({ message: 'Invalid endpoint', detail });
    await other.close();
  });

  it.each([
    [401, 'Unauthorized', 'Access denied', ''],
    [403, 'Forbidden', 'Access denied', ''],
    [403, 'UserSuspended', 'Access denied', ''],
    [403, 'RequestTimeTooSkewed', 'Access denied', 'the clocks of the platform and the store differ'],
    [403, 'AllAccessDisabled', 'Access denied', ''],
    [403, 'AccessDenied', 'Access denied', ''],
    [403, 'SomethingOfAVendor', 'Access denied', ''],
    [400, 'KMS.DisabledException', 'Access denied', ''],
    [400, 'ExpiredToken', 'Access denied', ''],
    [403, 'InvalidAccessKeyId', 'Key ID you provided does not exist', ''],
    [404, 'NoSuchBucket', 'Bucket is not valid', ''],
    [400, 'InvalidRequest', 'Bucket is not valid', ''],
    [403, 'QuotaExceeded', 'Bucket is not valid', ''],
    [507, 'InsufficientStorage', 'Bucket is not valid', ''],
    [403, 'SecondLevelDomainForbidden', 'Bucket is not valid', 'include_bucket_in_prefix: false'],
    [400, 'SomethingElse', 'Invalid endpoint', ''],
  ])('says %i %s as "%s", with the sentence of the store', async (status, code, message, hint) => {
    const body = `<Error><Code>${code}</Code><Message>It is\nso &amp; so</Message></Error>`;
    const other = await listen((_, response) => response.writeHead(status).end(body));
    const check = await open({ endpoint: other.url, attempts: 1 }).checkDestination('bkt');
    const advice = expect.stringMatching(new RegExp(`${code}\\)?: It is so & so.*${hint}$`));
    expect(check).toMatchObject({ message, detail: code, advice, retryable: false });
    await other.close();
  });

  it.each([401, 403])('says a page of HTML with %i as "Access denied"', async (status) => {
    const other = await listen((_, response) => response.writeHead(status).end('<html>no</html>'));
    const check = await open({ endpoint: other.url }).checkDestination('bkt');
    expect(check).toMatchObject({ message: 'Access denied', retryable: false });
    await other.close();
  });

  it.each([403, 503])('repeats no credentials that a store repeats, in an answer of %i', async (status) => {
    const sessionToken = 'a/token+of=it';
    const other = await listen(({ headers }, response) => {
      const said = `${headers.authorization} ${headers['x-amz-security-token']} http://h/?X-Amz-Signature=12`;
      const words = `<Code>SlowDown</Code><Message>sent ${said}</Message>`;
      response.writeHead(status).end(`<Error>${words}</Error>`);
    });
    const check = await open({ endpoint: other.url, sessionToken, attempts: 1 }).checkDestination('bkt');
    expect(check).toMatchObject({ advice: expect.stringContaining('sent') });
    expect(JSON.stringify(check)).not.toMatch(/AKTEST|a\/token|Signature=[0-9a-f]{2}/);
    await other.close();
  });

  it('keeps no more than the beginning of a sentence of a store', async () => {
    const sentence = `not &lt; allowed ${'x x '.repeat(10_000)}`;
    const body = `<Error><Code>AccessDenied</Code><Message>${sentence}</Message></Error>`;
    const other = await listen((_, response) => response.writeHead(403).end(body));
    const failure = await open({ endpoint: other.url }).put('bkt', 'k', 'x').catch(errorText);
    expect(failure).toMatch(/^The object store answered AccessDenied to: put k .*; it says: not < allowed/);
    expect(String(failure).length).toBeLessThan(1_000);
    await other.close();
  });

  it('refuses a server that sends thousands of interim answers', async () => {
    const other = await listen(({ socket }, response) => {
      socket.write('HTTP/1.1 103 \r\n\r\n'.repeat(5_000));
      response.writeHead(403).end();
    });
    const check = await open({ endpoint: other.url, attempts: 1 }).checkDestination('bkt');
    expect(check).toMatchObject({ message: 'Invalid endpoint', detail: 'NotAnObjectStore' });
    await other.close();
  });

  it('refuses a server that does not speak HTTP', async () => {
    const tcp = createTcpServer((socket) => socket.on('error', () => undefined).end('220 mail ready\r\n'));
    await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve));
    const endpoint = `http://127.0.0.1:${(tcp.address() as AddressInfo).port}`;
    const check = await open({ endpoint, attempts: 1 }).checkDestination('bkt');
    expect(check).toMatchObject({ kind: 'refused', message: 'Invalid endpoint' });
    tcp.close();
  });
});

async function listen(listener: RequestListener): Promise<{ url: string; close(): Promise<void> }> {
  const other: Server = createServer(listener);
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(other.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        other.close(() => resolve());
        other.closeAllConnections();
      }),
  };
}
