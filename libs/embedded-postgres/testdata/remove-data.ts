import { existsSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Removes the cluster of a data folder that could not hold it itself (started as root below a folder of root). */
export function removeData(dataDir: string): void {
  const note = join(dataDir, 'postgres.location');
  if (existsSync(note)) rmSync(dirname(readFileSync(note, 'utf8').trim()), { recursive: true, force: true });
}
