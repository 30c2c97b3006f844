import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pinImage, readImageIndex } from './build-reconciler.js';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const INDEX = new Map([['sample-agent', DIGEST]]);

describe('pinImage', () => {
  it.each([
    ['pins a name of the store', 'sample-agent', `local/sample-agent@${DIGEST}`],
    ['pins a full reference', 'local/sample-agent', `local/sample-agent@${DIGEST}`],
    ['leaves an unknown name', 'unknown', 'local/unknown'],
  ])('%s', (_, uri, expected) => {
    expect(pinImage(uri, INDEX)).toBe(expected);
  });
});

describe('the image index', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'image-index-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('reads entries with a digest and skips others', async () => {
    const text = JSON.stringify({ images: { 'sample-agent': { digest: DIGEST }, broken: { digest: 'x' } } });
    await writeFile(join(folder, 'index.json'), text);
    expect([...(await readImageIndex(folder, 'ws-red'))]).toEqual([['sample-agent', DIGEST]]);
  });
  it('leaves out the images of other workspaces', async () => {
    const images = {
      shared: { digest: DIGEST },
      mine: { digest: DIGEST, namespaces: ['ws-blue', 'ws-red'] },
      theirs: { digest: DIGEST, namespaces: ['ws-blue'] },
      broken: { digest: DIGEST, namespaces: 'ws-red' },
    };
    await writeFile(join(folder, 'index.json'), JSON.stringify({ images }));
    expect([...(await readImageIndex(folder, 'ws-red')).keys()]).toEqual(['shared', 'mine']);
  });
  it.each(['[]', '{}', 'null'])('refuses %s, which is no index', async (text) => {
    await writeFile(join(folder, 'index.json'), text);
    await expect(readImageIndex(folder, 'ws-red')).rejects.toThrow('has no images');
  });
  it('reads an empty index without a store', async () => {
    expect((await readImageIndex(undefined, 'ws-red')).size).toBe(0);
    expect((await readImageIndex('/nowhere/at/all', 'ws-red')).size).toBe(0);
  });
});
