import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
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

function installNode(folder: string, version: string): void {
  const library = join(folder, 'node_modules', '@langchain', 'langgraph');
  mkdirSync(library, { recursive: true });
  writeFileSync(join(library, 'package.json'), JSON.stringify({ name: '@langchain/langgraph', version }));
}

describe('importBuilt', () => {
  it.each(['0.2.5', '0.3.0', '1.0.0-alpha.1'])('takes LangGraph %s for JavaScript', async (version) => {
    const { source, take } = newBuild();
    installNode(source, version);
    expect(await take()).toMatch(/^local\/a@/);
  });

  it('takes a configuration of another name, whatever lies in its place', async () => {
    const { source, images, take } = newBuild('a.json');
    writeFileSync(join(source, 'a.json'), readFileSync(join(source, 'langgraph.json')));
    rmSync(join(source, 'langgraph.json'));
    const inPlace = join(source, 'langgraph.json', 'folder');
    mkdirSync(inPlace, { recursive: true });
    for (let file = 0; file < 300; file++) writeFileSync(join(inPlace, `file-${file}`), '');
    let isOver = false;
    const taking = take().finally(() => (isOver = true));
    let most = 0;
    while (!isOver) {
      const underWay = process.getActiveResourcesInfo().filter((one) => one.startsWith('FSReq'));
      most = Math.max(most, underWay.length);
      await new Promise((resolve) => setImmediate(resolve));
    }
    // thousands of files that are removed at once stop the program
    expect(most).toBeLessThan(50);
    const [, digest = ''] = (await taking).split('@');
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
      'a LangGraph for JavaScript that is too old',
      'langgraph.json',
      (source) => installNode(source, '0.2.3'),
      /^@langchain\/langgraph 0\.2\.3 is too old .* 0\.2\.5 or newer$/,
    ],
    [
      'checkpoints of LangGraph for Python that are too old',
      'langgraph.json',
      (source) => {
        const library = join(source, '.venv', 'lib', 'python3.11', 'site-packages');
        mkdirSync(join(library, 'langgraph_checkpoint-2.0.25.dist-info'), { recursive: true });
        writeFileSync(join(source, 'graph.py'), '');
        writeFileSync(
          join(source, 'langgraph.json'),
          '{"dependencies": ["."], "graphs": {"agent": "./graph.py:graph"}}',
        );
      },
      /^langgraph-checkpoint 2\.0\.25 is too old .* 2\.0\.26 or newer$/,
    ],
    [
      'a LangGraph for Python that is too old',
      'langgraph.json',
      (source) => {
        const library = join(source, '.venv', 'lib', 'python3.11', 'site-packages');
        mkdirSync(join(library, 'langgraph-0.3.34.dist-info'), { recursive: true });
        writeFileSync(join(source, 'graph.py'), '');
        writeFileSync(join(source, 'langgraph.json'), '{"graphs": {"agent": "./graph.py:graph"}}');
      },
      /^langgraph 0\.3\.34 is too old .* 0\.4\.1 or newer$/,
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

const python = process.env['AGENTPLANE_TEST_PYTHON'];
if (!python) process.stderr.write('SKIPPED: builds of Python: AGENTPLANE_TEST_PYTHON names no interpreter\n');

(python ? describe : describe.skip)('importBuilt of an agent in Python', () => {
  const before = process.env;
  let minor = '';

  beforeAll(() => {
    const real = realpathSync(python ?? '');
    process.env = { ...before, PATH: dirname(real) };
    minor = execFileSync(real, ['-c', 'import sys; print("%d.%d" % sys.version_info[:2])']).toString().trim();
  });
  afterAll(() => {
    process.env = before;
  });

  /** Result of a build with packages for a Python. */
  const pythonBuild = (version: string | undefined, asked?: string, graphConfig?: string) => {
    const build = newBuild(graphConfig);
    const { source } = build;
    const graphs = { agent: './agent.py:graph' };
    writeFileSync(join(source, 'langgraph.json'), JSON.stringify({ graphs, python_version: asked }));
    writeFileSync(join(source, 'agent.py'), 'graph = 1');
    if (version === undefined) return build;
    const packages = join(source, '.venv', 'lib', `python${version}`, 'site-packages');
    mkdirSync(packages, { recursive: true });
    writeFileSync(join(packages, 'small.py'), 'VERSION = "1.0"');
    return build;
  };

  it('gives it the interpreter of the machine, whatever the build left in its place', async () => {
    const { source, images, take } = pythonBuild(minor);
    const bin = join(source, '.venv', 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'python'), '#!/bin/sh\necho of the build\n', { mode: 0o755 });
    mkdirSync(join(bin, 'python3', 'folder'), { recursive: true });
    symlinkSync('../agent.py', join(source, '.venv', 'pyvenv.cfg'));
    const [, digest = ''] = (await take()).split('@');
    const image = join(images, 'closed', digest.replace(':', '-'));
    const own = join(image, '.venv', 'bin', 'python');
    // of several that fit, one that is open to all
    expect(readlinkSync(own)).toMatch(/^\/.*\/python3[.\d]*$/);
    const said = execFileSync(own, ['-I', '-c', 'import small; print(small.VERSION)']);
    expect(said.toString()).toBe('1.0\n');
    expect(readFileSync(join(image, 'agent.py'), 'utf8')).toBe('graph = 1');
    // what other images would use
    expect(existsSync(join(images, 'dependencies'))).toBe(false);
    expect(existsSync(join(image, 'node_modules'))).toBe(false);
  });

  it('differs from one of the same files whose path of the configuration names the interpreter', async () => {
    const probe = pythonBuild(minor);
    const [, probed = ''] = (await probe.take()).split('@');
    const image = join(probe.images, 'closed', probed.replace(':', '-'));
    const named = `langgraph.json ${readlinkSync(join(image, '.venv', 'bin', 'python'))}`;
    const take = async (graphConfig: string): Promise<string> => {
      const build = pythonBuild(minor, undefined, graphConfig);
      const folder = dirname(join(build.source, named));
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(build.source, named), '{"graphs": {"agent": "./graph.js:graph"}}');
      writeFileSync(join(folder, 'graph.js'), 'export {}');
      return await build.take();
    };
    expect(await take(named)).not.toBe(await take('langgraph.json'));
  });

  it.each<[string, string | undefined, string | undefined, RegExp]>([
    ['no environment', undefined, undefined, /the build left no environment in \.venv/],
    ['packages for another Python', '3.9', '3.99', /packages for Python 3\.9 .* asks for Python 3\.99/],
    ['packages for a Python that the machine lacks', '3.99', undefined, /need Python 3\.99; this machine/],
  ])('refuses %s', async (_, version, asked, message) => {
    const { take } = pythonBuild(version, asked);
    await expect(take()).rejects.toMatchObject({
      kind: 'terminal',
      message: expect.stringMatching(message) as unknown,
    });
  });
});
