import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { GRAPH_TYPES_FILE } from '#lib/graph-configuration';
import { GRAPH_SOURCES_FILE } from '#lib/graph-sources';
import { temporaryFolder } from '#lib/testing';
import { copyContent } from './copy-content.js';
import { takeContent } from './take-content.js';

const LIMITS = { maxBytes: 1_000_000, maxEntries: 150 };
const isRoot = process.getuid?.() === 0;

describe('takeContent', () => {
  const root = temporaryFolder();
  let count = 0;
  let source: string;
  let target: string;
  beforeEach(() => {
    source = join(root, `source-${count}`);
    target = join(root, `target-${count++}`);
    mkdirSync(join(source, 'src'), { recursive: true });
    writeFileSync(join(source, 'src', 'a.js'), 'a');
    writeFileSync(join(source, 'run'), 'b');
    chmodSync(join(source, 'run'), 0o755);
    symlinkSync('src/a.js', join(source, 'link'));
  });

  it('answers the digest that a folder of the platform has', async () => {
    const taken = await takeContent(source, target, LIMITS);
    expect(taken).toEqual({
      digest: await copyContent(source, `${target}-copied`),
      // three entries and the folder of one
      bytes: 2 + 4 * 4096,
    });
    expect(readFileSync(join(target, 'link'), 'utf8')).toBe('a');
    expect(lstatSync(join(target, 'run')).mode & 0o777).toBe(0o755);
  });

  it('takes types and sources of graphs that the build kept, and nothing else of the folder of the platform', async () => {
    const own = dirname(GRAPH_TYPES_FILE);
    mkdirSync(join(source, own));
    const files = [GRAPH_SOURCES_FILE, GRAPH_TYPES_FILE];
    for (const file of [...files, join(own, 'other')]) writeFileSync(join(source, file), '{}');
    await takeContent(source, target, LIMITS);
    expect(readdirSync(join(target, own))).toEqual(files.map((file) => basename(file)));
  });

  it('takes packages, and not the history of the repository', async () => {
    for (const name of ['node_modules', '.git']) {
      mkdirSync(join(source, name));
      writeFileSync(join(source, name, 'file'), 'x');
    }
    await takeContent(source, target, LIMITS);
    expect([existsSync(join(target, 'node_modules', 'file')), existsSync(join(target, '.git'))]).toEqual([
      true,
      false,
    ]);
  });

  it.each<[string, () => unknown, RegExp]>([
    [
      'a link to a file of the machine',
      () => symlinkSync('/etc/passwd', join(source, 'x')),
      /link x leads out/,
    ],
    [
      'a link above the folder',
      () => symlinkSync('../../x', join(source, 'src', 'x')),
      /link src\/x leads out/,
    ],
    [
      'a pipe, without waiting for its other end',
      () => spawnSync('mkfifo', [join(source, 'pipe')]),
      /pipe is neither a file, a folder nor a link/,
    ],
    [
      'more bytes than are allowed',
      () => writeFileSync(join(source, 'big'), Buffer.alloc(1_000_001)),
      /than 0 MB/,
    ],
    [
      'more entries than are allowed',
      () => Array.from({ length: 150 }, (_, at) => writeFileSync(join(source, `f${at}`), '')),
      /more than 150 files and folders/,
    ],
    [
      'folders without end',
      () => mkdirSync(join(source, 'd/'.repeat(102)), { recursive: true }),
      /deeper than 100/,
    ],
  ])('refuses %s', async (_, spoil, message) => {
    spoil();
    await expect(takeContent(source, target, LIMITS)).rejects.toThrow(message);
  });

  it('refuses a socket', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(join(source, 'socket'), resolve));
    await expect(takeContent(source, target, LIMITS)).rejects.toThrow(/socket cannot be read: ENXIO/);
    await new Promise((resolve) => server.close(resolve));
  });

  const itAsRoot = isRoot ? it : it.skip;
  itAsRoot('refuses a file of another user, which a second name may have brought there', async () => {
    chownSync(join(source, 'run'), 12_345, 12_345);
    await expect(takeContent(source, target, LIMITS)).rejects.toThrow(/run belongs to another user/);
  });

  it('follows no link that takes the place of the folder', async () => {
    symlinkSync(source, `${source}-link`);
    await expect(takeContent(`${source}-link`, target, LIMITS)).rejects.toThrow(/ELOOP|ENOTDIR/);
  });
});
