import { createHash, createHmac, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { Client } from 'minio';
import { createLogger } from '#lib/telemetry';
import { FakeClock, waitFor } from '#lib/testing';
import { systemClock, type Clock } from '#lib/time';
import { type EmbeddedObjectStore, type FaultHook, startObjectStore } from './start-object-store.js';

const KEYS = { accessKeyId: 'AKTEST/with+signs', secretAccessKey: 'secret/with+signs' };
const MIB = 1 << 20;

let folder: string;
let store: EmbeddedObjectStore;
let client: Client;
let fault: FaultHook | undefined;

function start(clock: Clock = systemClock): Promise<EmbeddedObjectStore> {
  const log = createLogger('test', 'silent');
  const options = { folder, host: '127.0.0.1', port: 0, log, buckets: ['first'], clock, ...KEYS };
  return startObjectStore({ ...options, fault: (target) => fault?.(target) });
}

function connect(overrides: Partial<ConstructorParameters<typeof Client>[0]> = {}): Client {
  return new Client({
    endPoint: '127.0.0.1',
    port: store.port,
    useSSL: false,
    accessKey: KEYS.accessKeyId,
    secretKey: KEYS.secretAccessKey,
    ...overrides,
  });
}

async function read(stream: Readable): Promise<Buffer> {
  return Buffer.concat(await stream.toArray());
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'no error',
    (error: { code?: string; message: string }) => error.code ?? error.message,
  );
}

async function keysOf(stream: Readable): Promise<string[]> {
  const items = (await stream.toArray()) as { name?: string; prefix?: string }[];
  return items.map(({ name, prefix }) => name ?? prefix ?? '?');
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'object-store-'));
  fault = undefined;
  store = await start();
  client = connect();
});

afterEach(async () => {
  await store.stop();
  await rm(folder, { recursive: true, force: true });
});

describe('buckets', () => {
  it('creates, finds and lists buckets, and removes empty ones', async () => {
    await client.makeBucket('second');
    expect(await client.bucketExists('second')).toBe(true);
    expect(await client.bucketExists('third')).toBe(false);
    expect((await client.listBuckets()).map(({ name }) => name).sort()).toEqual(['first', 'second']);
    await client.putObject('second', 'a/b', 'x');
    expect(await codeOf(client.removeBucket('second'))).toBe('BucketNotEmpty');
    await client.removeObject('second', 'a/b');
    await client.removeBucket('second');
    expect(await client.bucketExists('second')).toBe(false);
  });

  it('refuses a write to a missing bucket', async () => {
    expect(await codeOf(client.putObject('third', 'a', 'x'))).toBe('NoSuchBucket');
    expect(await codeOf(client.statObject('.store', 'a'))).not.toBe('no error');
  });
});

