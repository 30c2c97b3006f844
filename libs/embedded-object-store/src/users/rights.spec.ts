import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from 'minio';
import { createLogger } from '#lib/telemetry';
import { startObjectStore, type EmbeddedObjectStore } from '../start-object-store.js';
import { StoreUserFile } from './store-user-file.js';
import type { StoreUser } from './store-user.js';

const MIB = 1 << 20;
const PART = Buffer.alloc(5 * MIB, 'x');

let folder: string;
let store: EmbeddedObjectStore;
let users: StoreUserFile;
let operator: Client;
/** May write `exports/ws-a` of the bucket `shared`, and remove what it tried out. */
let writer: Client;
/** The same in `exports/ws-ab`. */
let neighbour: Client;

const write = (prefix: string) =>
  users.ensure(prefix, [
    { bucket: 'shared', prefix, actions: ['write', 'stat'] },
    { bucket: 'shared', prefix: `${prefix}/tmp`, actions: ['delete'] },
  ]);

function clientOf({ accessKeyId, secretAccessKey }: StoreUser): Client {
  return new Client({
    endPoint: '127.0.0.1',
    port: store.port,
    useSSL: false,
    region: 'us-east-1',
    accessKey: accessKeyId,
    secretKey: secretAccessKey,
  });
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

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'object-store-rights-'));
  users = new StoreUserFile(join(folder, 'users.json'));
  store = await startObjectStore({
    folder: join(folder, 'objects'),
    host: '127.0.0.1',
    port: 0,
    log: createLogger('test', 'silent'),
    buckets: ['shared', 'other'],
    users: new StoreUserFile(join(folder, 'users.json')),
  });
  operator = clientOf(
    users.ensure('operator', [{ bucket: '*', prefix: '', actions: ['write', 'read', 'list', 'delete'] }]),
  );
  writer = clientOf(write('exports/ws-a'));
  neighbour = clientOf(write('exports/ws-ab'));
});

afterAll(async () => {
  await store.stop();
  await rm(folder, { recursive: true, force: true });
});

beforeEach(async () => {
  for (const key of ['exports/ws-a/own', 'exports/ws-ab/theirs', 'exports/flat', 'root'])
    await operator.putObject('shared', key, 'before');
  await operator.putObject('other', 'exports/ws-a/own', 'before');
});

