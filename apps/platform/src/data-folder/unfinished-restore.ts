import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readJson, writeJson } from '#lib/data-folder';

/** Mark in a data folder from the beginning of a restore to its end. */
export const UNFINISHED_RESTORE = 'restoring.json';

interface Unfinished {
  /** The backup. */
  readonly from: string;
}

/** @throws Error when the folder holds a part of a platform only */
export function refuseUnfinishedRestore(root: string): void {
  const path = join(root, UNFINISHED_RESTORE);
  if (!existsSync(path)) return;
  const from = readJson<Unfinished>(path)?.from ?? 'BACKUP';
  throw new Error(
    `restoring into ${root} was not finished; run "agentplane restore ${from} --data ${root}" again, which begins anew`,
  );
}

export function isUnfinishedRestore(root: string): boolean {
  return existsSync(join(root, UNFINISHED_RESTORE));
}

export function beginRestore(root: string, from: string): void {
  writeJson(join(root, UNFINISHED_RESTORE), { from } satisfies Unfinished);
}

export function endRestore(root: string): void {
  rmSync(join(root, UNFINISHED_RESTORE));
}
