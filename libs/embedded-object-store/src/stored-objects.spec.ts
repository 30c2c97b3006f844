import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '#lib/testing';
import { StoredObjects } from './stored-objects.js';

const FACTS = { etag: 'x', headers: {}, lastModified: new Date('2026-01-02T03:04:05Z') };

async function* text(): AsyncGenerator<Buffer> {
  yield Buffer.from('text');
}

describe('StoredObjects', () => {
  const folder = temporaryFolder();

  it.each([
    ['a bucket', 'bkt', 'key'],
    ['the own folder of the store', '.store', 'key'],
    ['the facts of all buckets', '.store/facts', 'key'],
    ['a folder of keys', 'bkt/cron.d', 'cron.d/key'],
  ])('writes nothing behind a link that is %s', async (name, path, key) => {
    const root = join(folder, name.replaceAll(' ', '-'));
    const elsewhere = join(root, 'elsewhere');
    const store = join(root, 'store');
    mkdirSync(elsewhere, { recursive: true });
    mkdirSync(join(store, path, '..'), { recursive: true });
    symlinkSync(elsewhere, join(store, path));
    const objects = new StoredObjects(store);
    const written = objects.prepare().then(() => objects.write({ bucket: 'bkt', key }, FACTS, text()));
    await expect(written).rejects.toThrow(/is a link|EEXIST/);
    expect(readdirSync(elsewhere)).toEqual([]);
  });
});
