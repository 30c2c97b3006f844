import { execFile, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { temporaryFolder, waitFor } from '#lib/testing';
import { repository } from '../support/platform.js';

const run = promisify(execFile);

/** What `npm pack` makes, installed into an empty folder, where nothing of the checkout is. */
describe('the package in a folder of its own', () => {
  const folder = join(temporaryFolder(), 'elsewhere');
  const dataFolder = join(folder, '.agentplane');
  // npx takes what runs it from PATH: the Node of the machine
  const environment = { ...process.env, NODE_ENV: '', NODE_COMPILE_CACHE: '', NODE_OPTIONS: '' };
  const npx = (...words: string[]) => run('npx', words, { cwd: folder, env: environment, timeout: 60_000 });
  let platform: ReturnType<typeof spawn> | undefined;

  beforeAll(async () => {
    mkdirSync(folder);
    const words = ['pack', '--json', '--pack-destination', dirname(folder), '--prefer-offline'];
    await run('npm', words, { cwd: repository, env: environment, maxBuffer: 64 << 20 });
    const tarball = readdirSync(dirname(folder)).find((name) => name.endsWith('.tgz')) ?? '';
    await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', `../${tarball}`], {
      cwd: folder,
      env: environment,
    });
  });

  afterAll(() => {
    platform?.kill('SIGINT');
  });

  it('leaves no lock of its own in the checkout', () => {
    expect(readdirSync(repository)).not.toContain('npm-shrinkwrap.json');
  });

  it('has no package for development', () => {
    expect(readdirSync(join(folder, 'node_modules'))).not.toContain('jest');
  });

  it('prints its help and its version', async () => {
    expect((await npx('agentplane', '--help')).stdout).toContain('dashboard');
    expect((await npx('agentplane', 'version')).stdout).toMatch(/\(Node 24\./);
  });

  it('starts a platform, which serves an agent, and ends it', async () => {
    const { spawned, printed } = startUp();
    platform = spawned;
    await waitFor(
      () => {
        if (spawned.exitCode !== null) throw new Error(`it ended:\n${printed()}`);
        return /^Ready/m.test(printed());
      },
      { timeoutMs: 240_000 },
    );
    expect(printed()).not.toContain('Built in');
    expect(printed()).toContain('    npx agentplane dashboard\n');
    expect((await npx('agentplane', 'status')).stdout).toMatch(/listener\/default +ready/);
    await npx('agentplane', 'deploy', 'sample', '--image', 'sample-agent');
    const { stdout: url } = await npx('agentplane', 'get', 'adep', 'sample', '-o', 'jsonpath={.status.url}');
    const { apiKey, restUrl } = JSON.parse(readFileSync(join(dataFolder, 'credentials.json'), 'utf8')) as {
      readonly apiKey: string;
      readonly restUrl: string;
    };
    const input = { messages: [{ role: 'user', content: 'what is 2 + 40?' }] };
    const answer = await fetch(`${url.trim()}/runs/wait`, {
      method: 'POST',
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
      body: JSON.stringify({ assistant_id: 'agent', input }),
    });
    expect(await answer.text()).toContain('"content":"42"');
    expect((await fetch(`${restUrl}/docs/swagger-ui-bundle.js`)).status).toBe(200);
    expect((await fetch(`${restUrl}/openapi.json`)).status).toBe(200);
    await npx('agentplane', 'new', 'mine');
    await npx('agentplane', 'image', 'add', 'mine', 'mine');
    expect((await npx('agentplane', 'deploy', 'mine')).stdout).toContain('mine-00001 serves at');
    expect((await npx('agentplane', 'down')).stdout).toContain('stopped');
    await waitFor(() => spawned.exitCode !== null);
  });

  function startUp(): { spawned: ReturnType<typeof spawn>; printed: () => string } {
    const program = join(folder, 'node_modules', '.bin', 'agentplane');
    const spawned = spawn(program, ['up', '--listen', '127.0.0.1:0'], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: environment,
    });
    let text = '';
    for (const stream of [spawned.stdout, spawned.stderr])
      stream?.setEncoding('utf8').on('data', (piece: string) => (text += piece));
    return { spawned, printed: () => text };
  }
});
