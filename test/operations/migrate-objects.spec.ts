import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type EmbeddedObjectStore, startObjectStore, StoredObjects } from '#lib/embedded-object-store';
import { type ObjectStore, openObjectStore } from '#lib/object-store';
import { createLogger } from '#lib/telemetry';
import { temporaryFolder } from '#lib/testing';
import { repository } from '../support/platform.js';

const KEYS = { accessKeyId: 'access', secretAccessKey: 'secret-secret' };
const SMALL = 120;
const LARGE = 'a/large'; // the first in the order of keys
const BUCKET = 'attachments';

describe('agentplane migrate objects', () => {
  const [machine, folder, served] = [temporaryFolder(), temporaryFolder(), temporaryFolder()];
  const storeFile = join(folder, 'store.json');
  const sums = new Map<string, string>();
  let target: EmbeddedObjectStore;
  let store: ObjectStore;
  /** Is told of each object or part that arrives there. */
  let onPut: () => void = () => undefined;

  beforeAll(async () => {
    writeFileSync(join(machine, 'format.json'), '{}');
    const objects = new StoredObjects(join(machine, 'objects'));
    await objects.prepare();
    const facts = { headers: { 'content-type': 'image/png' }, lastModified: new Date() };
    for (const key of [LARGE, 'empty', ...Array.from({ length: SMALL }, (_, at) => `k/${at} é.png`)]) {
      const bytes = randomBytes(key === LARGE ? 20 << 20 : key === 'empty' ? 0 : 3_000);
      const etag = createHash('md5').update(bytes).digest('hex');
      await objects.write({ bucket: BUCKET, key }, { ...facts, etag }, piecesOf(bytes));
      sums.set(key, createHash('sha256').update(bytes).digest('hex'));
    }
    await objects.createBucket('others');
    await objects.write({ bucket: 'others', key: 'x' }, { ...facts, etag: 'e' }, piecesOf(Buffer.from('x')));
    target = await startObjectStore({
      folder: served,
      host: '127.0.0.1',
      port: 0,
      ...KEYS,
      buckets: ['team', 'others'],
      log: createLogger('test', 'silent'),
      fault: ({ method }) => {
        if (method === 'PUT') onPut();
        return undefined;
      },
    });
    const { endpoint } = target;
    writeFileSync(
      storeFile,
      JSON.stringify({
        endpoint_url: endpoint,
        region: 'us-east-1',
        access_key_id: KEYS.accessKeyId,
        secret_access_key: KEYS.secretAccessKey,
      }),
    );
    store = openObjectStore({ endpoint, region: 'us-east-1', ...KEYS, allowPrivateEndpoints: true });
  });
  afterAll(async () => {
    store?.close();
    await target?.stop();
    rmSync(served, { recursive: true, force: true });
  });

  function start(...more: readonly string[]): ChildProcess {
    const args = ['migrate', 'objects', '--data', machine, ...more];
    return spawn(process.execPath, ['bin/agentplane.js', ...args], { cwd: repository, stdio: 'pipe' });
  }

  async function migrate(...more: readonly string[]): Promise<{ code: number | null; text: string }> {
    const child = start(...more);
    let text = '';
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => (text += chunk.toString()));
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, text };
  }

  const team = ['--store-file', storeFile, '--bucket', BUCKET, '--as', 'team'];

  async function countAt(bucket: string): Promise<number> {
    let count = 0;
    for await (const { size } of store.list(bucket, '')) count += size >= 0 ? 1 : 0;
    return count;
  }

  async function sumAt(key: string): Promise<string> {
    const hash = createHash('sha256');
    for await (const chunk of await store.get('team', key)) hash.update(chunk as Buffer);
    return hash.digest('hex');
  }

  it('goes on after it was killed, until the other store has every byte', async () => {
    const child = start(...team);
    const ended = once(child, 'close');
    let arrived = 0;
    onPut = () => {
      if (++arrived === 40) child.kill('SIGKILL');
    };
    await ended;
    onPut = () => undefined;
    const before = await countAt('team');
    expect(before).toBeGreaterThan(0);
    expect(before).toBeLessThan(sums.size);
    const { code, text } = await migrate(...team);
    expect([code, text]).toEqual([
      0,
      expect.stringMatching(/^Copied \d+ objects \(\d+ bytes\); (\d+) existed/m),
    ]);
    const [, copied, present] = /^Copied (\d+) .*; (\d+) existed/m.exec(text) ?? [];
    expect(Number(copied) + Number(present)).toBe(sums.size);
    // those that were on the way when it was killed may have arrived since
    expect(Number(present)).toBeGreaterThanOrEqual(before);
    expect(Number(copied)).toBeGreaterThan(0);
    for (const [key, sum] of sums) expect([key, await sumAt(key)]).toEqual([key, sum]);
    expect(await migrate(...team)).toEqual({
      code: 0,
      text: expect.stringContaining(`Copied 0 objects (0 bytes); ${sums.size} existed`),
    });
  });

  it('copies all buckets under their names without --bucket, and names one that is missing there', async () => {
    const { code, text } = await migrate('--store-file', storeFile);
    expect([code, text]).toEqual([1, expect.stringMatching(/NoSuchBucket/)]);
    const others = await migrate('--store-file', storeFile, '--bucket', 'others');
    expect([others.code, (await store.stat('others', 'x'))?.size]).toEqual([0, 1]);
  });

  it('refuses to replace another object of a key', async () => {
    await store.put('team', 'k/7 é.png', 'other text');
    const { code, text } = await migrate(...team);
    expect([code, text]).toEqual([
      1,
      expect.stringMatching(/k\/7 é\.png failed: bucket team has another object/),
    ]);
    await store.put('team', 'k/7 é.png', randomBytes(3_000));
    const sameSize = await migrate(...team);
    expect([sameSize.code, sameSize.text]).toEqual([1, expect.stringContaining('has another object')]);
  });

  it.each([
    ['an unknown member', { endpoint: 'http://x' }, /unknown member endpoint; use endpoint_url/],
    ['a value that is no text', { access_key_id: 1 }, /access_key_id in .* must be a text/],
  ])('refuses a file with %s', async (_, content, message) => {
    const file = join(folder, 'wrong.json');
    writeFileSync(file, JSON.stringify(content));
    const { code, text } = await migrate('--store-file', file);
    expect([code, text]).toEqual([1, expect.stringMatching(message)]);
  });
});

async function* piecesOf(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}
