import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type FlagsOf, type MIGRATE_OBJECTS } from '#lib/command-line';
import { dataPaths, findRunningPlatform, nothingRuns } from '#lib/data-folder';
import { StoredObjects } from '#lib/embedded-object-store';
import { EXIT } from '#lib/lifecycle';
import { openObjectStore } from '#lib/object-store';
import { systemClock } from '#lib/time';
import { refuseUnfinishedRestore } from '../data-folder/data-folder.js';
import { copyObjects, type ObjectCounts, readStoreFile } from './objects/copy-objects.js';

type Flags = FlagsOf<typeof MIGRATE_OBJECTS.options>;

const PROGRESS_MS = 2_000;

function usage(problem: string): number {
  process.stderr.write(`${problem}\n`);
  return EXIT.usage;
}

/** Tells the terminal now and then how far a copy is. */
function progress(): (counts: ObjectCounts) => void {
  let told = -Infinity;
  return ({ copied, copiedBytes, present }) => {
    const now = systemClock.monotonicMs();
    if (now - told < PROGRESS_MS) return;
    told = now;
    process.stderr.write(`${copied} objects copied (${copiedBytes} bytes), ${present} existed\n`);
  };
}

/** `agentplane migrate objects`. */
export async function runMigrateObjects(flags: Flags): Promise<number> {
  const { storeFile, bucket, as } = flags;
  if (storeFile === undefined)
    return usage('the other store is missing: name a file with its address and keys by --store-file FILE');
  if (as !== undefined && bucket === undefined)
    return usage('--as names the copy of one bucket: name that by --bucket');
  const { root, objects: folder } = dataPaths(flags.data);
  refuseUnfinishedRestore(root);
  if (!existsSync(join(root, 'format.json')))
    throw new Error(`${root} is no data folder of a platform: ${nothingRuns(flags.data).trimEnd()}`);
  const objects = new StoredObjects(folder);
  const buckets = await objects.buckets();
  if (bucket !== undefined && !buckets.includes(bucket))
    throw new Error(`bucket ${bucket} does not exist there; choose one of: ${buckets.join(', ')}`);
  const store = openObjectStore(readStoreFile(storeFile));
  try {
    const bucketFor = (name: string): string | undefined =>
      bucket === undefined || name === bucket ? (as ?? name) : undefined;
    const counts = await copyObjects(objects, { store, bucketFor, progress: progress() });
    process.stdout.write(
      `Copied ${counts.copied} objects (${counts.copiedBytes} bytes); ${counts.present} existed with the same bytes.\n`,
    );
    if (findRunningPlatform(flags.data))
      process.stdout.write(
        'The platform runs: stop it with "agentplane down" and repeat the command, which then copies what was stored since.\n',
      );
    return EXIT.ok;
  } finally {
    store.close();
  }
}
