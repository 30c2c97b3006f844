import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '#lib/testing';
import { removeTree } from './partial-folder.js';

const root = temporaryFolder();

describe('removeTree', () => {
  it('removes thousands of files one after the other, and nothing behind links', async () => {
    const [folder, other] = [join(root, 'folder'), join(root, 'other')];
    for (const one of [join(folder, 'a/b'), other]) mkdirSync(one, { recursive: true });
    for (let file = 0; file < 2_000; file++) writeFileSync(join(folder, 'a/b', `file-${file}`), '');
    writeFileSync(join(other, 'kept'), '');
    symlinkSync(other, join(folder, 'a/link'));
    let isOver = false;
    // two at a time, as two programs of the platform may
    const removing = Promise.all([1, 2].map(() => removeTree(folder))).finally(() => (isOver = true));
    let most = 0;
    while (!isOver) {
      const underWay = process.getActiveResourcesInfo().filter((one) => one.startsWith('FSReq'));
      most = Math.max(most, underWay.length);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await removing;
    expect([existsSync(folder), existsSync(join(other, 'kept'))]).toEqual([false, true]);
    expect(most).toBeLessThan(20);
  });

  it('removes a link, and nothing where nothing is', async () => {
    const link = join(root, 'link');
    symlinkSync(root, link);
    await removeTree(link);
    await removeTree(link);
    expect(existsSync(root)).toBe(true);
  });
});
