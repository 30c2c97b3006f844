import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '#lib/testing';
import { type ImageStore, openImageStore } from './image-store.js';

const root = temporaryFolder();
let made = 0;

function agentFolder(secret: string): string {
  const folder = join(root, `agent-${made++}`);
  mkdirSync(join(folder, 'src'), { recursive: true });
  writeFileSync(join(folder, 'langgraph.json'), '{"graphs": {"agent": "./src/graph.js:graph"}}');
  writeFileSync(join(folder, 'src', 'graph.js'), 'export {}');
  writeFileSync(join(folder, 'kept.txt'), `KEY=${secret}`);
  return folder;
}

function newStore(): { store: ImageStore; folder: string } {
  const folder = join(root, `images-${made++}`);
  return { folder, store: openImageStore({ folder, installation: join(root, 'installation') }) };
}

const RED = { namespace: 'ws-red', gid: undefined };
const BLUE = { namespace: 'ws-blue', gid: undefined };

/** The secret that a namespace reads in an image; undefined when there is no such image. */
async function secretIn(store: ImageStore, reference: string, reader = RED): Promise<string | undefined> {
  const image = await store.resolve(reference, reader);
  return image && readFileSync(join(image.folder ?? '', 'kept.txt'), 'utf8').slice(4);
}

describe('image of a workspace', () => {
  it('does not exist for another workspace, by whatever name its digest is asked for', async () => {
    const { store, folder } = newStore();
    const { reference, digest } = await store.import('a', agentFolder('red'), { namespaces: ['ws-red'] });
    expect(await secretIn(store, reference)).toBe('red');
    for (const name of ['a', 'b', 'sha256-x'])
      expect(await store.resolve(`local/${name}@${digest}`, BLUE)).toBeUndefined();
    expect(await store.resolve(reference, { namespace: '', gid: undefined })).toBeUndefined();
    expect((await store.list()).map(({ name, namespaces }) => [name, namespaces])).toEqual([
      ['a', ['ws-red']],
    ]);
    // other users cannot pass the folder above its files, nor try whether a digest exists
    expect(statSync(join(folder, 'closed')).mode & 0o077).toBe(0);
    expect(readdirSync(folder).sort()).toEqual(['closed', 'index.json']);
  });

  it('opens to a workspace for which the same content was added', async () => {
    const { store } = newStore();
    const source = agentFolder('both');
    const { reference } = await store.import('a', source, { namespaces: ['ws-red'] });
    await store.import('b', source, { namespaces: ['ws-blue'] });
    expect([await secretIn(store, reference, RED), await secretIn(store, reference, BLUE)]).toEqual([
      'both',
      'both',
    ]);
  });

  it('keeps its workspaces when it is added again without any', async () => {
    const { store } = newStore();
    const old = await store.import('a', agentFolder('one'), { namespaces: ['ws-red'] });
    const now = await store.import('a', agentFolder('two'));
    expect(now.namespaces).toEqual(['ws-red']);
    expect([await secretIn(store, now.reference), await secretIn(store, now.reference, BLUE)]).toEqual([
      'two',
      undefined,
    ]);
    expect(await secretIn(store, old.reference)).toBe('one');
  });

  it('opens its new content alone to a workspace that is named beside the others', async () => {
    const { store } = newStore();
    const old = await store.import('a', agentFolder('one'), { namespaces: ['ws-red'] });
    const now = await store.import('a', agentFolder('two'), { namespaces: ['ws-red', 'ws-blue'] });
    expect(await secretIn(store, now.reference, BLUE)).toBe('two');
    expect(await secretIn(store, old.reference, BLUE)).toBeUndefined();
  });

  it('stays with a workspace that a later import does not name', async () => {
    const { store } = newStore();
    const { reference } = await store.import('a', agentFolder('one'), { namespaces: ['ws-red'] });
    await expect(store.import('a', agentFolder('two'), { namespaces: ['ws-blue'] })).rejects.toThrow(
      /image a belongs to workspace red; name it as well, or choose another name/,
    );
    expect((await store.find('a'))?.reference).toBe(reference);
  });

  it('gives a user one copy, however many containers open it at once', async () => {
    const { store, folder } = newStore();
    const { reference } = await store.import('a', agentFolder('one'), { namespaces: ['ws-red'] });
    const reader = { ...RED, gid: process.getgid?.() };
    let isOver = false;
    const opening = Promise.all(Array.from({ length: 20 }, () => store.resolve(reference, reader)));
    void opening.finally(() => (isOver = true));
    const copies = new Set<string>();
    while (!isOver) {
      for (const name of readdirSync(join(folder, 'closed')))
        if (name.startsWith('.partial-')) copies.add(name);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(new Set((await opening).map((image) => image?.folder)).size).toBe(1);
    expect(copies.size).toBe(1);
  });

  it('stays closed when the index of the store is lost', async () => {
    const { store, folder } = newStore();
    const { reference } = await store.import('a', agentFolder('one'), { namespaces: ['ws-red'] });
    rmSync(join(folder, 'index.json'));
    expect([await secretIn(store, reference), await secretIn(store, reference, BLUE)]).toEqual([
      'one',
      undefined,
    ]);
  });
});

describe('image of the machine', () => {
  it('opens to every workspace', async () => {
    const { store } = newStore();
    const { reference, namespaces } = await store.import('a', agentFolder('all'));
    expect(namespaces).toBeUndefined();
    expect(await secretIn(store, reference, BLUE)).toBe('all');
  });

  it('stays open when a workspace wants its name or its content for itself', async () => {
    const { store } = newStore();
    const source = agentFolder('all');
    const { reference } = await store.import('a', source);
    const red = { namespaces: ['ws-red'] };
    await expect(store.import('a', agentFolder('other'), red)).rejects.toThrow(
      /image a belongs to every workspace; choose another name/,
    );
    await expect(store.import('b', source, red)).rejects.toThrow(
      /this content is open to every workspace already.*change what only red may read/s,
    );
    expect((await store.list()).map(({ name }) => name)).toEqual(['a']);
    expect(await secretIn(store, reference, BLUE)).toBe('all');
  });
});
