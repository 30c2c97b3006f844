import { kindOfPart, onlyOf } from './content/part-entries.js';
import type { OpenBackup } from './format/backup-manifest.js';
import { readPart } from './part/read-part.js';
import type { BackupWatch } from './take/backup-watch.js';

/** Content of a backup, once all of it was read. */
export interface VerifiedBackup {
  readonly parts: number;
  readonly entries: number;
  readonly contentBytes: number;
}

/** Reads a backup to its end: every checksum, every archive, every count, every place. @throws Error with file and place */
export async function verifyBackup(
  { folder, manifest, key }: OpenBackup,
  watch: BackupWatch,
): Promise<VerifiedBackup> {
  let entries = 0;
  let contentBytes = 0;
  for (const part of manifest.parts) {
    watch.stage(part.name, part.bytes);
    const items = readPart(folder, part, key, (bytes) => watch.bytes(bytes));
    for await (const { entry } of onlyOf(kindOfPart(part), items)) {
      entries++;
      contentBytes += entry.bytes;
    }
  }
  watch.end();
  return { parts: manifest.parts.length, entries, contentBytes };
}
