import { spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseTerminationMessage } from '#lib/lifecycle';
import { temporaryFolder } from '#lib/testing';
import { hasImageRegistry, TestRegistry } from '../../testdata/test-registry.js';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..', '..');
const main = join(root, 'dist', 'apps', 'builder', 'src', 'main.js');
const COMMIT = 'c0ffee'.repeat(6) + 'abcd';
const LANGGRAPH = JSON.stringify({ graphs: { agent: './graph.js:graph' } });

interface Ended {
  readonly code: number | null;
  readonly log: string;
  readonly reason: string | undefined;
  readonly message: string;
}

(hasImageRegistry ? describe : describe.skip)('the container of a build that pushes', () => {
  const folder = temporaryFolder();
  let registry: TestRegistry;

  beforeAll(async () => {
    spawnSync(process.execPath, [join(root, 'bin', 'build.js')], { stdio: ['ignore', 'ignore', 'inherit'] });
    registry = await TestRegistry.open();
    await registry.addBase('base/agent:1');
  });
  afterAll(() => registry.close());

  /** Result of a build. */
  const source = (files: Readonly<Record<string, string>>): string => {
    const path = mkdtempSync(join(folder, 'source-'));
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(path, name)), { recursive: true });
      writeFileSync(join(path, name), text);
    }
    return path;
  };
  const agent = (more: Readonly<Record<string, string>> = {}): string =>
    source({ 'langgraph.json': LANGGRAPH, 'graph.js': 'export const graph = {};', ...more });

  const begin = (from: string, settings: Readonly<Record<string, string>> = {}) => {
    const at = mkdtempSync(join(folder, 'push-'));
    const message = join(at, 'termination');
    const child = spawn(process.execPath, [main, 'push'], {
      cwd: at,
      env: {
        PATH: process.env['PATH'],
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
        AGENTPLANE_BUILD_REPOSITORY: 'https://git.example.org/a.git',
        AGENTPLANE_BUILD_COMMIT: COMMIT,
        AGENTPLANE_BUILD_GRAPH_CONFIG: 'langgraph.json',
        AGENTPLANE_PUSH_SOURCE: from,
        AGENTPLANE_PUSH_REPOSITORY: `${registry.host}/team/ws-a/weather`,
        AGENTPLANE_PUSH_BASE: `${registry.host}/base/agent:1`,
        AGENTPLANE_PUSH_PYTHON_BASE: `${registry.host}/base/agent-python:1`,
        AGENTPLANE_PUSH_AUTH_FILE: registry.authFile(),
        AGENTPLANE_PUSH_INSECURE: 'true',
        TERMINATION_MESSAGE_PATH: message,
        ...settings,
      },
    });
    let log = '';
    const waiting = new Map<RegExp, () => void>();
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        log += chunk.toString();
        for (const [pattern, resolve] of waiting) if (pattern.test(log)) resolve();
      });
    const ended = new Promise<Ended>((resolve) =>
      child.on('close', (code) => {
        const text = existsSync(message) ? readFileSync(message, 'utf8') : '';
        const { reason, message: said = '' } = parseTerminationMessage(text) ?? {};
        resolve({ code, log, reason, message: said });
      }),
    );
    const printed = (pattern: RegExp): Promise<void> =>
      new Promise((resolve) => (pattern.test(log) ? resolve() : waiting.set(pattern, resolve)));
    return { ended, printed };
  };
  const push = (from: string, settings: Readonly<Record<string, string>> = {}): Promise<Ended> =>
    begin(from, settings).ended;

  it('pushes the folder as a layer upon the base and leaves the reference with its digest', async () => {
    const from = agent({ '.git/config': 'x', 'src/a.txt': 'a' });
    symlinkSync('a.txt', join(from, 'src', 'b.txt'));
    const { code, reason, message, log } = await push(from);
    expect({ code, reason, log }).toMatchObject({ code: 0, reason: 'ImagePushed' });
    expect(message).toMatch(new RegExp(`^${registry.host}/team/ws-a/weather@sha256:[0-9a-f]{64}$`));
    const image = await registry.read(message);
    expect(image.layers).toBe(2);
    expect(image.config).toMatchObject({
      WorkingDir: '/agent',
      Labels: { 'org.opencontainers.image.revision': COMMIT },
      Env: ['FROM_BASE=yes'],
    });
    expect(image.entries).toEqual([
      'drwxr-xr-x 0/0 agent/',
      '-rw-r--r-- 0/0 agent/graph.js',
      '-rw-r--r-- 0/0 agent/langgraph.json',
      'drwxr-xr-x 0/0 agent/src/',
      '-rw-r--r-- 0/0 agent/src/a.txt',
      'lrwxrwxrwx 0/0 agent/src/b.txt -> a.txt',
    ]);
    expect(await registry.tags('team/ws-a/weather')).toEqual([
      `c0ffeec0ffee-${message.split('sha256:')[1]?.slice(0, 12)}`,
    ]);
  });

  it('gives a repeated build the same digest, whatever the times of its files', async () => {
    const [first, again] = [agent({ 'b.txt': 'b', 'a.txt': 'a' }), agent({ 'a.txt': 'a', 'b.txt': 'b' })];
    utimesSync(join(again, 'a.txt'), 1, 1);
    const [one, two] = [await push(first), await push(again)];
    expect(one.message).toMatch(/@sha256:/);
    expect(two.message).toBe(one.message);
    const other = await push(agent({ 'a.txt': 'other' }));
    expect(other.message).not.toBe(one.message);
  });

  it('makes a graph configuration of another name the langgraph.json of its folder', async () => {
    const from = source({ 'agents/x/graphs.json': LANGGRAPH, 'agents/x/graph.js': '' });
    const { message } = await push(from, { AGENTPLANE_BUILD_GRAPH_CONFIG: 'agents/x/graphs.json' });
    const { entries } = await registry.read(message);
    expect(entries).toContain('-rw-r--r-- 0/0 agent/agents/x/langgraph.json');
  });

  it('refuses wrong credentials at once, with what to correct', async () => {
    const authFile = registry.authFile('another password');
    const { code, message, reason, log } = await push(agent(), { AGENTPLANE_PUSH_AUTH_FILE: authFile });
    expect([code, reason]).toEqual([1, 'BuildFailed']);
    expect(message).toMatch(/was refused: .*authentication required; correct the Secret/);
    expect(log).not.toMatch(/trying again/);
  });

  it('waits for a registry that is unavailable, names it, and goes on once it is back', async () => {
    await registry.stop();
    const { ended, printed } = begin(agent({ 'later.txt': 'later' }));
    await printed(/the registry is unavailable: .*connection refused.*; trying again in 2 s/);
    await registry.start();
    expect(await ended).toMatchObject({ code: 0, reason: 'ImagePushed' });
  });

  it('trusts a certificate that is given for the registry, and no other', async () => {
    const safe = await TestRegistry.open({ withTls: true });
    try {
      await safe.addBase('base/agent:1');
      const settings = {
        AGENTPLANE_PUSH_REPOSITORY: `${safe.host}/team/a`,
        AGENTPLANE_PUSH_BASE: `${safe.host}/base/agent:1`,
        AGENTPLANE_PUSH_AUTH_FILE: safe.authFile(),
        AGENTPLANE_PUSH_INSECURE: 'false',
      };
      const refused = await push(agent(), settings);
      expect([refused.code, refused.message]).toEqual([1, expect.stringMatching(/certificate/)]);
      const trusted = await push(agent(), { ...settings, AGENTPLANE_PUSH_CA: safe.ca });
      expect(trusted).toMatchObject({ code: 0, reason: 'ImagePushed' });
    } finally {
      await safe.close();
    }
  });

  it.each<[string, Readonly<Record<string, string>>, Readonly<Record<string, string>>, RegExp]>([
    [
      'a base that does not exist',
      {},
      { AGENTPLANE_PUSH_BASE: 'none:1' },
      /base .*none:1 failed: it does not exist/,
    ],
    ['a link that leads out', { link: '/etc' }, {}, /the link out leads out of the repository, to \/etc/],
    [
      'a result that is too large',
      { 'a.bin': 'x'.repeat(2_000_000) },
      { AGENTPLANE_BUILD_IMAGE_MB: '1' },
      /more than 1 MB/,
    ],
  ])('refuses %s', async (_, { link, ...files }, settings, expected) => {
    const from = agent(files);
    if (link !== undefined) symlinkSync(link, join(from, 'out'));
    const base = settings['AGENTPLANE_PUSH_BASE'];
    const own: Readonly<Record<string, string>> =
      base === undefined ? {} : { AGENTPLANE_PUSH_BASE: `${registry.host}/${base}` };
    const { code, message } = await push(from, { ...settings, ...own });
    expect([code, message]).toEqual([1, expect.stringMatching(expected)]);
  });
});