describe('objects', () => {
  it('returns objects as written, with etag, type and user metadata', async () => {
    const body = randomBytes(300_000);
    const { etag } = await client.putObject('first', 'x/y.bin', body, body.length, {
      'Content-Type': 'application/x-test',
      'x-amz-meta-colour': 'blue',
    });
    expect(etag).toBe(createHash('md5').update(body).digest('hex'));
    expect(await read(await client.getObject('first', 'x/y.bin'))).toEqual(body);
    const stat = await client.statObject('first', 'x/y.bin');
    expect(stat).toMatchObject({ size: body.length, etag });
    expect(stat.metaData).toMatchObject({ 'content-type': 'application/x-test', colour: 'blue' });
  });

  it('stores objects as plain files that another program can open', async () => {
    await client.putObject('first', 'year=2026/part-00001.parquet', 'PAR1');
    expect(await readFile(join(folder, 'first/year=2026/part-00001.parquet'), 'utf8')).toBe('PAR1');
  });

  it('serves files that were added by hand', async () => {
    await writeFile(join(folder, 'first', 'by-hand.txt'), 'hello');
    expect(await client.statObject('first', 'by-hand.txt')).toMatchObject({ size: 5 });
    expect(await keysOf(client.listObjectsV2('first', '', true))).toEqual(['by-hand.txt']);
  });

  it.each([
    ['the first bytes', 0, 10],
    ['bytes in the middle', 1000, 5000],
    ['everything from a place on', 99_990, undefined],
  ])('reads ranges: %s', async (_name, offset, length) => {
    const body = randomBytes(100_000);
    await client.putObject('first', 'r', body);
    const end = length === undefined ? body.length : offset + length;
    expect(await read(await client.getPartialObject('first', 'r', offset, length))).toEqual(
      body.subarray(offset, end),
    );
  });

  it('refuses a range beyond the end', async () => {
    await client.putObject('first', 'r', 'short');
    expect(await codeOf(client.getPartialObject('first', 'r', 100, 10))).toBe('InvalidRange');
  });

  it('replaces objects atomically: a reader that began before keeps its bytes', async () => {
    const before = randomBytes(4 * MIB);
    await client.putObject('first', 'k', before);
    const reading = await client.getObject('first', 'k');
    await client.putObject('first', 'k', 'after');
    expect((await read(reading)).equals(before)).toBe(true);
    expect((await read(await client.getObject('first', 'k'))).toString()).toBe('after');
  });

  it('deletes objects with the folders that become empty', async () => {
    await client.putObject('first', 'a/b/c', 'x');
    await client.removeObject('first', 'a/b/c');
    await client.removeObject('first', 'a/b/c');
    expect(await codeOf(client.statObject('first', 'a/b/c'))).toBe('NotFound');
    expect(await readdir(join(folder, 'first'))).toEqual([]);
    expect(await readdir(join(folder, '.store/facts/first'))).toEqual([]);
  });

  it('deletes many objects in one request', async () => {
    for (const key of ['a', 'b/<&">', 'c']) await client.putObject('first', key, 'x');
    await client.removeObjects('first', ['a', 'b/<&">', 'not there']);
    expect(await keysOf(client.listObjectsV2('first', '', true))).toEqual(['c']);
  });

  it('writes an object once when the writer sends If-None-Match', async () => {
    const only = { 'If-None-Match': '*' };
    const racers = Array.from({ length: 20 }, (_, n) =>
      codeOf(client.putObject('first', 'once', `racer ${n}`, undefined, only)),
    );
    const results = await Promise.all(racers);
    expect(results.filter((code) => code === 'no error')).toHaveLength(1);
    expect(results.filter((code) => code === 'PreconditionFailed')).toHaveLength(19);
  });
});

describe('keys', () => {
  it.each([
    ['climbs out', '../../../etc/passwd'],
    ['hides', '.hidden/..'],
    ['is the name of the own folder', '.store/tmp/x'],
    ['has empty segments', 'a//b/'],
    ['has everything', 'päth/with space/日本語/100%/a+b=c&d?e#f\\g"h\'i(j)*'],
    ['has marks of the encoding', 'x%d/y%o/%e/%2E'],
  ])('keeps a key inside the folder and readable when it %s', async (_name, key) => {
    // the client refuses some of these, a signed address does not
    const url = await client.presignedPutObject('first', 'PLACE', 60).then(() => presign('PUT', key));
    expect((await send('PUT', url, key)).status).toBe(200);
    expect((await send('GET', presign('GET', key))).text).toBe(key);
    const listed = (await client.listObjectsV2Query('first', '', '', '', 1000, '')).objects;
    expect(listed.map(({ name }) => name)).toEqual([key]);
    expect((await readdir(folder)).sort()).toEqual(['.store', 'first']);
  });

  it('stores keys that are prefixes of one another, in any order', async () => {
    for (const key of ['a/b/c', 'a', 'a/b', 'x', 'x/y', 'x/y/z', 'a/', 'a//b', 'x//y', 'x/'])
      await client.putObject('first', key, key);
    await client.removeObject('first', 'x');
    await client.putObject('first', 'x/w', 'x/w');
    const keys = await keysOf(client.listObjectsV2('first', '', true));
    expect(keys).toEqual(['a', 'a/', 'a//b', 'a/b', 'a/b/c', 'x/', 'x//y', 'x/w', 'x/y', 'x/y/z']);
    for (const key of keys) expect((await read(await client.getObject('first', key))).toString()).toBe(key);
  });

  it('refuses keys that are too long', async () => {
    expect(await codeOf(client.putObject('first', 'k'.repeat(1001), 'x'))).toBe('KeyTooLongError');
  });
});

