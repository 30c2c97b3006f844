import { execFile, execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { temporaryFolder, waitFor } from '#lib/testing';
import { repository } from '../support/platform.js';

const run = promisify(execFile);
/** What the whole of `node_modules` may take on the disk after `npm ci --omit=dev`. */
const MOST_MB = 350;

describe('an installation without development packages', () => {
  const folder = join(temporaryFolder(), 'agentplane');
  const dataFolder = join(temporaryFolder(), 'data');
  const agentplane = (...words: string[]) =>
    run(process.execPath, ['bin/agentplane.js', ...words, '--data', dataFolder], { cwd: folder });

  beforeAll(async () => {
    const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
      cwd: repository,
      encoding: 'utf8',
    });
    for (const file of files.split('\0')) {
      const source = join(repository, file);
      if (file === '' || file.startsWith('test/') || !existsSync(source)) continue;
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      cpSync(source, join(folder, file), { recursive: true });
    }
    // by the installed npm, as a person would; what was downloaded once is taken from its cache
    await run('npm', ['ci', '--omit=dev', '--prefer-offline', '--no-audit', '--no-fund'], {
      cwd: folder,
      env: { ...process.env, NODE_ENV: '' },
    });
  });

  it(`takes less than ${MOST_MB} MB of the disk`, async () => {
    const { stdout } = await run('du', ['-sk', join(folder, 'node_modules')]);
    expect(Number(stdout.split('\t')[0]) / 1024).toBeLessThan(MOST_MB);
  });

  describe('when it is started', () => {
    let platform: ReturnType<typeof spawn> | undefined;
    let printed = '';

    beforeAll(async () => {
      platform = spawn(
        process.execPath,
        ['bin/agentplane.js', 'up', '--data', dataFolder, '--listen', '127.0.0.1:0'],
        { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], detached: true },
      );
      for (const stream of [platform.stdout, platform.stderr])
        stream?.setEncoding('utf8').on('data', (text: string) => (printed += text));
      await waitFor(
        () => {
          if (platform?.exitCode !== undefined && platform.exitCode !== null)
            throw new Error(`it ended:\n${printed}`);
          return /^Ready/m.test(printed);
        },
        { timeoutMs: 240_000 },
      );
    });

    afterAll(async () => {
      platform?.kill('SIGINT');
      await waitFor(() => platform === undefined || platform.exitCode !== null);
    });

    it('builds itself and is healthy', async () => {
      expect(printed).toContain('Built in');
      expect((await agentplane('status')).stdout).toMatch(/listener\/default +ready/);
    });

    it('serves the OpenAPI document', async () => {
      const { restUrl } = JSON.parse(readFileSync(join(dataFolder, 'credentials.json'), 'utf8')) as {
        readonly restUrl: string;
      };
      const answer = await fetch(`${restUrl}/openapi.json`);
      expect(await answer.json()).toEqual(
        JSON.parse(readFileSync(join(repository, 'docs', 'openapi.json'), 'utf8')),
      );
    });

    it('deploys the sample agent, which answers', async () => {
      await agentplane('deploy', 'sample', '--image', 'sample-agent');
      const { stdout: url } = await agentplane('get', 'adep', 'sample', '-o', 'jsonpath={.status.url}');
      const { apiKey } = JSON.parse(readFileSync(join(dataFolder, 'credentials.json'), 'utf8')) as {
        readonly apiKey: string;
      };
      const input = { messages: [{ role: 'user', content: 'what is 2 + 40?' }] };
      const answer = await fetch(`${url.trim()}/runs/wait`, {
        method: 'POST',
        headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
        body: JSON.stringify({ assistant_id: 'agent', input }),
      });
      expect(await answer.text()).toContain('"content":"42"');
    });
  });
});
