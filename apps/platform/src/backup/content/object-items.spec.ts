import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type ObjectName, StoredObjects } from '#lib/embedded-object-store';
import { temporaryFolder } from '#lib/testing';
import { readTar, type TarItem, writeTar } from '#lib/tar';
import { ObjectItems, restoreObjects } from './object-items.js';

const KEYS = [
  'plain',
  'a/b',
  'a',
  'folder/',
  'with space/%41=ä',
  '.hidden',
  '../up',
  `${'long/'.repeat(60)}end`,
];
const FACTS = { etag: 'an etag', headers: { 'content-type': 'text/plain', 'x-amz-meta-of': 'a test' } };

async function* bytesOf(text: string): AsyncGenerator<Buffer> {
  if (text !== '') yield Buffer.from(text);
}

/** All objects with what is known of them and their content. */
async function contentsOf(folder: string): Promise<Readonly<Record<string, unknown>>> {
  const objects = new StoredObjects(folder);
  const all: Record<string, unknown> = {};
  for await (const { bucket, key } of objects.list()) {
    const found = await objects.open({ bucket, key });
    if (!found) continue;
    const { handle, etag, headers, lastModified } = found;
    const content = await handle.readFile('utf8');
    await handle.close();
    all[`${bucket} ${key}`] = { etag, headers, lastModified: lastModified.toISOString(), content };
  }
  return all;
}

describe('ObjectItems', () => {
  const folder = temporaryFolder();
  const original = join(folder, 'original');
  const copy = join(folder, 'copy');
  const written = new Date('2026-01-02T03:04:05.000Z');

  async function write({ bucket, key }: ObjectName, content = `content of ${key}`): Promise<void> {
    await new StoredObjects(original).write(
      { bucket, key },
      { ...FACTS, lastModified: written },
      bytesOf(content),
    );
  }

  /** Copies portions of so many bytes through a tar; answers how many there were. */
  async function copyAll(bytes: number, since?: Date, first?: () => Promise<void>): Promise<number> {
    let items = await ObjectItems.begin(original, undefined, since);
    let portions = 0;
    for (; items.hasMore; portions++) {
      const tar = writeTar(items.portion(bytes), { entries: 0, contentBytes: 0 });
      await restoreObjects(copy, readTar(tar));
      if (portions === 0) await first?.();
      // as after an interruption: the next portion begins behind the last object
      if (items.last) items = await ObjectItems.begin(original, items.last, since);
    }
    return portions;
  }

  beforeAll(async () => {
    await new StoredObjects(original).prepare();
    await new StoredObjects(original).createBucket('empty');
    for (const key of KEYS) for (const bucket of ['one', 'two']) await write({ bucket, key });
    await write({ bucket: 'one', key: 'nothing' }, '');
  });

  it('gives every object back with its facts, in portions that can be resumed', async () => {
    expect(await copyAll(30)).toBeGreaterThan(3);
    expect(await contentsOf(copy)).toEqual(await contentsOf(original));
    expect(await new StoredObjects(copy).buckets()).toEqual(['empty', 'one', 'two']);
    expect(await contentsOf(copy)).toMatchObject({
      'one a': { ...FACTS, lastModified: written.toISOString() },
    });
  });

  it('takes what was written since then in a second walk, and keeps what was deleted meanwhile', async () => {
    rmSync(copy, { recursive: true });
    const since = new Date(Date.parse(new Date().toISOString()) - 60_000);
    const all = await contentsOf(original);
    await copyAll(1_000_000, undefined, async () => {
      await write({ bucket: 'one', key: 'young' });
      rmSync(join(original, 'two', 'plain'));
    });
    expect(await copyAll(1_000_000, since)).toBe(1);
    expect(Object.keys(await contentsOf(copy)).sort()).toEqual([...Object.keys(all), 'one young'].sort());
  });

  it('passes over an object that is deleted between its listing and its turn', async () => {
    await write({ bucket: 'two', key: 'short-lived' });
    const items = await ObjectItems.begin(original, { bucket: 'two', key: 'plain' }, undefined);
    rmSync(join(original, 'two', 'short-lived'));
    const found: TarItem[] = [];
    for await (const item of items.portion(1_000_000)) found.push(item);
    expect(found.map(({ entry }) => entry.path)).not.toContain('two/short-lived');
  });
});