describe('lists', () => {
  const KEYS_IN_ORDER = ['a-1', 'a/1', 'a/2', 'a/b/1', 'a0', 'b', 'ä', '日', '😀'];

  beforeEach(async () => {
    for (const key of [...KEYS_IN_ORDER].reverse()) await client.putObject('first', key, 'x');
  });

  it.each([
    ['everything', '', true, KEYS_IN_ORDER],
    ['everything below a prefix', 'a/', true, ['a/1', 'a/2', 'a/b/1']],
    ['a prefix that ends inside a name', 'a', true, ['a-1', 'a/1', 'a/2', 'a/b/1', 'a0']],
    ['one level', '', false, ['a-1', 'a/', 'a0', 'b', 'ä', '日', '😀']],
    ['one level below a prefix', 'a/', false, ['a/1', 'a/2', 'a/b/']],
    ['nothing', 'zzz', true, []],
  ])('lists %s, in both versions', async (_name, prefix, recursive, expected) => {
    // the client puts groups last
    expect((await keysOf(client.listObjectsV2('first', prefix, recursive))).sort()).toEqual(
      [...expected].sort(),
    );
    expect((await keysOf(client.listObjects('first', prefix, recursive))).sort()).toEqual(
      [...expected].sort(),
    );
  });

  it('pages in every size without loss and without repetition', async () => {
    for (const delimiter of ['', '/'])
      for (let size = 1; size <= 4; size++) {
        const seen: string[] = [];
        for (let token = ''; ;) {
          const page = await client.listObjectsV2Query('first', '', token, delimiter, size, '');
          seen.push(...page.objects.map((item) => ('name' in item ? item.name : item.prefix) ?? '?'));
          if (!page.isTruncated) break;
          token = page.nextContinuationToken;
        }
        const expected = delimiter === '' ? KEYS_IN_ORDER : ['a-1', 'a/', 'a0', 'b', 'ä', '日', '😀'];
        // the client puts the groups of a page last
        expect(seen.sort()).toEqual([...expected].sort());
      }
  });

  it('lists from a key on', async () => {
    expect(await keysOf(client.listObjectsV2('first', '', true, 'a/2'))).toEqual(KEYS_IN_ORDER.slice(3));
  });
});

