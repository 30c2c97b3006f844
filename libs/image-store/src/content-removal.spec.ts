import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { FakeClock, temporaryFolder } from '#lib/testing';
import { openImageStore } from './image-store.js';

const root = temporaryFolder();
const isRoot = process.getuid?.() === 0;
const CLUSTER = 'cluster';
const HOUR_MS = 3_600_000;
let made = 0;

function newStore(options: { readonly maxNamespaceBytes?: number } = {}) {
  const base = join(root, `store-${made++}`);
  const folder = join(base, 'images');
  const clock = new FakeClock(new Date());
  const installation = join(base, 'installation');
  mkdirSync(join(installation, 'node_modules'), { recursive: true });
  const store = openImageStore({ folder, installation, clock });
  const source = (text: string): string => {
    const path = join(base, `source-${made++}`);
    mkdirSync(path);
    writeFileSync(join(path, 'langgraph.json'), '{"graphs": {"agent": "./graph.js:graph"}}');
    writeFileSync(join(path, 'graph.js'), `export const graph = '${text}'`);
    return path;
  };
  const build = (text: string, over: object = {}) =>
    store.importBuilt('b', {
      source: source(text),
      graphConfig: 'langgraph.json',
      namespace: 'ws-a',
      cluster: CLUSTER,
      limits: { maxBytes: 1e8, maxEntries: 1_000 },
      maxNamespaceBytes: 1e9,
      ...options,
      ...over,
    });
  return { folder, clock, store, source, build };
}

const digestOf = (reference: string): string => reference.split('@')[1] ?? '';
const contentsOf = (folder: string): readonly string[] =>
  [folder, join(folder, 'closed')].flatMap((one) =>
    existsSync(one) ? readdirSync(one).filter((name) => name.startsWith('sha256-')) : [],
  );

describe('ImageStore.listUnnamed', () => {
  it('lists what a build of the cluster left, once it was given long enough ago to be in a revision', async () => {
    const { store, clock, build } = newStore();
    const digest = digestOf(await build('a'));
    expect(await store.listUnnamed(CLUSTER)).toEqual([]);
    await clock.advance(HOUR_MS);
    expect(await store.listUnnamed(CLUSTER)).toEqual([digest]);
    expect(await store.listUnnamed('another cluster')).toEqual([]);
    await build('a');
    expect(await store.listUnnamed(CLUSTER)).toEqual([]);
  });

  it('lists no content that was added, also when the index is lost', async () => {
    const { store, clock, folder, source } = newStore();
    await store.import('a', source('open'));
    await store.import('b', source('closed'), { namespaces: ['ws-a'] });
    rmSync(join(folder, 'index.json'));
    await clock.advance(HOUR_MS);
    expect(await store.listUnnamed(CLUSTER)).toEqual([]);
  });

  it('lists the contents of a removed name, but those that another name means', async () => {
    const { store, source } = newStore();
    const both = source('both');
    const old = await store.import('a', source('old'));
    await store.import('a', both);
    await store.import('b', both);
    await store.remove('a');
    expect(await store.find('a')).toBeUndefined();
    expect(await store.listUnnamed(CLUSTER)).toEqual([old.digest]);
    // added again before it was removed
    await store.import('c', source('old'));
    expect(await store.listUnnamed(CLUSTER)).toEqual([]);
    await store.remove('b');
    expect(await store.listUnnamed(CLUSTER)).toHaveLength(1);
    expect(await store.remove('none')).toBeUndefined();
  });
});

