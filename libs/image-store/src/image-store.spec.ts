import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { INSTALLATION } from '#lib/data-folder';
import { GRAPH_TYPES_FILE } from '#lib/graph-configuration';
import { keptSources } from '#lib/graph-sources';
import { temporaryFolder } from '#lib/testing';
import { openImageStore } from './image-store.js';

const ANYBODY = { namespace: 'ws-any', gid: undefined };
const root = temporaryFolder();
const installation = join(root, 'installation');
mkdirSync(join(installation, 'node_modules', 'something'), { recursive: true });
for (const app of ['agent-server', 'listener']) {
  mkdirSync(join(installation, 'dist', 'apps', app, 'src'), { recursive: true });
  writeFileSync(join(installation, 'dist', 'apps', app, 'src', 'main.js'), '');
}

let made = 0;
function agentFolder(files: Readonly<Record<string, string>> = {}): string {
  const folder = join(root, `agent-${made++}`);
  for (const [name, text] of Object.entries({
    'langgraph.json': '{"graphs": {"agent": "./src/graph.js:graph"}}',
    'src/graph.js': 'export {}',
    'src/notes': '',
    ...files,
  })) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

const newStore = (): ReturnType<typeof openImageStore> =>
  openImageStore({ folder: join(root, `images-${made++}`), installation });

describe('image store', () => {
  it('gives equal content the same digest, wherever it lies and whatever is installed beside it', async () => {
    const store = newStore();
    const one = agentFolder();
    const two = `${one}-copy`;
    cpSync(one, two, { recursive: true });
    for (const name of ['node_modules', '.git', '.agentplane']) {
      mkdirSync(join(two, name));
      writeFileSync(join(two, name, 'noise'), 'x');
    }
    const first = await store.import('sample', one);
    expect(first.reference).toMatch(/^local\/sample@sha256:[0-9a-f]{64}$/);
    expect((await store.import('sample', two)).digest).toBe(first.digest);
  });

  it.each<[string, (folder: string) => void]>([
    ['other bytes', (folder) => writeFileSync(join(folder, 'src/graph.js'), 'export const a = 1')],
    ['a file more', (folder) => writeFileSync(join(folder, 'more'), '')],
    ['another name', (folder) => execFileSync('mv', [join(folder, 'src/notes'), join(folder, 'src/lib')])],
    ['an executable bit', (folder) => chmodSync(join(folder, 'src/graph.js'), 0o755)],
    ['a link inside', (folder) => symlinkSync('src', join(folder, 'alias'))],
  ])('gives another digest to %s', async (_name, change) => {
    const store = newStore();
    const folder = agentFolder();
    const before = await store.import('sample', folder);
    change(folder);
    const after = await store.import('sample', folder);
    expect(after.digest).not.toBe(before.digest);
    // a pinned reference keeps its meaning
    expect(existsSync((await store.resolve(before.reference, ANYBODY))?.folder ?? '')).toBe(true);
  });

  it('writes the index atomically', async () => {
    const folder = join(root, `images-${made++}`);
    const store = openImageStore({ folder, installation });
    await Promise.all(['a', 'b', 'c'].map((name) => store.import(name, agentFolder({ name }))));
    const index = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8')) as {
      images: Record<string, unknown>;
    };
    expect(Object.keys(index.images).sort()).toEqual(['a', 'b', 'c']);
    expect(index.images.a).toEqual({
      digest: expect.stringMatching(/^sha256:/) as string,
      importedAt: expect.stringMatching(/Z$/) as string,
    });
    expect(readdirSync(folder).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  it('names the index that cannot be read', async () => {
    const broken = join(root, 'broken-images');
    mkdirSync(broken);
    writeFileSync(join(broken, 'index.json'), 'garbage{');
    await expect(openImageStore({ folder: broken, installation }).list()).rejects.toThrow(
      /broken-images\/index\.json is not JSON/,
    );
  });

  it('runs an agent without a lock file on the dependencies of the platform', async () => {
    const image = await newStore().import('sample', agentFolder());
    const store = newStore();
    const imported = await store.import('sample', agentFolder());
    expect(imported.digest).toBe(image.digest);
    const folder = (await store.resolve(imported.reference, ANYBODY))?.folder ?? '';
    expect(realpathSync(join(folder, 'node_modules'))).toBe(realpathSync(join(installation, 'node_modules')));
  });

  it('keeps types and sources of graphs beside the content, and notes what hides the types', async () => {
    const store = openImageStore({ folder: join(root, `images-${made++}`), installation: INSTALLATION });
    const { reference, notes } = await store.import(
      'typed',
      agentFolder({
        'langgraph.json': '{"graphs": {"agent": "./src/graph.ts:graph", "lost": "./src/lost.ts:graph"}}',
        'src/lost.ts': `import { make } from 'no-types';\nexport const graph = make();`,
        'src/graph.ts': `import { Annotation, StateGraph } from '@langchain/langgraph';
const State = Annotation.Root({ topic: Annotation<string> });
export const graph = new StateGraph(State).addNode('a', () => ({})).addEdge('__start__', 'a');`,
      }),
    );
    expect(notes).toEqual([
      expect.stringMatching(/^graph "lost": no types of its schemas: src\/lost\.ts:1:/),
    ]);
    const folder = (await store.resolve(reference, ANYBODY))?.folder ?? '';
    expect(JSON.parse(readFileSync(join(folder, GRAPH_TYPES_FILE), 'utf8'))).toMatchObject({
      graphs: { agent: { state: { properties: { topic: { type: 'string' } } } } },
    });
    const sources = await keptSources(folder, [join(folder, 'src/graph.ts'), join(folder, 'src/lost.ts')]);
    expect(sources?.modules.size).toBe(2);
  });

  it('refuses packages with a LangGraph that is too old', async () => {
    const old = join(root, 'old-installation');
    const library = join(old, 'node_modules', '@langchain', 'langgraph');
    mkdirSync(library, { recursive: true });
    writeFileSync(join(library, 'package.json'), '{"version": "0.2.4"}');
    const store = openImageStore({ folder: join(root, `images-${made++}`), installation: old });
    await expect(store.import('a', agentFolder())).rejects.toMatchObject({
      reason: 'LibraryTooOld',
      message: expect.stringMatching(/^@langchain\/langgraph 0\.2\.4 is too old .* 0\.2\.5 or newer$/),
    });
    expect(await store.list()).toEqual([]);
  });

  it('installs the dependencies of a lock file once for each digest', async () => {
    const lock = {
      name: 'x',
      version: '1.0.0',
      lockfileVersion: 3,
      requires: true,
      packages: { '': { name: 'x', version: '1.0.0' } },
    };
    // says which variables npm was given
    const postinstall = `node -e "fs.writeFileSync('names', Object.keys(process.env).join(' '))"`;
    const source = agentFolder({
      'package.json': JSON.stringify({ name: 'x', version: '1.0.0', scripts: { postinstall } }),
      'package-lock.json': JSON.stringify(lock),
    });
    const store = newStore();
    const installs: string[] = [];
    const before = process.env;
    process.env = { ...before, NO_PROXY: 'localhost', SSL_CERT_DIR: root, A_SECRET: 'x' };
    try {
      for (const name of ['locked', 'again'])
        await store.import(name, source, { onInstall: () => installs.push(name) });
    } finally {
      process.env = before;
    }
    expect(installs).toEqual(['locked']);
    const reference = (await store.find('locked'))?.reference ?? '';
    const folder = (await store.resolve(reference, ANYBODY))?.folder ?? '';
    expect(existsSync(join(folder, 'node_modules', 'something'))).toBe(false);
    const names = readFileSync(join(folder, 'names'), 'utf8').split(' ');
    expect(names).toEqual(expect.arrayContaining(['PATH', 'NO_PROXY', 'SSL_CERT_DIR']));
    expect(names).not.toContain('A_SECRET');
  });

  it.each([
    [
      'agentplane/listener:0.1.0',
      { kind: 'platform', folder: undefined, entryPoint: 'dist/apps/listener/src/main.js' },
    ],
    ['agentplane/unknown:0.1.0', undefined],
    ['local/sample', undefined],
    [`local/sample@sha256:${'0'.repeat(64)}`, undefined],
    ['docker.io/library/nginx:latest', undefined],
    ['agentplane/../listener:1', undefined],
  ])('resolves %s', async (reference, expected) => {
    const found = await newStore().resolve(reference, ANYBODY);
    expect(found && { ...found, entryPoint: found.entryPoint.slice(installation.length + 1) }).toEqual(
      expected,
    );
  });

  it.each<[string, (folder: string) => void]>([
    ['a link up and out', (folder) => symlinkSync('../other', join(folder, 'out'))],
    // it is inside now, and the copy's would still point into the folder that was copied
    ['an absolute link inside', (folder) => symlinkSync(join(folder, 'src'), join(folder, 'absolute'))],
    [
      'a link out by way of another link',
      (folder) => {
        mkdirSync(join(folder, 'a', 'b'), { recursive: true });
        symlinkSync('../..', join(folder, 'a', 'b', 'top'));
        symlinkSync('a/b/top/../secret', join(folder, 'out'));
      },
    ],
    [
      'a link out by way of the dependencies',
      (folder) => symlinkSync('node_modules/../secret', join(folder, 'out')),
    ],
  ])('refuses %s', async (_name, change) => {
    const folder = agentFolder();
    change(folder);
    await expect(newStore().import('a', folder)).rejects.toThrow(/leads out of the folder/);
  });

  it('takes links that stay inside, and files whose names begin with dots', async () => {
    const folder = agentFolder({ '..notes': 'x' });
    symlinkSync('..notes', join(folder, 'notes'));
    symlinkSync('../langgraph.json', join(folder, 'src', 'configuration'));
    const store = newStore();
    const { reference } = await store.import('constructor', folder);
    const image = await store.resolve(reference, ANYBODY);
    expect(readFileSync(join(image?.folder ?? '', 'src', 'configuration'), 'utf8')).toContain('graphs');
    expect(readFileSync(join(image?.folder ?? '', 'notes'), 'utf8')).toBe('x');
    expect((await store.find('constructor'))?.importedAt).toMatch(/Z$/);
  });

  it('leaves out what tends to hold secrets, unless .dockerignore names it', async () => {
    const files = {
      '.env': 'A=1',
      '.env.example': 'A=',
      'src/prod.key': 'x',
      'src/.env.test': 'y',
      '.npmrc': '',
    };
    const store = newStore();
    const { folder = '' } = (await store.import('a', agentFolder(files))) as { folder?: string };
    const namesIn = (at: string): readonly string[] =>
      readdirSync(at, { recursive: true }).map(String).toSorted();
    const { reference } = (await store.find('a')) ?? {};
    const image = await store.resolve(reference ?? folder, ANYBODY);
    const left = namesIn(image?.folder ?? '');
    expect(left).toEqual(expect.arrayContaining(['.env.example', '.npmrc']));
    expect(left).not.toEqual(expect.arrayContaining(['.env']));
    expect(left.filter((name) => /prod.key|env.test/.test(name))).toEqual([]);
    await store.import('a', agentFolder({ ...files, '.dockerignore': 'x\n!.env\n!src/prod.key\n' }));
    const other = await store.resolve((await store.find('a'))?.reference ?? '', ANYBODY);
    const kept = namesIn(other?.folder ?? '').filter((name) => /^\.env$|prod.key|env.test/.test(name));
    expect(kept).toEqual(['.env', 'src/prod.key']);
  });

  it('writes a folder that only its owner can read, and an index without history', async () => {
    const folder = join(root, `images-${made++}`);
    await openImageStore({ folder, installation }).import('a', agentFolder({ '.env': 'KEY=secret' }));
    expect(statSync(folder).mode & 0o077).toBe(0);
    const index = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8')) as { images: object };
    expect(index.images).toEqual({
      a: expect.not.objectContaining({ history: expect.anything() as unknown }) as unknown,
    });
  });

  it.each<[string, string, () => string, RegExp]>([
    ['a name with a slash', 'a/b', () => agentFolder(), /cannot be the name/],
    ['a folder that is not there', 'a', () => join(root, 'missing'), /is not a folder/],
    ['a folder without a graph configuration', 'a', () => installation, /no langgraph.json/],
    [
      'a Python graph beside others',
      'a',
      () => agentFolder({ 'langgraph.json': '{"graphs": {"a": "a.py:g", "b": "b.ts:g"}}' }),
      /is Python/,
    ],
    [
      'a graph that is not there',
      'a',
      () => agentFolder({ 'langgraph.json': '{"graphs": {"a": "./a.ts:g"}}' }),
      /graph "a": \.\/a\.ts does not exist/,
    ],
    [
      'a link that leads out',
      'a',
      () => {
        const folder = agentFolder();
        symlinkSync('/etc/passwd', join(folder, 'secrets'));
        return folder;
      },
      /leads out of the folder/,
    ],
  ])('refuses %s', async (_name, name, folder, message) => {
    const store = newStore();
    await expect(store.import(name, folder())).rejects.toThrow(message);
    expect(await store.list()).toEqual([]);
  });
});
