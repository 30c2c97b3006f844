import { spawnSync } from 'node:child_process';
import { link, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FakeClock, temporaryFolder } from '#lib/testing';
import { systemClock } from '#lib/time';
import { BuildError, DiskFullError } from './build-error.js';
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
    const ended = withinBound({ folders: [folder], maxBytes: MEGABYTE, clock, disks: [] }, (signal) => {
      signal.addEventListener('abort', () => (isAborted = true));
      return new Promise(() => undefined);
    });
    const failure = expect(ended).rejects.toThrow(/^the working folder takes more than 1 MB of disk/);
    await clock.advance(1_000);
    await failure;
    expect(isAborted).toBe(true);
  });

  describe('disks', () => {
    const GIGABYTE = 1024 * MEGABYTE;
    const diskOf = (free: number, isNeeded = true, size = 100 * GIGABYTE) => {
      const space = {
        free: { bytes: free * MEGABYTE, files: 5_000_000 },
        size: { bytes: size, files: 6_000_000 },
      };
      return {
        space,
        disk: { name: 'the disk of the build', isNeeded, space: () => Promise.resolve(space) },
      };
    };
    const never = (): Promise<never> => new Promise(() => undefined);

    it.each([
      ['2 GB', { bytes: 2_047 * MEGABYTE }, 'has 2047 MB free, and builds leave 2048 MB to others'],
      [
        '100,000 inodes',
        { files: 99_999 },
        'has 99999 inodes free, and builds leave 100000 inodes to others',
      ],
    ])('ends when a disk has less than %s free, whatever took it', async (_, less, message) => {
      const clock = new FakeClock();
      const { space, disk } = diskOf(3_000);
      const bound = { folders: [await newFolder()], maxBytes: MEGABYTE, clock, disks: [disk] };
      const ended = withinBound(bound, never).catch((error: unknown) => error);
      await clock.advance(5_000);
      Object.assign(space.free, less);
      await clock.advance(1_000);
      const error = await ended;
      expect(error).toBeInstanceOf(DiskFullError);
      expect((error as Error).message).toContain(`the disk of the build ${message}`);
    });

    it('ends the build for good that took half of what must stay free', async () => {
      const clock = new FakeClock();
      const folder = await newFolder();
      await writeFile(join(folder, 'large'), Buffer.alloc(2 * MEGABYTE));
      const { space, disk } = diskOf(3_000, true, 30 * MEGABYTE);
      const bound = { folders: [folder], maxBytes: 4 * MEGABYTE, clock, disks: [disk] };
      const ended = withinBound(bound, never).catch((error: unknown) => error);
      await clock.advance(1_000);
      // both looks are over, that at the folder too
      while (clock.pending < 2) await new Promise((resolve) => setImmediate(resolve));
      space.free.bytes = 2 * MEGABYTE;
      await clock.advance(1_000);
      const error = await ended;
      expect(error).toBeInstanceOf(BuildError);
      expect(error).not.toBeInstanceOf(DiskFullError);
      expect((error as Error).message).toMatch(/; the working folder of this build has 2 MB and 1 inodes$/);
    });

    it('ends the build for good that filled the disk since the last look at its folder, and frees it', async () => {
      const clock = new FakeClock();
      const folder = await newFolder();
      const { space, disk } = diskOf(3_000, true, 30 * MEGABYTE);
      let endings = 0;
      const bound = {
        folders: [folder],
        maxBytes: 4 * MEGABYTE,
        clock,
        disks: [disk],
        end: () => void endings++,
      };
      const ended = withinBound(bound, never).catch((error: unknown) => error);
      await clock.advance(100);
      await mkdir(join(folder, 'closed'));
      await writeFile(join(folder, 'closed', 'large'), Buffer.alloc(2 * MEGABYTE));
      spawnSync('chmod', ['000', join(folder, 'closed')]);
      space.free.bytes = 2 * MEGABYTE;
      await clock.advance(50);
      const error = await ended;
      expect(error).toBeInstanceOf(BuildError);
      expect(error).not.toBeInstanceOf(DiskFullError);
      expect((error as Error).message).toMatch(/; the working folder of this build has 2 MB and 2 inodes$/);
      expect([endings, await readdir(folder)]).toEqual([1, []]);
    });

    it('begins nothing while a disk that it needs has less', async () => {
      const [clock, folder] = [new FakeClock(), await newFolder()];
      let begun = 0;
      const begin = (): Promise<number> => Promise.resolve(++begun);
      const bound = { folders: [folder], maxBytes: MEGABYTE, clock, disks: [diskOf(2_000).disk] };
      await expect(withinBound(bound, begin)).rejects.toThrow(DiskFullError);
      expect(begun).toBe(0);
    });

    it.each([
      [2_000, 1_900],
      [3, 2],
    ])(
      'ends before it fills a disk of which %d MB are free, and that it does not need',
      async (free, least) => {
        const clock = new FakeClock();
        const folder = await newFolder();
        await writeFile(join(folder, 'large'), Buffer.alloc(2 * MEGABYTE));
        const { space, disk } = diskOf(free, false);
        const bound = { folders: [folder], maxBytes: 4 * MEGABYTE, clock, disks: [disk] };
        const ended = withinBound(bound, never).catch((error: unknown) => error);
        await clock.advance(0);
        space.free.bytes = least * MEGABYTE;
        await clock.advance(1_000);
        while (clock.pending < 2) await new Promise((resolve) => setImmediate(resolve));
        space.free.bytes = (least - 1) * MEGABYTE;
        await clock.advance(1_000);
        expect(await ended).toBeInstanceOf(DiskFullError);
      },
    );
  });

  it('ends at a folder of many empty files', async () => {
    const folder = await newFolder();
    for (let at = 0; at < 6; at++) await mkdir(join(folder, `empty-${at}`));
    const bound = { folders: [folder], maxBytes: MEGABYTE, maxFiles: 5, clock: systemClock, disks: [] };
    await expect(withinBound(bound, () => Promise.resolve())).rejects.toThrow(
      /^the working folder has more than 5 files, folders and links/,
    );
  });

  it('counts a file with several names once', async () => {
    const folder = await newFolder();
    const large = join(folder, 'large');
    await writeFile(large, Buffer.alloc(MEGABYTE));
    for (let at = 0; at < 5; at++) await link(large, join(folder, `again-${at}`));
    const bound = { folders: [folder], maxBytes: 2 * MEGABYTE, clock: systemClock, disks: [] };
    expect(await withinBound(bound, () => Promise.resolve('done'))).toBe('done');
  });

  it('ends at a folder that it cannot read', async () => {
    const folder = await newFolder();
    const deeper = 'd=$(printf %0200d 0); for i in $(seq 30); do mkdir $d && cd -P $d || exit 1; done';
    const made = spawnSync('bash', ['-c', `${deeper}; head -c 2000000 /dev/zero > large`], { cwd: folder });
    expect(made.status).toBe(0);
    const bound = { folders: [folder], maxBytes: MEGABYTE, clock: systemClock, disks: [] };
    await expect(withinBound(bound, () => Promise.resolve())).rejects.toThrow(
      /^the size of the working folder is not known: .{200}… cannot be read/,
    );
    spawnSync('rm', ['-rf', folder]);
  });

  it('opens folders that were closed', async () => {
    const folder = await newFolder();
    const closed = join(folder, 'closed');
    await mkdir(closed);
    await writeFile(join(closed, 'large'), Buffer.alloc(2 * MEGABYTE));
    spawnSync('chmod', ['000', closed]);
    const bound = { folders: [folder], maxBytes: MEGABYTE, clock: systemClock, disks: [] };
    await expect(withinBound(bound, () => Promise.resolve())).rejects.toThrow(/takes more than 1 MB/);
  });
});
