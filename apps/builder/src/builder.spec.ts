import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inheritedEnvironment, PROXY_VARIABLES } from '#lib/config';
import { INSTALLATION, packagesOf } from '#lib/data-folder';
import { GRAPH_TYPES_FILE } from '#lib/graph-configuration';
import { readTerminationMessage } from '#lib/lifecycle';
import { sendSignal } from '#lib/process-identity';
import { type GitRepository, type GitServer, gitServer, itLong, temporaryFolder } from '#lib/testing';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
const main = join(root, 'dist', 'apps', 'builder', 'src', 'main.js');
const TOKEN = 'token-of-the-integration';
const LANGGRAPH = JSON.stringify({ graphs: { agent: './graph.js:graph' } });
const AGENT = { 'langgraph.json': LANGGRAPH, 'graph.js': 'export const graph = {};' };

interface Ended {
  readonly code: number | null;
  readonly log: string;
  readonly message: string;
}

describe('the builder', () => {
  let server: GitServer;
  let count = 0;
  const folder = temporaryFolder();

  beforeAll(async () => {
    spawnSync(process.execPath, [join(root, 'bin', 'build.js')], { stdio: ['ignore', 'ignore', 'inherit'] });
    server = await gitServer();
  });
  afterAll(() => server.close());

  /** A pod's working folder. */
  const work = async (): Promise<string> => {
    const path = join(folder, `work-${count++}`);
    await mkdir(path);
    return path;
  };
  const step = (name: string, at: string, settings: Readonly<Record<string, string>>): Promise<Ended> => {
    const message = join(at, 'termination');
    const child = spawn(process.execPath, [main, name], {
      cwd: at,
      env: {
        PATH: process.env['PATH'],
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
        AGENTPLANE_BUILD_GRAPH_CONFIG: 'langgraph.json',
        AGENTPLANE_GIT_CA: server.ca,
        TERMINATION_MESSAGE_PATH: message,
        ...settings,
      },
      detached: true,
    });
    // as the node does with a container that has ended
    child.on('exit', () => sendSignal(child.pid ?? 0, 'SIGKILL', true));
    let log = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (log += chunk.toString()));
    return new Promise((resolve) =>
      child.on('close', (code) => {
        const text = existsSync(message) ? readFileSync(message, 'utf8') : '';
        resolve({ code, log, message: readTerminationMessage(text) });
      }),
    );
  };
  const settingsOf = (
    repository: GitRepository,
    commit: string,
    more: object = {},
  ): Record<string, string> => ({
    AGENTPLANE_BUILD_REPOSITORY: repository.url,
    AGENTPLANE_BUILD_COMMIT: commit,
    ...more,
  });

  it('fetches one commit with a token that no argument and no line of the log holds', async () => {
    const repository = await server.repository('closed', TOKEN);
    const first = await repository.commit(AGENT);
    await repository.commit({ 'later.txt': 'later' });
    const at = await work();
    const ended = await step('fetch', at, settingsOf(repository, first, { AGENTPLANE_GIT_TOKEN: TOKEN }));
    expect(ended).toMatchObject({ code: 0 });
    expect(readFileSync(join(at, 'source', 'langgraph.json'), 'utf8')).toBe(LANGGRAPH);
    expect(existsSync(join(at, 'source', 'later.txt'))).toBe(false);
    expect(existsSync(join(at, 'source', '.git', 'shallow'))).toBe(true);
    expect(ended.log).not.toContain(TOKEN);
    const left = spawnSync('grep', ['-r', TOKEN, at], { encoding: 'utf8' });
    expect(left.stdout).toBe('');
  });

  it('fails without the token and names the repository', async () => {
    const repository = await server.repository('closed-again', TOKEN);
    const commit = await repository.commit(AGENT);
    const ended = await step('fetch', await work(), settingsOf(repository, commit));
    expect(ended.code).toBe(1);
    expect(ended.message).toMatch(/fetching https:.*closed-again\.git failed: git ended with exit code 128/);
  });

  it('refuses submodules by their paths', async () => {
    const inner = await server.repository('inner');
    await inner.commit({ 'a.txt': 'a' });
    const repository = await server.repository('outer');
    await repository.commit(AGENT);
    await repository.git(
      '-c',
      'protocol.file.allow=always',
      'submodule',
      '--quiet',
      'add',
      inner.folder,
      'vendor/inner',
    );
    const commit = await repository.commit({});
    const at = await work();
    const ended = await step('fetch', at, settingsOf(repository, commit));
    expect(ended.code).toBe(1);
    expect(ended.message).toMatch(/^submodules are not supported: vendor\/inner; put their files/);
  });

  it('refuses files of LFS, and no page that is about it', async () => {
    const pointer = 'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n';
    const repository = await server.repository('lfs');
    const about = await repository.commit({ ...AGENT, 'README.md': `A pointer begins so:\n\n${pointer}` });
    expect(await step('fetch', await work(), settingsOf(repository, about))).toMatchObject({ code: 0 });
    const commit = await repository.commit({ 'model.bin': pointer });
    const ended = await step('fetch', await work(), settingsOf(repository, commit));
    expect(ended.message).toMatch(/^files of LFS are not supported: model\.bin; /);
  });

  it('names what the root has when the graph configuration is missing', async () => {
    const repository = await server.repository('elsewhere');
    const commit = await repository.commit({ 'apps/agent/langgraph.json': LANGGRAPH, 'README.md': '' });
    const ended = await step('fetch', await work(), settingsOf(repository, commit));
    expect(ended.message).toMatch(
      /^langgraph\.json does not exist .* its root has README\.md, apps: correct/,
    );
  });

  it('runs no hook and no helper of the machine', async () => {
    const repository = await server.repository('hooks');
    const commit = await repository.commit(AGENT);
    const at = await work();
    const global = join(at, '.gitconfig');
    spawnSync('git', ['config', '--file', global, 'url.https://elsewhere.invalid/.insteadOf', 'https://']);
    const ended = await step(
      'fetch',
      at,
      settingsOf(repository, commit, { HOME: at, GIT_CONFIG_GLOBAL: global }),
    );
    expect(ended.code).toBe(0);
  });

  it('installs from the root, builds in the folder of the agent, and hands its own settings to neither', async () => {
    const repository = await server.repository('monorepo');
    const commit = await repository.commit({ 'apps/agent/langgraph.json': LANGGRAPH });
    const at = await work();
    const settings = settingsOf(repository, commit, {
      AGENTPLANE_BUILD_GRAPH_CONFIG: 'apps/agent/langgraph.json',
      AGENTPLANE_BUILD_INSTALL: 'pwd > installed-in; echo installing',
      AGENTPLANE_BUILD_COMMAND: 'pwd > built-in; env > environment',
    });
    await step('fetch', at, settings);
    const ended = await step('build', at, settings);
    expect(ended).toMatchObject({ code: 0 });
    expect(ended.log).toMatch(/install command: pwd.*\ninstalling\nbuild command: pwd/);
    expect(readFileSync(join(at, 'source', 'installed-in'), 'utf8').trim()).toBe(join(at, 'source'));
    const agent = join(at, 'source', 'apps', 'agent');
    expect(readFileSync(join(agent, 'built-in'), 'utf8').trim()).toBe(agent);
    const environment = readFileSync(join(agent, 'environment'), 'utf8');
    expect(environment).toContain(`HOME=${at}\n`);
    expect(environment).not.toMatch(/AGENTPLANE|GIT_|TERMINATION/);
  });

  it.each([
    ['fetch', /^the working folder takes more than 3 MB of disk, three times the largest image/],
    ['build', /^the working folder takes more than 3 MB of disk, three times the largest image/],
  ] as const)('ends a %s that fills the disk', async (which, message) => {
    const repository = await server.repository(`large-${which}`);
    const large: Record<string, string> =
      which === 'fetch' ? { 'large.bin': randomBytes(6_000_000).toString('hex') } : {};
    const settings = settingsOf(repository, await repository.commit({ ...AGENT, ...large }), {
      AGENTPLANE_BUILD_IMAGE_MB: '1',
      AGENTPLANE_BUILD_COMMAND:
        // neither is in the checkout, and both together are too large
        'for at in "$HOME/large" "$(mktemp)"; do head -c 2000000 /dev/urandom > "$at"; done; trap "" TERM; sleep 600; sleep 600',
    });
    const at = await work();
    const fetched = await step('fetch', at, settings);
    const ended = which === 'fetch' ? fetched : await step('build', at, settings);
    expect([ended.code, ended.message]).toEqual([1, expect.stringMatching(message)]);
  });

  const canMount = spawnSync('unshare', ['--user', '--map-root-user', '--mount', 'true']).status === 0;

  (canMount ? it : it.skip)('frees at once a disk that a build has filled within milliseconds', async () => {
    const repository = await server.repository('fallocate');
    const settings = settingsOf(repository, await repository.commit(AGENT), {
      AGENTPLANE_BUILD_COMMAND: 'trap "" TERM; i=0; while :; do fallocate -l 4M "large-$i"; i=$((i+1)); done',
    });
    const [at, disk, message] = [await work(), await work(), join(await work(), 'termination')];
    await step('fetch', at, settings);
    const line =
      'mount -t tmpfs -o size=64m none "$0" && cp -a "$1" "$0/source" && cd "$0" && shift && ' +
      'setsid --wait "$@" > /dev/null; df -k --output=used "$0" | tail -n 1';
    const { stdout } = spawnSync(
      'unshare',
      [
        '--user',
        '--map-root-user',
        '--mount',
        'sh',
        '-c',
        line,
        disk,
        join(at, 'source'),
        process.execPath,
        main,
        'build',
      ],
      {
        encoding: 'utf8',
        env: {
          PATH: process.env['PATH'],
          AGENTPLANE_BUILD_GRAPH_CONFIG: 'langgraph.json',
          TERMINATION_MESSAGE_PATH: message,
          ...settings,
        },
      },
    );
    expect(Number(stdout)).toBeLessThan(1_000);
    const left = JSON.parse(readFileSync(message, 'utf8')) as { reason: string; message: string };
    expect(left.reason).toBe('BuildFailed');
    expect(left.message).toMatch(
      /^the disk of the build has \d MB free, .*; the working folder of this build has \d\d MB and/,
    );
  });

  it('reports the command that failed and its exit code', async () => {
    const repository = await server.repository('broken');
    const settings = settingsOf(repository, await repository.commit(AGENT), {
      AGENTPLANE_BUILD_COMMAND: 'echo no such thing >&2; exit 7',
    });
    const at = await work();
    await step('fetch', at, settings);
    const ended = await step('build', at, settings);
    expect(ended.code).toBe(1);
    expect(ended.log).toContain('no such thing');
    expect(ended.message).toBe('build command failed: exit code 7; its output is in the log of the build');
  });

  const pythonAgent = (more: object = {}) => ({
    'langgraph.json': JSON.stringify({ graphs: { agent: './agent.py:graph' }, ...more }),
    'agent.py': 'graph = 1',
  });

  it('refuses a Python that the machine lacks before it runs anything', async () => {
    const repository = await server.repository('future');
    const settings = settingsOf(
      repository,
      await repository.commit(pythonAgent({ python_version: '3.99' })),
      {
        AGENTPLANE_BUILD_INSTALL: 'touch ran',
      },
    );
    const at = await work();
    await step('fetch', at, settings);
    const ended = await step('build', at, settings);
    expect(ended.message).toMatch(/need Python 3\.99; this machine has .*python3\.99-venv; .*\) or change/);
    expect(existsSync(join(at, 'source', 'ran'))).toBe(false);
  });

  const python = process.env['AGENTPLANE_TEST_PYTHON'];
  if (!python)
    process.stderr.write('SKIPPED: builds of Python: AGENTPLANE_TEST_PYTHON names no interpreter\n');
  const itPython = python ? it : it.skip;

  itPython('leaves an environment that can be copied, which its commands made', async () => {
    const repository = await server.repository('own-environment');
    const files = { ...pythonAgent(), '.venv/bin/python': 'of another machine' };
    const settings = settingsOf(repository, await repository.commit(files), {
      AGENTPLANE_BUILD_INSTALL:
        'python3 -m venv --without-pip .venv && cd .venv/lib/python*/site-packages && echo 1 > small.py',
      AGENTPLANE_BUILD_COMMAND: '.venv/bin/python -c "import small"',
    });
    const at = await work();
    await step('fetch', at, settings);
    expect(await step('build', at, settings)).toMatchObject({ code: 0 });
    const venv = join(at, 'source', '.venv');
    expect(readdirSync(join(venv, 'bin')).filter((name) => name.startsWith('python'))).toEqual([]);
    const [library = ''] = readdirSync(join(venv, 'lib'));
    const compiled = join(venv, 'lib', library, 'site-packages', '__pycache__');
    const [name = ''] = readdirSync(compiled);
    // flags: not judged by the time of its source, which a copy loses
    expect(readFileSync(join(compiled, name)).readUInt32LE(4)).toBe(1);
  });

  itPython('closes the environment of graphs that a command turned into Python', async () => {
    const repository = await server.repository('turned');
    const { 'langgraph.json': configuration } = pythonAgent();
    const commit = await repository.commit({ ...AGENT, 'agent.py': 'graph = 1' });
    const settings = settingsOf(repository, commit, {
      AGENTPLANE_BUILD_INSTALL: 'python3 -m venv --without-pip .venv',
      AGENTPLANE_BUILD_COMMAND: `echo '${configuration}' > langgraph.json`,
    });
    const at = await work();
    await step('fetch', at, settings);
    expect(await step('build', at, settings)).toMatchObject({ code: 0 });
    const left = readdirSync(join(at, 'source', '.venv', 'bin'));
    expect(left.filter((name) => name.startsWith('python'))).toEqual([]);
  });

  itPython('builds no package of Python from sources', async () => {
    const repository = await server.repository('sources');
    const files = { ...pythonAgent(), 'requirements.txt': 'small @ https://index.test/small-1.tar.gz\n' };
    const settings = settingsOf(repository, await repository.commit(files));
    const at = await work();
    await step('fetch', at, settings);
    const ended = await step('build', at, settings);
    expect(ended.code).toBe(1);
    expect(ended.message).toMatch(
      /small-1\.tar\.gz" is built from sources.*from git by an install_command, else/,
    );
  });

  it.each([
    [
      'npm',
      'package-lock.json',
      { lockfileVersion: 3, packages: { '': { name: 'agent', version: '1.0.0' } } },
    ],
  ])('installs what a lock file of %s names', async (_, lockFile, lock) => {
    const repository = await server.repository('locked');
    const settings = settingsOf(
      repository,
      await repository.commit({
        ...AGENT,
        'package.json': JSON.stringify({ name: 'agent', version: '1.0.0' }),
        [lockFile]: JSON.stringify({ name: 'agent', version: '1.0.0', ...lock }),
      }),
    );
    const at = await work();
    await step('fetch', at, settings);
    const ended = await step('build', at, settings);
    expect(ended).toMatchObject({ code: 0 });
    expect(ended.log).toContain('installing what package-lock.json names with npm');
  });

  /** Locks of the repository: package.json and a lock file, each with one package and one for development. */
  const locks = join(root, 'libs', 'image-store', 'testdata', 'locks');
  const installs = async (manager: string): Promise<void> => {
    const repository = await server.repository(`locked-by-${manager}`);
    const files = readdirSync(join(locks, manager)).map((name) => [
      name,
      readFileSync(join(locks, manager, name), 'utf8'),
    ]);
    const registry = spawnSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).stdout.trim();
    const commit = await repository.commit({ ...AGENT, ...Object.fromEntries(files) });
    const settings = settingsOf(repository, commit, {
      ...inheritedEnvironment([...PROXY_VARIABLES, 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR']),
      npm_config_registry: registry,
      YARN_NPM_REGISTRY_SERVER: registry,
    });
    const at = await work();
    await step('fetch', at, settings);
    const ended = await step('build', at, settings);
    expect([ended.code, ended.message]).toEqual([0, '']);
    const modules = join(at, 'source', 'node_modules');
    const has = (name: string) => existsSync(join(modules, name, 'package.json'));
    expect([has('is-number'), has('is-odd')]).toEqual([true, false]);
    // with a build command the packages for development are there too
    const again = await work();
    await step('fetch', again, settings);
    const AGENTPLANE_BUILD_COMMAND = 'test -e node_modules/is-odd/package.json';
    expect(await step('build', again, { ...settings, AGENTPLANE_BUILD_COMMAND })).toMatchObject({ code: 0 });
  };
  itLong.each(['npm', 'pnpm', 'yarn', 'berry'])(
    'installs what a lock file of %s names, by a real install',
    installs,
  );

  it('keeps the types of graphs in TypeScript for the image, and notes what hides them', async () => {
    const repository = await server.repository('typed');
    const source = `import { Annotation, StateGraph } from '@langchain/langgraph';
import type { Part } from 'no-types';
const State = Annotation.Root({ topic: Annotation<string>, part: Annotation<Part> });
export const graph = new StateGraph(State).addNode('a', () => ({})).addEdge('__start__', 'a').compile();`;
    const graphs = { agent: './graph.ts:graph' };
    const files = { 'agent/typed.json': JSON.stringify({ graphs }), 'agent/graph.ts': source };
    const modules = packagesOf(INSTALLATION);
    const settings = settingsOf(repository, await repository.commit(files), {
      AGENTPLANE_BUILD_GRAPH_CONFIG: 'agent/typed.json',
      AGENTPLANE_BUILD_COMMAND: `ln -s ${modules} node_modules`,
    });
    const at = await work();
    await step('fetch', at, settings);
    const { log } = await step('build', at, settings);
    expect(log).toMatch(
      /^note: graph "agent": no types of part: graph\.ts:2:\d+: Cannot find module 'no-types'/m,
    );
    const kept: unknown = JSON.parse(readFileSync(join(at, 'source', 'agent', GRAPH_TYPES_FILE), 'utf8'));
    expect(kept).toMatchObject({
      graphs: { agent: { input: { properties: { topic: { type: 'string' } } } } },
    });
  });

  it('installs nothing without a lock file', async () => {
    const repository = await server.repository('plain');
    const settings = settingsOf(repository, await repository.commit(AGENT));
    const at = await work();
    await step('fetch', at, settings);
    const ended = await step('build', at, settings);
    expect(ended.log).toContain('no lock file: the packages of the platform are used');
    expect(statSync(join(at, 'source', 'graph.js')).isFile()).toBe(true);
  });
});
