import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findKubectl, leaveOut } from '../support/kubectl.js';
import { repository } from '../support/platform.js';
import { sharedPlatform } from '../support/shared-platform.js';
import { type PageBlock, pageBlocks, START } from './page-blocks.js';
import { PageReader } from './page-reader.js';

const kubectl = findKubectl();

/** Every block of the README, pasted in its order into one terminal; ids are found by the blocks alone. */
describe('the README', () => {
  const platform = sharedPlatform();
  const reader = new PageReader();
  const [first, ...blocks] = pageBlocks(join(repository, 'README.md'));

  beforeAll(async () => {
    if (kubectl === undefined) leaveOut('kubectl');
    else await reader.begin(platform.dataFolder);
  });
  afterAll(() => reader.end());

  it('begins with the start of the platform', () => {
    expect(first?.commands).toBe(START);
    expect(blocks.length).toBeGreaterThan(7);
  });

  it('leaves nothing for its reader to fill in', () => {
    for (const { commands } of blocks) expect(commands).not.toMatch(/…|path\/to|<[a-z-]+>/);
  });

  (kubectl === undefined ? it.skip : it).each(
    blocks.map((block): [string, PageBlock] => [block.commands.split('\n', 1)[0] ?? '', block]),
  )('runs %s', (_title, block) => reader.paste(block), 180_000);
});