describe('multipart uploads', () => {
  it('returns 60 MB as written, with the etag of parts', async () => {
    const block = randomBytes(MIB);
    const whole = createHash('sha256');
    const source = Readable.from(
      (function* () {
        for (let n = 0; n < 60; n++) {
          block.writeUInt32BE(n);
          whole.update(block);
          yield Buffer.from(block);
        }
      })(),
    );
    const streaming = connect({ partSize: 8 * MIB });
    const { etag } = await streaming.putObject('first', 'big', source);
    expect(etag).toMatch(/^[0-9a-f]{32}-8$/);
    expect(await client.statObject('first', 'big')).toMatchObject({ size: 60 * MIB, etag });
    const back = createHash('sha256');
    for await (const piece of await client.getObject('first', 'big')) back.update(piece as Buffer);
    expect(back.digest('hex')).toBe(whole.digest('hex'));
    expect(await readdir(join(folder, '.store/tmp'))).toEqual([]);
    expect(await readdir(join(folder, '.store/uploads/first'))).toEqual([]);
  });

  async function begin(key = 'm'): Promise<{
    id: string;
    part(number: number, body: Buffer): Promise<{ part: number; etag: string }>;
  }> {
    const id = await client.initiateNewMultipartUpload('first', key, {});
    const common = { bucketName: 'first', objectName: key, uploadID: id, headers: {} };
    return { id, part: (partNumber, body) => client.uploadPart({ ...common, partNumber }, body) };
  }

  it('computes the etag that AWS computes', async () => {
    const { id, part } = await begin();
    const bodies = [Buffer.alloc(5 * MIB, 1), Buffer.alloc(3, 2)];
    const parts = [await part(2, bodies[1] as Buffer), await part(1, bodies[0] as Buffer)].reverse();
    const md5s = bodies.map((body) => createHash('md5').update(body).digest());
    const { etag } = await client.completeMultipartUpload('first', 'm', id, parts);
    expect(etag).toBe(`${createHash('md5').update(Buffer.concat(md5s)).digest('hex')}-2`);
  });

  it('refuses objects and parts that are not what their Content-MD5 says', async () => {
    const { id } = await begin('checked');
    const right = createHash('md5').update('right').digest('base64');
    for (const [key, query] of [
      ['checked', { uploadId: id, partNumber: '1' }],
      ['object', {}],
    ] as const) {
      const url = presign('PUT', key, query);
      const refused = await send('PUT', url, 'wrong', { 'content-md5': right });
      expect(refused).toMatchObject({ status: 400, text: expect.stringContaining('BadDigest') });
      expect(await send('PUT', url, 'right', { 'content-md5': right })).toMatchObject({ status: 200 });
    }
  });

  it('joins parts of different sizes, replaced ones and those sent in any order', async () => {
    const { id, part } = await begin();
    const bodies = [5 * MIB, 5 * MIB + 1, 7 * MIB - 1, 6 * MIB, 0].map((size) => randomBytes(size));
    await part(2, randomBytes(9 * MIB));
    await part(9, Buffer.from('not chosen'));
    const sent: { part: number; etag: string }[] = [];
    for (const at of [4, 2, 0, 3, 1]) sent.push(await part(at + 1, bodies[at] ?? Buffer.alloc(0)));
    sent.sort((a, b) => a.part - b.part);
    await client.completeMultipartUpload('first', 'm', id, sent);
    const stored = await read(await client.getObject('first', 'm'));
    expect(stored.equals(Buffer.concat(bodies))).toBe(true);
    expect(await readdir(join(folder, '.store/tmp'))).toEqual([]);
    expect(await readdir(join(folder, '.store/uploads/first'))).toEqual([]);
  });

  it('lists uploads with their parts until they end', async () => {
    const { id, part } = await begin('p/open');
    await part(3, Buffer.from('three'));
    await part(1, Buffer.from('one'));
    await part(1, Buffer.from('one again'));
    const uploads = await client.listIncompleteUploads('first', 'p/', true).toArray();
    expect(uploads).toMatchObject([{ key: 'p/open', uploadId: id }]);
    const listed = await (
      client as unknown as { listParts(...words: string[]): Promise<object[]> }
    ).listParts('first', 'p/open', id);
    expect(listed).toMatchObject([
      { part: 1, size: 9 },
      { part: 3, size: 5 },
    ]);
    await client.abortMultipartUpload('first', 'p/open', id);
    expect(await client.listIncompleteUploads('first', '', true).toArray()).toEqual([]);
    expect(await codeOf(part(4, Buffer.from('late')))).toBe('NoSuchUpload');
    expect(await codeOf(client.abortMultipartUpload('first', 'p/open', id))).toBe('NoSuchUpload');
  });

  it('lists uploads in pages of every size, also while those of the pages before are aborted', async () => {
    for (let size = 1; size <= 4; size++) {
      const begun: string[] = [];
      for (const key of ['p/a', 'p/b', 'p/b', 'p/b', 'p/c']) begun.push(`${key} ${(await begin(key)).id}`);
      const seen: string[] = [];
      for (let marker: Record<string, string> = {}; ;) {
        const query = { uploads: '', prefix: 'p/', 'max-uploads': String(size), ...marker };
        const { text } = await send('GET', presign('GET', '', query));
        const word = (name: string): string => new RegExp(`<${name}>([^<]*)<`).exec(text)?.[1] ?? '';
        for (const [, key = '', id = ''] of text.matchAll(/<Upload><Key>(.*?)<.*?<UploadId>(.*?)</gs)) {
          seen.push(`${key} ${id}`);
          await client.abortMultipartUpload('first', key, id);
        }
        if (word('IsTruncated') !== 'true') break;
        marker = { 'key-marker': word('NextKeyMarker'), 'upload-id-marker': word('NextUploadIdMarker') };
      }
      expect(seen).toEqual(begun.sort());
    }
  });

  it('refuses parts that are too small, wrong or out of order', async () => {
    const { id, part } = await begin();
    const small = await part(1, Buffer.from('small'));
    const last = await part(2, Buffer.from('last'));
    const complete = (parts: object[]): Promise<unknown> =>
      client.completeMultipartUpload('first', 'm', id, parts as (typeof small)[]);
    expect(await codeOf(complete([small, last]))).toBe('EntityTooSmall');
    expect(await codeOf(complete([{ ...last, etag: small.etag }]))).toBe('InvalidPart');
    expect(await codeOf(complete([last, small]))).toBe('InvalidPartOrder');
    expect(await codeOf(complete([last]))).toBe('no error');
    expect(await codeOf(complete([last]))).toBe('NoSuchUpload');
  });

  it('refuses the upload that would be the thousand and first of its bucket', async () => {
    const uploads = join(folder, '.store/uploads/first');
    for (let made = 0; made < 999; made++) await mkdir(join(uploads, String(made)));
    const outcomes = await Promise.all([codeOf(begin('one')), codeOf(begin('two'))]);
    expect(outcomes.sort()).toEqual([expect.stringMatching(/503|SlowDown/), 'no error']);
    expect(await readdir(uploads)).toHaveLength(1_000);
  });

  it('removes uploads that were idle for a week', async () => {
    await store.stop();
    const clock = new FakeClock(new Date());
    store = await start(clock);
    client = connect();
    const begin = (key: string): Promise<string> => client.initiateNewMultipartUpload('first', key, {});
    const left = async (): Promise<string[]> => (await readdir(join(folder, '.store/uploads/first'))).sort();
    const [old, alive, young] = [await begin('old'), await begin('alive'), await begin('young')];
    // files of a process that died while it removed an upload
    await mkdir(join(folder, '.store/uploads/first/half'));
    const week = 7 * 24 * 3_600_000;
    const past = new Date(Date.now() - week - 60_000);
    for (const id of [old, alive, 'half']) await utimes(join(folder, '.store/uploads/first', id), past, past);
    const part = { bucketName: 'first', objectName: 'alive', uploadID: alive, partNumber: 1, headers: {} };
    await client.uploadPart(part, Buffer.from('x'));
    expect(await left()).toHaveLength(4);
    await waitFor(async () => {
      await clock.advance(3_600_000);
      return (await left()).length === 2;
    });
    expect(await left()).toEqual([alive, young].sort());
    await store.stop();
    for (const id of [alive, young]) await utimes(join(folder, '.store/uploads/first', id), past, past);
    store = await start();
    await waitFor(async () => (await left()).length === 0);
  });

  it('keeps uploads across a restart of the store', async () => {
    const { id, part } = await begin();
    const first = await part(1, Buffer.alloc(5 * MIB, 7));
    await store.stop();
    store = await start();
    client = connect();
    const common = { bucketName: 'first', objectName: 'm', uploadID: id, headers: {} };
    const second = await client.uploadPart({ ...common, partNumber: 2 }, Buffer.from('end'));
    await client.completeMultipartUpload('first', 'm', id, [first, second]);
    expect(await client.statObject('first', 'm')).toMatchObject({ size: 5 * MIB + 3 });
  });

  it('completes once when the key must be absent', async () => {
    await client.putObject('first', 'm', 'already here');
    const { id, part } = await begin();
    const { etag } = await part(1, Buffer.from('new'));
    const url = presign('POST', 'm', { uploadId: id });
    const xml = `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>"${etag}"</ETag></Part></CompleteMultipartUpload>`;
    const refused = await send('POST', url, xml, { 'if-none-match': '*' });
    expect(refused).toMatchObject({ status: 412, text: expect.stringContaining('PreconditionFailed') });
    await client.removeObject('first', 'm');
    expect(await send('POST', url, xml, { 'if-none-match': '*' })).toMatchObject({ status: 200 });
  });
});

