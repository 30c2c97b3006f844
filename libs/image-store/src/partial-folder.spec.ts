import { mkdirSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { temporaryFolder } from '#lib/testing';
import { partialPath, removePartials } from './partial-folder.js';

describe('removePartials', () => {
  const folder = temporaryFolder();

  it('keeps what this process makes, and removes what another left that had its pid', async () => {
    const own = partialPath(folder);
    const left = [`.partial-${process.pid}-${'0'.repeat(16)}-0a0b0c0d`, `.partial-${process.pid}-0a0b0c0d`];
    for (const path of [own, ...left.map((name) => join(folder, name))]) mkdirSync(path);
    mkdirSync(join(folder, 'sha256-0'));
    await removePartials(folder);
    expect(readdirSync(folder).sort()).toEqual([basename(own), 'sha256-0']);
  });
});
