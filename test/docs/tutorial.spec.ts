import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { waitFor } from '#lib/testing';
import { type Platform, repository, startPlatform } from '../support/platform.js';
import { type PageBlock, pageBlocks } from './page-blocks.js';
import { ShellSession } from './shell-session.js';

const TUTORIAL = join(repository, 'docs', 'tutorial.md');
/** The first block of the page; here the platform is started on a port that is free. */
const START = 'npm ci --omit=dev && npm start\n';

/** Every block of the tutorial, pasted in its order into a folder that is like the repository for its reader. */
describe('the tutorial', () => {
  const folder = mkdtempSync(join(tmpdir(), 'agentplane-tutorial-'));
  const [first, ...blocks] = pageBlocks(TUTORIAL);
  const terminals: ShellSession[] = [];
  let platform: Platform;
  let terminal: ShellSession;
  let devUrl = 'http://127.0.0.1:2024';

  function open(): ShellSession {
    const { AGENTPLANE_CONTEXT: _context, KUBECONFIG: _kubeconfig, ...environment } = process.env;
    const made = new ShellSession(folder, { ...environment, XDG_CONFIG_HOME: join(folder, 'config') });
    terminals.push(made);
    return made;
  }

  beforeAll(async () => {
    mkdirSync(join(folder, 'node_modules', '.bin'), { recursive: true });
    symlinkSync(join(repository, 'bin', 'agentplane.js'), join(folder, 'node_modules', '.bin', 'agentplane'));
    platform = await startPlatform(join(folder, '.agentplane'));
    terminal = open();
  }, 180_000);

  afterAll(async () => {
    for (const one of terminals) await one.close();
    await platform?.stop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }, 60_000);

  it('begins as the README does', () => {
    expect(first?.commands).toBe(START);
    expect(blocks.length).toBeGreaterThan(10);
  });

  /** A trace is there within seconds of its run, and `dev` loads a change within some: a reader asks again. */
  async function paste({ commands, shows }: PageBlock): Promise<void> {
    const own = commands.replaceAll('http://127.0.0.1:2024', devUrl);
    await waitFor(
      async () => {
        const { output, failed } = await terminal.run(own, 120_000);
        const isRight = failed === '' && (shows === undefined || output.includes(shows));
        if (!isRight) process.stderr.write(`${failed}\n${output}\n`);
        return isRight;
      },
      { timeoutMs: 120_000, intervalMs: 2_000, what: `the block to show ${shows ?? 'no failure'}:\n${own}` },
    );
  }

  it.each(blocks.map((block): [string, PageBlock] => [block.commands.split('\n', 1)[0] ?? '', block]))(
    'runs %s',
    async (_title, block) => {
      if (!block.stays) return await paste(block);
      const own = open();
      own.start(block.commands);
      await waitFor(() => own.output.includes(block.shows ?? ''), { timeoutMs: 90_000 });
      devUrl = /http:\/\/127\.0\.0\.1:\d+/.exec(own.output)?.[0] ?? devUrl;
    },
    180_000,
  );
});