describe('signatures', () => {
  it.each([
    ['an unknown key', { accessKey: 'AKNOBODY' }, 'InvalidAccessKeyId'],
    ['a wrong secret', { secretKey: 'wrong' }, 'SignatureDoesNotMatch'],
    ['no key at all', { accessKey: '', secretKey: '' }, 'AccessDenied'],
  ])('refuses %s', async (_name, overrides, code) => {
    expect(await codeOf(connect({ ...overrides, region: 'us-east-1' }).putObject('first', 'a', 'x'))).toBe(
      code,
    );
  });

  it('accepts any region', async () => {
    expect(await codeOf(connect({ region: 'eu-west-3' }).putObject('first', 'a', 'x'))).toBe('no error');
  });

  it('limits a presigned URL to its key, its method and its time', async () => {
    await client.putObject('first', 'a b', 'content');
    const url = await client.presignedGetObject('first', 'a b', 60);
    expect(await send('GET', url)).toMatchObject({ status: 200, text: 'content' });
    expect(await send('DELETE', url)).toMatchObject({ status: 403 });
    expect(await send('GET', url.replace('a%20b', 'a%20c'))).toMatchObject({ status: 403 });
    const old = await client.presignedUrl('GET', 'first', 'a b', 1, {}, new Date('2026-01-01T00:00:00Z'));
    expect(await send('GET', old)).toMatchObject({ status: 403, text: expect.stringContaining('expired') });
  });

  it('compares the hash of the body and keeps nothing of a wrong one', async () => {
    const url = presign('PUT', 'a', {
      'X-Amz-Content-Sha256': createHash('sha256').update('x').digest('hex'),
    });
    expect(await send('PUT', url, 'y')).toMatchObject({
      status: 400,
      text: expect.stringContaining('XAmzContentSHA256Mismatch'),
    });
    expect(await codeOf(client.statObject('first', 'a'))).toBe('NotFound');
    expect(await readdir(join(folder, '.store/tmp'))).toEqual([]);
  });
});