describe('ImageStore.removeContents', () => {
  it('removes the folder, the access and the copies for users of pods', async () => {
    const { store, clock, folder, build } = newStore();
    const reference = await build('a');
    const kept = await build('b');
    if (isRoot) expect(await store.resolve(reference, { namespace: 'ws-a', gid: 4711 })).toBeDefined();
    await clock.advance(HOUR_MS);
    expect(await store.removeContents([digestOf(reference)], CLUSTER)).toEqual([digestOf(reference)]);
    const name = digestOf(kept).replace(':', '-');
    expect(readdirSync(join(folder, 'closed')).sort()).toEqual([name, `${name}.json`]);
    const copies = existsSync(join(folder, 'user-4711')) ? readdirSync(join(folder, 'user-4711')) : [];
    expect(copies.filter((one) => one.startsWith('sha256-'))).toEqual([]);
    expect(await store.resolve(reference, { namespace: 'ws-a', gid: undefined })).toBeUndefined();
  });

  it('leaves what was given or named again since it was listed', async () => {
    const { store, clock, folder, source, build } = newStore();
    const built = await build('a');
    const added = await store.import('a', source('x'));
    await store.remove('a');
    await clock.advance(HOUR_MS);
    const listed = await store.listUnnamed(CLUSTER);
    expect([...listed].sort()).toEqual([digestOf(built), added.digest].sort());
    await build('a');
    await store.import('b', source('x'));
    expect(await store.removeContents(listed, CLUSTER)).toEqual([]);
    expect(contentsOf(folder)).toHaveLength(3);
  });

  it('finishes a removal that was cut short', async () => {
    const { store, clock, folder, build } = newStore();
    const digest = digestOf(await build('a'));
    await clock.advance(HOUR_MS);
    // its folder was renamed by a process that has ended, and nothing else was done
    rmSync(join(folder, 'closed', digest.replace(':', '-')), { recursive: true });
    mkdirSync(join(folder, 'closed', '.partial-99999999-0a0a', 'x'), { recursive: true });
    await store.removeContents(await store.listUnnamed(CLUSTER), CLUSTER);
    expect(readdirSync(join(folder, 'closed'))).toEqual([]);
  });

  it('removes the folders also where the index cannot be written', async () => {
    const { store, folder, source } = newStore();
    const { digest } = await store.import('a', source('a'));
    await store.remove('a');
    const obstacle = join(folder, `.index-${process.pid}.json`);
    mkdirSync(obstacle);
    await expect(store.removeContents([digest], CLUSTER)).rejects.toThrow(/EISDIR/);
    expect([contentsOf(folder), readdirSync(join(folder, 'closed'))]).toEqual([[], []]);
    rmSync(obstacle, { recursive: true });
    expect(await store.listUnnamed(CLUSTER)).toEqual([digest]);
    await store.removeContents([digest], CLUSTER);
    expect(await store.listUnnamed(CLUSTER)).toEqual([]);
  });

  it('removes what killed processes left when it lists, and not while others wait for the lock', async () => {
    const { store, clock, folder, build } = newStore();
    const digest = digestOf(await build('a'));
    await clock.advance(HOUR_MS);
    const left = join(folder, 'closed', '.partial-99999999-0a0a');
    const listed = await store.listUnnamed(CLUSTER);
    mkdirSync(left);
    expect(await store.removeContents(listed, CLUSTER)).toEqual([digest]);
    expect(existsSync(left)).toBe(true);
    await store.listUnnamed(CLUSTER);
    expect(existsSync(left)).toBe(false);
  });

  it.each(['user-1', 'user-2'])('removes a copy for %s whose content does not exist', async (user) => {
    const { store, folder, build } = newStore();
    await build('a');
    const digest = `sha256:${'0'.repeat(64)}`;
    mkdirSync(join(folder, user, digest.replace(':', '-')), { recursive: true });
    expect(await store.removeContents(await store.listUnnamed(CLUSTER), CLUSTER)).toEqual([digest]);
    expect(readdirSync(join(folder, user))).toEqual([]);
  });
});

describe('ImageStore.takeBack', () => {
  it('takes a content from one namespace, and leaves it to the other', async () => {
    const { store, clock, folder, build } = newStore({ maxNamespaceBytes: 1.5 * 1_048_576 });
    const big = 'x'.repeat(1_048_576);
    const reference = await build(`1${big}`);
    await clock.advance(HOUR_MS);
    await build(`1${big}`, { namespace: 'ws-b' });
    const digest = digestOf(reference);
    const mine = { digest, namespace: 'ws-a' };
    expect(await store.listGiven(CLUSTER)).toEqual([mine]);
    expect(await store.listGiven('another cluster')).toEqual([]);
    await expect(build(`2${big}`)).rejects.toThrow(/may be kept/);
    const both = [mine, { digest, namespace: 'ws-b' }];
    // a group of its own needs root
    const gid = process.getgid?.() ?? 0;
    const copy = (await store.resolve(reference, { namespace: 'ws-a', gid })) as { readonly folder: string };
    expect(copy.folder).toContain(`user-${gid}`);
    expect(await store.takeBack(both, 'another cluster')).toEqual([]);
    // the other was given it just now
    expect(await store.takeBack(both, CLUSTER)).toEqual([mine]);
    expect(await store.holders()).toEqual(new Map([[digest, ['ws-b']]]));
    const note = readFileSync(join(folder, 'closed', `${digest.replace(':', '-')}.json`), 'utf8');
    expect(note).not.toContain('ws-a');
    expect(existsSync(copy.folder)).toBe(false);
    expect(await store.resolve(reference, { namespace: 'ws-a', gid: undefined })).toBeUndefined();
    expect(await store.resolve(reference, { namespace: 'ws-b', gid: undefined })).toBeDefined();
    await build(`2${big}`);
  });

  it('takes the copies first, so that a pass which is cut short is finished by the next', async () => {
    const { store, clock, folder, build } = newStore();
    const reference = await build('a');
    await build('a', { namespace: 'ws-b' });
    const gid = process.getgid?.() ?? 0;
    const copy = (await store.resolve(reference, { namespace: 'ws-a', gid })) as { readonly folder: string };
    await clock.advance(HOUR_MS);
    const mine = { digest: digestOf(reference), namespace: 'ws-a' };
    const closed = join(folder, 'closed');
    const obstacle = join(closed, `.access-${process.pid}.json`);
    mkdirSync(obstacle);
    await expect(store.takeBack([mine], CLUSTER)).rejects.toThrow(/EISDIR/);
    expect(existsSync(copy.folder)).toBe(false);
    expect(readdirSync(closed).filter((name) => name.startsWith('.partial'))).toEqual([]);
    rmSync(obstacle, { recursive: true });
    expect(await store.takeBack([mine], CLUSTER)).toEqual([mine]);
    expect(await store.holders()).toEqual(new Map([[mine.digest, ['ws-b']]]));
  });

  it('opens a copy that exists, though its room cannot be noted', async () => {
    const { store, folder, build } = newStore();
    const reference = await build('a');
    const gid = process.getgid?.() ?? 0;
    const reader = { namespace: 'ws-a', gid };
    const copy = await store.resolve(reference, reader);
    const note = join(folder, `user-${gid}`, '.namespace');
    rmSync(note);
    mkdirSync(join(note, 'x'), { recursive: true });
    expect(await store.resolve(reference, reader)).toEqual(copy);
    expect(readdirSync(join(folder, `user-${gid}`)).filter((name) => name.startsWith('.partial'))).toEqual(
      [],
    );
  });

  it('makes no note of a content that was removed, and leaves what was added', async () => {
    const { store, clock, source, build } = newStore();
    const digest = digestOf(await build('a'));
    const added = await store.import('b', source('b'), { namespaces: ['ws-a'] });
    await clock.advance(HOUR_MS);
    await store.removeContents([digest], CLUSTER);
    const given = [digest, added.digest].map((one) => ({ digest: one, namespace: 'ws-a' }));
    expect(await store.takeBack(given, CLUSTER)).toEqual([]);
    expect(await store.holders()).toEqual(new Map([[added.digest, ['ws-a']]]));
  });
});

