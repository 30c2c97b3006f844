import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { findKubectl, leaveOut } from '../support/kubectl.js';
import { repository } from '../support/platform.js';
import { sharedPlatform } from '../support/shared-platform.js';
import { GIVEN_VARIABLES } from './block-ways.js';
import { type PageBlock, pageBlocks } from './page-blocks.js';
import { PageReader } from './page-reader.js';

const kubectl = findKubectl();

/** In this order: what a page exports, prices or asks about was made by one before it. */
const PAGES = ['runbook.md', 'a2a.md', 'otlp.md', 'exporting.md', 'costs.md', 'evaluation.md', 'agents.md'];

/** Every block of commands of the pages by task, pasted in one terminal after the first blocks of the README. */
describe('the pages by task', () => {
  const platform = sharedPlatform();
  // the clients of Python, and a Node that runs TypeScript
  const programs = [process.env['AGENTPLANE_TEST_PYTHON'] ?? '/usr/bin/python3', process.execPath].map(
    dirname,
  );
  const reader = new PageReader(GIVEN_VARIABLES, programs);

  beforeAll(async () => {
    if (kubectl === undefined) return leaveOut('kubectl');
    await reader.begin(platform.dataFolder);
    const [, deploy] = pageBlocks(join(repository, 'README.md'));
    if (deploy) await reader.paste(deploy);
  });
  afterAll(() => reader.end());

  const blocks = PAGES.flatMap((page) =>
    pageBlocks(join(repository, 'docs', page)).map((block): [string, string, PageBlock] => [
      page,
      block.commands.split('\n', 1)[0] ?? '',
      block,
    ]),
  );
  (kubectl === undefined ? it.skip : it).each(blocks)(
    'runs what %s has: %s',
    (_page, _title, block) => reader.paste(block),
    240_000,
  );
});