describe('a key that may only write under a prefix', () => {
  it('writes objects and finds out their size', async () => {
    await writer.putObject('shared', 'exports/ws-a/day=1/part.parquet', 'PAR1');
    expect(await writer.statObject('shared', 'exports/ws-a/day=1/part.parquet')).toMatchObject({ size: 4 });
  });

  it('uploads in parts, lists its open uploads and aborts one', async () => {
    const key = 'exports/ws-a/large';
    const id = await writer.initiateNewMultipartUpload('shared', key, {});
    const part = { bucketName: 'shared', objectName: key, uploadID: id, partNumber: 1, headers: {} };
    const { etag } = await writer.uploadPart(part, PART);
    expect((await keysOf(writer.listIncompleteUploads('shared', 'exports/ws-a/', true))).length).toBe(0 + 1);
    await writer.completeMultipartUpload('shared', key, id, [{ part: 1, etag }]);
    expect(await writer.statObject('shared', key)).toMatchObject({ size: PART.length });
    const second = await writer.initiateNewMultipartUpload('shared', key, {});
    await writer.abortMultipartUpload('shared', key, second);
    expect(await keysOf(writer.listIncompleteUploads('shared', 'exports/ws-a/', true))).toEqual([]);
  });

  it('removes what it tried out', async () => {
    await writer.putObject('shared', 'exports/ws-a/tmp/test.txt', 'x');
    await writer.removeObject('shared', 'exports/ws-a/tmp/test.txt');
    expect(await codeOf(operator.statObject('shared', 'exports/ws-a/tmp/test.txt'))).toBe('NotFound');
  });

  const others = [
    'exports/ws-ab/theirs',
    'exports/ws-ab/new',
    'exports/ws-a',
    'exports/ws-a.parquet',
    'exports/flat',
    'root',
    'exports/',
    '../other/exports/ws-a/x',
    'exports/../exports/ws-ab/theirs',
    'exports//ws-a/x',
    '/exports/ws-a/x',
    'Exports/ws-a/x',
    'exports/ws-a%2Fx',
    'exports\\ws-a/x',
  ];

  it.each(others)('writes no object %s', async (key) => {
    expect(await codeOf(writer.putObject('shared', key, 'evil'))).toBe('AccessDenied');
  });

  it.each(others)('begins no upload of %s', async (key) => {
    expect(await codeOf(writer.initiateNewMultipartUpload('shared', key, {}))).toBe('AccessDenied');
  });

  it('keeps what looks like a way out of its prefix inside it', async () => {
    await writer.putObject('shared', 'exports/ws-a/../../../other/evil', 'x');
    expect(await keysOf(operator.listObjectsV2('shared', 'exports/ws-a/..', true))).toEqual([
      'exports/ws-a/../../../other/evil',
    ]);
    expect(await readdir(join(folder, 'objects', 'other'))).toEqual(['exports']);
  });

  it.each<[string, () => Promise<unknown>]>([
    ['reads its own object', () => writer.getObject('shared', 'exports/ws-a/own')],
    ['reads a part of it', () => writer.getPartialObject('shared', 'exports/ws-a/own', 0, 2)],
    ['reads an object of others', () => writer.getObject('shared', 'exports/ws-ab/theirs')],
    ['finds out whether an object that is missing exists', () => writer.getObject('shared', 'missing')],
    ['lists its own objects', () => keysOf(writer.listObjectsV2('shared', 'exports/ws-a/', true))],
    ['lists objects in the old way', () => keysOf(writer.listObjects('shared', 'exports/ws-a/', true))],
    ['lists the bucket', () => keysOf(writer.listObjectsV2('shared', '', true))],
    ['lists uploads of the bucket', () => keysOf(writer.listIncompleteUploads('shared', '', true))],
    [
      'lists uploads of a neighbour',
      () => keysOf(writer.listIncompleteUploads('shared', 'exports/ws-a', true)),
    ],
    ['lists buckets', () => writer.listBuckets()],
    ['makes a bucket', () => writer.makeBucket('more')],
    ['removes a bucket', () => writer.removeBucket('other')],
    ['removes its own object', () => writer.removeObject('shared', 'exports/ws-a/own')],
    ['removes an object of others', () => writer.removeObject('shared', 'exports/ws-ab/theirs')],
    ['writes to another bucket', () => writer.putObject('other', 'exports/ws-a/x', 'x')],
    ['writes to a bucket that does not exist', () => writer.putObject('missing', 'exports/ws-a/x', 'x')],
    [
      'reads where another bucket lies',
      () => writer.getBucketRegionAsync('other').then(() => writer.statObject('other', 'exports/ws-a/own')),
    ],
    ['removes many objects of another bucket', () => writer.removeObjects('other', ['exports/ws-a/own'])],
    [
      'removes many objects of a bucket that does not exist',
      () => writer.removeObjects('missing', ['exports/ws-a/own']),
    ],
    ['removes the policy of the bucket', () => writer.setBucketPolicy('shared', '{}')],
  ])('never %s', async (_, attempt) => {
    expect(['AccessDenied', 'Forbidden', 'NotImplemented']).toContain(await codeOf(attempt()));
    expect(await operator.statObject('shared', 'exports/ws-ab/theirs')).toMatchObject({ size: 6 });
    expect(await operator.statObject('shared', 'exports/ws-a/own')).toMatchObject({ size: 6 });
  });

  it('removes nothing with a list of keys, and gets a refusal for each', async () => {
    const results = await writer.removeObjects('shared', ['exports/ws-a/own', 'exports/ws-ab/theirs']);
    expect(JSON.stringify(results).match(/AccessDenied/g)).toHaveLength(2);
    expect(await operator.statObject('shared', 'exports/ws-a/own')).toMatchObject({ size: 6 });
  });

  it('copies nothing into its prefix', async () => {
    const copy = writer.copyObject('shared', 'exports/ws-a/stolen', '/shared/exports/ws-ab/theirs');
    expect(await codeOf(copy)).toBe('AccessDenied');
    expect(await codeOf(operator.statObject('shared', 'exports/ws-a/stolen'))).toBe('NotFound');
  });

  it('touches no upload of a neighbour whose id it knows', async () => {
    const key = 'exports/ws-ab/large';
    const uploadID = await neighbour.initiateNewMultipartUpload('shared', key, {});
    const part = (objectName: string) => ({
      bucketName: 'shared',
      objectName,
      uploadID,
      partNumber: 1,
      headers: {},
    });
    expect(await codeOf(writer.uploadPart(part(key), PART))).toBe('AccessDenied');
    expect(await codeOf(writer.abortMultipartUpload('shared', key, uploadID))).toBe('AccessDenied');
    expect(
      await codeOf(writer.completeMultipartUpload('shared', key, uploadID, [{ part: 1, etag: 'x' }])),
    ).toBe('AccessDenied');
    // under another key the id finds nothing
    expect(await codeOf(writer.uploadPart(part('exports/ws-a/large'), PART))).toBe('NoSuchUpload');
    expect(await codeOf(writer.abortMultipartUpload('shared', 'exports/ws-a/large', uploadID))).toBe(
      'NoSuchUpload',
    );
    await neighbour.abortMultipartUpload('shared', key, uploadID);
  });

  it('takes no places for uploads from its neighbours, however many it begins', async () => {
    const begin = (client: Client, key: string): Promise<string> =>
      client.initiateNewMultipartUpload('shared', key, {});
    let begun = 0;
    while (begun < 1_000 && (await codeOf(begin(writer, `exports/ws-a/${begun}`))) === 'no error') begun++;
    expect(begun).toBe(200);
    const theirs = await begin(neighbour, 'exports/ws-ab/large');
    await neighbour.abortMultipartUpload('shared', 'exports/ws-ab/large', theirs);
    // one that ends makes another possible
    const [first] = (await operator.listIncompleteUploads('shared', 'exports/ws-a/', true).toArray()) as {
      key: string;
      uploadId: string;
    }[];
    await writer.abortMultipartUpload('shared', first?.key ?? '', first?.uploadId ?? '');
    expect(await codeOf(begin(writer, 'exports/ws-a/one-more'))).toBe('no error');
    expect(await codeOf(begin(writer, 'exports/ws-a/two-more'))).toMatch(/503|SlowDown/);
    await rm(join(folder, 'objects/.store/uploads/shared'), { recursive: true });
  });

  it('signs no URL that allows more than itself', async () => {
    const statusOf = async (url: string, method: string) =>
      (await fetch(url, { method, ...(method === 'PUT' ? { body: 'x' } : {}) })).status;
    const presigned = (method: string, key: string) => writer.presignedUrl(method, 'shared', key, 60);
    expect(await statusOf(await presigned('GET', 'exports/ws-a/own'), 'GET')).toBe(403);
    expect(await statusOf(await presigned('DELETE', 'exports/ws-a/own'), 'DELETE')).toBe(403);
    expect(await statusOf(await presigned('PUT', 'exports/ws-ab/theirs'), 'PUT')).toBe(403);
    expect(await statusOf(await presigned('PUT', 'exports/ws-a/signed'), 'PUT')).toBe(200);
  });

  it('posts no form with a policy', async () => {
    const policy = writer.newPostPolicy();
    policy.setBucket('shared');
    policy.setKey('exports/ws-ab/theirs');
    policy.setExpires(new Date(Date.now() + 60_000));
    const { postURL, formData } = await writer.presignedPostPolicy(policy);
    const form = new FormData();
    for (const [name, value] of Object.entries(formData)) form.append(name, String(value));
    form.append('file', new Blob(['evil']), 'x');
    const answer = await fetch(postURL, { method: 'POST', body: form });
    expect(answer.status).toBe(403);
    expect(await answer.text()).toContain('<Code>AccessDenied</Code>');
  });

  it('gets its refusals in the words of AWS', async () => {
    const url = await writer.presignedUrl('GET', 'shared', 'exports/ws-a/own', 60);
    const answer = await fetch(url);
    expect(answer.status).toBe(403);
    expect(answer.headers.get('content-type')).toBe('application/xml');
    expect(await answer.text()).toMatch(
      /<Error>\s*<Code>AccessDenied<\/Code>\s*<Message>Access Denied<\/Message>\s*<Resource>\/shared\/exports\/ws-a\/own<\/Resource>\s*<RequestId>[0-9A-F]+<\/RequestId>/,
    );
  });
});

