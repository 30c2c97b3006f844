import { chmodSync, mkdirSync, statfsSync } from 'node:fs';
import { freemem } from 'node:os';
import { join } from 'node:path';
import { inheritedEnvironment } from '#lib/config';

const FOLDER = '/dev/shm';
/** Magic number of tmpfs (statfs(2)). */
const TMPFS = 0x01021994;
/** Several servers are up at a time, some with a gigabyte of rows. */
const LEAST_BYTES = 8 * 2 ** 30;

/**
 * A folder whose files are in memory, named after the test run, which removes it; undefined on a machine
 * without one that has plenty of free space. The thousand files of an empty cluster are copied there in 0.07
 * s of processor time, and on a disk (ext4) in 0.5 s.
 */
export function folderInMemory(): string | undefined {
  const { AGENTPLANE_TEST_RUN } = inheritedEnvironment(['AGENTPLANE_TEST_RUN']);
  try {
    const { type, bavail, bsize } = statfsSync(FOLDER);
    const free = Math.min(bavail * bsize, freemem());
    if (type !== TMPFS || free < LEAST_BYTES) return undefined;
    const folder = join(FOLDER, AGENTPLANE_TEST_RUN ?? '');
    mkdirSync(folder, { recursive: true });
    if (AGENTPLANE_TEST_RUN) chmodSync(folder, 0o1777); // the server may run as another user
    return folder;
  } catch {
    return undefined; // not on Linux
  }
}