describe('unsupported operations', () => {
  it.each([
    ['PUT', 'k', 'tagging'],
    ['PUT', 'k', 'acl'],
    ['DELETE', 'k', 'tagging'],
    ['GET', '', 'policy'],
  ])('refuses %s /%s?%s', async (method, key, word) => {
    await client.putObject('first', 'k', 'kept');
    expect(
      await send(method, presign(method, key, { [word]: '' }), method === 'PUT' ? 'x' : undefined),
    ).toMatchObject({
      status: 501,
    });
    expect((await read(await client.getObject('first', 'k'))).toString()).toBe('kept');
  });
});

describe('faults for tests of clients', () => {
  it('cuts the connection before or after the work, or answers with an error', async () => {
    fault = ({ key }) =>
      key === 'cut'
        ? { kind: 'reset' }
        : key === 'lost'
          ? { kind: 'lost-answer' }
          : key === 'busy'
            ? { kind: 'error', code: 'AccessDenied' }
            : undefined;
    expect(await codeOf(client.putObject('first', 'cut', 'x'))).toBe('ECONNRESET');
    expect(await codeOf(client.putObject('first', 'lost', 'x'))).toBe('ECONNRESET');
    expect(await codeOf(client.putObject('first', 'busy', 'x'))).toBe('AccessDenied');
    fault = undefined;
    expect(await keysOf(client.listObjectsV2('first', '', true))).toEqual(['lost']);
  });
});

// ---- addresses signed here, because the client refuses or normalises some keys

function presign(method: string, key: string, query: Record<string, string> = {}): string {
  const strict = (text: string): string =>
    encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  const date = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
  const scope = `${date.slice(0, 8)}/us-east-1/s3/aws4_request`;
  const all = {
    ...query,
    'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
    'X-Amz-Credential': `${KEYS.accessKeyId}/${scope}`,
    'X-Amz-Date': date,
    'X-Amz-Expires': '60',
    'X-Amz-SignedHeaders': 'host',
  };
  const text = Object.entries(all)
    .map(([name, value]) => `${strict(name)}=${strict(value)}`)
    .sort()
    .join('&');
  const path = `/first${key === '' ? '' : `/${key.split('/').map(strict).join('/')}`}`;
  const payload = query['X-Amz-Content-Sha256'] ?? 'UNSIGNED-PAYLOAD';
  const canonical = [method, path, text, `host:127.0.0.1:${store.port}\n`, 'host', payload].join('\n');
  const toSign = ['AWS4-HMAC-SHA256', date, scope, createHash('sha256').update(canonical).digest('hex')].join(
    '\n',
  );
  const key4 = scope
    .split('/')
    .reduce<string | Buffer>((key, word) => hmac(key, word), `AWS4${KEYS.secretAccessKey}`);
  return `${store.endpoint}${path}?${text}&X-Amz-Signature=${hmac(key4, toSign).toString('hex')}`;
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

/** The path goes out as it is: `fetch` and `new URL` would resolve its dots. */
function send(
  method: string,
  url: string,
  body?: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const options = { method, host: '127.0.0.1', port: store.port, path: url.slice(store.endpoint.length) };
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
    const sent = httpRequest({ ...options, headers: { ...length, ...headers } }, (response) => {
      void read(response).then(
        (text) => resolve({ status: response.statusCode ?? 0, text: text.toString() }),
        reject,
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
