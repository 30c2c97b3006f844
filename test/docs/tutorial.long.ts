import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { repository } from '../support/platform.js';
import { type PageBlock, pageBlocks, START } from './page-blocks.js';
import { PageReader } from './page-reader.js';

/** Every block of the tutorial, pasted in its order into a folder that is like the repository for its reader. */
describe('the tutorial', () => {
  const reader = new PageReader();
  const [first, ...blocks] = pageBlocks(join(repository, 'docs', 'tutorial.md'));

  beforeAll(() => reader.begin());
  afterAll(() => reader.end());

  it('begins as the README does', () => {
    expect(first?.commands).toBe(START);
    expect(blocks.length).toBeGreaterThan(10);
  });

  it.each(blocks.map((block): [string, PageBlock] => [block.commands.split('\n', 1)[0] ?? '', block]))(
    'runs %s',
    (_title, block) => reader.paste(block),
  );
});
