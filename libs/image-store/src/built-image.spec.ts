import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '#lib/testing';
import { openImageStore } from './image-store.js';

const root = temporaryFolder();
const BIG = 2 * 1_048_576;
let made = 0;

function newBuild(graphConfig = 'langgraph.json') {
  const base = join(root, `build-${made++}`);
  const source = join(base, 'source');
  mkdirSync(source, { recursive: true });
  writeFileSync(join(source, 'langgraph.json'), '{"graphs": {"agent": "./graph.js:graph"}}');
  writeFileSync(join(source, 'graph.js'), 'export {}');
  const images = join(base, 'images');
  const installation = join(base, 'installation');
  mkdirSync(join(installation, 'node_modules'), { recursive: true });
  const limits = { maxBytes: 100_000_000, maxEntries: 1_000 };
  const built = { source, graphConfig, limits, namespace: 'ws-a', cluster: 'c', maxNamespaceBytes: 1e9 };
  const take = () => openImageStore({ folder: images, installation }).importBuilt('a', built);
  return { source, images, take };
}

describe('importBuilt', () => {
  it('takes a configuration of another name, whatever lies in its place', async () => {
    const { source, images, take } = newBuild('a.json');
    writeFileSync(join(source, 'a.json'), readFileSync(join(source, 'langgraph.json')));
    rmSync(join(source, 'langgraph.json'));
    mkdirSync(join(source, 'langgraph.json', 'folder'), { recursive: true });
    const [, digest = ''] = (await take()).split('@');
    const taken = join(images, 'closed', digest.replace(':', '-'), 'langgraph.json');
    expect(readFileSync(taken, 'utf8')).toContain('graph.js');
  });

  it.each<[string, string, (source: string) => unknown, RegExp]>([
    [
      'a langgraph.json larger than 1 MiB',
      'langgraph.json',
      (source) => writeFileSync(join(source, 'langgraph.json'), `{"graphs":{}${' '.repeat(BIG)}}`),
      /langgraph\.json has \d+ bytes/,
    ],
    [
      'a configuration of another name larger than 1 MiB',
      'a.json',
      (source) => writeFileSync(join(source, 'a.json'), `{"graphs":{}${' '.repeat(BIG)}}`),
      /a\.json has \d+ bytes/,
    ],
    [
      'a package.json larger than 1 MiB',
      'langgraph.json',
      (source) => writeFileSync(join(source, 'package.json'), `{${' '.repeat(BIG)}}`),
      /package\.json has \d+ bytes/,
    ],
    [
      'a folder that was removed',
      'langgraph.json',
      (source) => rmSync(source, { recursive: true }),
      /open of its folder failed with ENOENT/,
    ],
    [
      'a link in the place of the folder',
      'langgraph.json',
      (source) => (rmSync(source, { recursive: true }), symlinkSync('/etc', source)),
      /failed with (ELOOP|ENOTDIR)/,
    ],
    [
      'a configuration that is a folder',
      'a.json',
      (source) => mkdirSync(join(source, 'a.json')),
      /failed with EISDIR/,
    ],
    [
      'a link of packages that leads nowhere',
      'langgraph.json',
      (source) => symlinkSync('none', join(source, 'node_modules')),
      /symlink of .*failed with EEXIST/,
    ],
  ])('refuses %s for good, and leaves nothing behind', async (_, graphConfig, spoil, message) => {
    const { source, images, take } = newBuild(graphConfig);
    spoil(source);
    const error = await take().then(
      () => undefined,
      (thrown: Error) => thrown,
    );
    expect(error).toMatchObject({ kind: 'terminal', message: expect.stringMatching(message) });
    expect(error?.message).not.toContain(root);
    const closed = join(images, 'closed');
    expect(existsSync(closed) ? readdirSync(closed) : []).toEqual([]);
  });
});
