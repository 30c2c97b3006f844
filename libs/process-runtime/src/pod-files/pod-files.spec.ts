import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '#lib/testing';
import { removePodFolder } from './pod-files.js';

const root = temporaryFolder();

describe('removePodFolder', () => {
  it('lets others have the thread while it removes what a pod wrote as the user of the node', async () => {
    const folder = join(root, 'written');
    for (const name of ['work/source', 'empty/cache']) {
      mkdirSync(join(folder, name), { recursive: true });
      writeFileSync(join(folder, name, 'file'), '', { mode: 0o400 });
    }
    let turns = 0;
    setImmediate(() => turns++);
    await removePodFolder(folder);
    expect(turns).toBe(1);
    expect(existsSync(folder)).toBe(false);
  });

  it('removes links that a pod put in the place of its folders, and nothing behind them', async () => {
    const [folder, other] = [join(root, 'linked'), join(root, 'other')];
    for (const one of [join(folder, 'empty'), other]) mkdirSync(one, { recursive: true });
    writeFileSync(join(other, 'kept'), '');
    for (const name of ['work', 'empty/cache']) symlinkSync(other, join(folder, name));
    await removePodFolder(folder);
    expect([existsSync(folder), existsSync(join(other, 'kept'))]).toEqual([false, true]);
  });
});