describe('bytes of built images', () => {
  const MEGABYTE = 1_048_576;

  it('refuses an image beyond those of its workspace, and leaves nothing of it', async () => {
    const { folder, build } = newStore({ maxNamespaceBytes: 2.5 * MEGABYTE });
    const big = 'x'.repeat(MEGABYTE);
    await build(`1${big}`);
    await build(`2${big}`);
    await build(`1${big}`); // a content that exists counts once
    const before = contentsOf(folder);
    await expect(build(`3${big}`)).rejects.toThrow(
      /the image has 2 MB, and with it the built images of this workspace would have 4 MB, of which 3 may be kept: delete deployments/,
    );
    expect(contentsOf(folder)).toEqual(before);
    await build(`3${big}`, { namespace: 'ws-b' });
  });

  it('takes an image again once others were removed', async () => {
    const { store, clock, build } = newStore({ maxNamespaceBytes: 1.5 * MEGABYTE });
    const big = 'x'.repeat(MEGABYTE);
    await build(`1${big}`);
    await expect(build(`2${big}`)).rejects.toThrow(/may be kept/);
    await clock.advance(HOUR_MS);
    await store.removeContents(await store.listUnnamed(CLUSTER), CLUSTER);
    expect(await build(`2${big}`)).toMatch(/^local\/b@/);
  });
});

describe('ImageStore.removeUnusedPackages', () => {
  const KEYS = {
    used: 'a'.repeat(64),
    copied: 'b'.repeat(64),
    unused: 'c'.repeat(64),
    python: 'd'.repeat(64),
  };

  it('removes the folders that no content links, after an hour', async () => {
    const { store, clock, folder, source } = newStore();
    const { digest } = await store.import('a', source('a'), { namespaces: ['ws-a'] });
    for (const key of Object.values(KEYS))
      mkdirSync(join(folder, 'dependencies', key, 'node_modules'), { recursive: true });
    mkdirSync(join(folder, 'dependencies', 'pip-3.12.1'));
    const content = join(folder, 'closed', digest.replace(':', '-'));
    rmSync(join(content, 'node_modules'));
    symlinkSync(`../../dependencies/${KEYS.used}/node_modules`, join(content, 'node_modules'));
    symlinkSync(`../../dependencies/${KEYS.python}`, join(content, '.venv'));
    const copy = join(folder, 'user-1', digest.replace(':', '-'));
    mkdirSync(copy, { recursive: true });
    symlinkSync(`../../dependencies/${KEYS.copied}/node_modules`, join(copy, 'node_modules'));
    expect(await store.removeUnusedPackages()).toBe(0);
    await clock.advance(2 * HOUR_MS);
    expect(await store.removeUnusedPackages()).toBe(1);
    const { used, copied, python } = KEYS;
    expect(readdirSync(join(folder, 'dependencies')).sort()).toEqual([used, copied, python, 'pip-3.12.1']);
  });
});

describe('content of a build', () => {
  it('differs from the content of the same files that were added', async () => {
    const { folder, store, source, build } = newStore();
    const built = digestOf(await build('same'));
    const { digest } = await store.import('a', source('same'), { namespaces: ['ws-a'] });
    expect(digest).not.toBe(built);
    const access = readFileSync(join(folder, 'closed', `${digest.replace(':', '-')}.json`), 'utf8');
    expect(JSON.parse(access)).toEqual({ namespaces: ['ws-a'] });
  });
});