describe('the key of the operator', () => {
  it('reads, lists and removes objects of every bucket', async () => {
    expect((await operator.listBuckets()).map(({ name }) => name).sort()).toEqual(['other', 'shared']);
    expect(await keysOf(operator.listObjectsV2('shared', 'exports/ws-ab/', true))).toEqual([
      'exports/ws-ab/theirs',
    ]);
    await operator.removeObject('other', 'exports/ws-a/own');
    expect(await codeOf(operator.statObject('other', 'exports/ws-a/own'))).toBe('NotFound');
  });

  it('neither makes nor removes buckets', async () => {
    expect(await codeOf(operator.makeBucket('more'))).toBe('AccessDenied');
    expect(await codeOf(operator.removeBucket('other'))).toBe('AccessDenied');
  });
});

describe('users in a file', () => {
  it('knows a user from the write that adds it to the write that removes it', async () => {
    const path = join(folder, 'users.json');
    const user = write('exports/ws-late');
    const late = clientOf(user);
    await late.putObject('shared', 'exports/ws-late/x', 'x');
    const former = JSON.stringify({ users: [], retired: [] });
    const all = await readFile(path, 'utf8');
    await writeFile(path, former);
    expect(await codeOf(late.putObject('shared', 'exports/ws-late/x', 'x'))).toBe('InvalidAccessKeyId');
    await writeFile(path, all);
  });

  it('knows its users while the file is not JSON', async () => {
    const path = join(folder, 'users.json');
    const client = clientOf(write('exports/ws-late'));
    const all = await readFile(path, 'utf8');
    await client.putObject('shared', 'exports/ws-late/x', 'x');
    await writeFile(path, all.slice(0, -20));
    await client.putObject('shared', 'exports/ws-late/x', 'x');
    await writeFile(path, all);
    await client.putObject('shared', 'exports/ws-late/x', 'x');
  });

  it('keeps the keys of a user whose rights change', () => {
    const { accessKeyId, secretAccessKey } = write('exports/ws-a');
    expect(write('exports/ws-a')).toMatchObject({ accessKeyId, secretAccessKey });
    const changed = users.ensure('exports/ws-a', [
      { bucket: 'shared', prefix: 'elsewhere', actions: ['write'] },
    ]);
    expect(changed).toMatchObject({ accessKeyId, secretAccessKey });
    expect(new StoreUserFile(join(folder, 'users.json')).find(accessKeyId)?.grants).toEqual(changed.grants);
    write('exports/ws-a');
  });

  it('retires a key without giving it a right', () => {
    users.retire('AKOLD');
    users.retire('AKOLD');
    expect(users.retired).toEqual(['AKOLD']);
    expect(users.find('AKOLD')).toBeUndefined();
  });
});
