import { spawnSync } from 'node:child_process';
import { afterAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '#lib/telemetry';
import { temporaryFolder } from '#lib/testing';
import { systemClock } from '#lib/time';
import { startEmbeddedPostgres } from './embedded-postgres.js';
import { requireSpace } from './cluster.js';

describe('requireSpace', () => {
  const folder = temporaryFolder();

  it('accepts a disk with room, and names what is free and what is needed for another', () => {
    expect(() => requireSpace(folder, 1)).not.toThrow();
    expect(() => requireSpace(folder, 2 ** 60)).toThrow(
      /^the disk of .* is too small: \d+ MB free, 1099511627776 MB needed .*--data DIR$/,
    );
  });
});

const disk = temporaryFolder();
const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=30m,mode=755', 'none', disk]);
const isSmall = status === 0;
if (!isSmall)
  process.stderr.write('SKIPPED: the test of a first start on a small disk needs the right to mount one\n');

(isSmall ? describe : describe.skip)('a first start on a disk of 30 MB', () => {
  afterAll(() => void spawnSync('umount', ['-l', disk]));

  it('fails with a sentence instead of the output of initdb', async () => {
    const log = createLogger('test', 'silent');
    const starting = startEmbeddedPostgres({ dataDir: disk, port: 0, log, clock: systemClock });
    await expect(starting).rejects.toThrow(/is too small: (29|30) MB free, 120 MB needed/);
  });
});
