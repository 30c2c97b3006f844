import { spawnSync } from 'node:child_process';
import { link, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FakeClock, temporaryFolder } from '#lib/testing';
import { systemClock } from '#lib/time';
import { withinBound } from './folder-bound.js';

const MEGABYTE = 1_048_576;

describe('withinBound', () => {
  const root = temporaryFolder();
  let count = 0;
  const newFolder = async (): Promise<string> => {
    const folder = join(root, `work-${count++}`);
    await mkdir(folder);
    return folder;
  };

  it('does not wait for what refuses to end', async () => {
    const clock = new FakeClock();
    const folder = await newFolder();
    await writeFile(join(folder, 'large'), Buffer.alloc(2 * MEGABYTE));
    let isAborted = false;
    const ended = withinBound({ folder, maxBytes: MEGABYTE, clock }, (signal) => {
      signal.addEventListener('abort', () => (isAborted = true));
      return new Promise(() => undefined);
    });
    const failure = expect(ended).rejects.toThrow(/^the checkout takes more than 1 MB of disk/);
    await clock.advance(1_000);
    await failure;
    expect(isAborted).toBe(true);
  });

  it('counts a file with several names once', async () => {
    const folder = await newFolder();
    const large = join(folder, 'large');
    await writeFile(large, Buffer.alloc(MEGABYTE));
    for (let at = 0; at < 5; at++) await link(large, join(folder, `again-${at}`));
    const bound = { folder, maxBytes: 2 * MEGABYTE, clock: systemClock };
    expect(await withinBound(bound, () => Promise.resolve('done'))).toBe('done');
  });

  it('ends at a folder that it cannot read', async () => {
    const folder = await newFolder();
    const deeper = 'd=$(printf %0200d 0); for i in $(seq 30); do mkdir $d && cd -P $d || exit 1; done';
    const made = spawnSync('bash', ['-c', `${deeper}; head -c 2000000 /dev/zero > large`], { cwd: folder });
    expect(made.status).toBe(0);
    const bound = { folder, maxBytes: MEGABYTE, clock: systemClock };
    await expect(withinBound(bound, () => Promise.resolve())).rejects.toThrow(
      /^the size of the checkout is not known: .{200}… cannot be read/,
    );
    spawnSync('rm', ['-rf', folder]);
  });

  it('opens folders that were closed', async () => {
    const folder = await newFolder();
    const closed = join(folder, 'closed');
    await mkdir(closed);
    await writeFile(join(closed, 'large'), Buffer.alloc(2 * MEGABYTE));
    spawnSync('chmod', ['000', closed]);
    const bound = { folder, maxBytes: MEGABYTE, clock: systemClock };
    await expect(withinBound(bound, () => Promise.resolve())).rejects.toThrow(/takes more than 1 MB/);
  });
});
