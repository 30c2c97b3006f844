import { existsSync } from 'node:fs';
import { readdir, readlink, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '#lib/time';
import { partialPath, removePartials } from '../partial-folder.js';
import { lockStore } from '../store-lock.js';

/** Minimum age before removal: a caller that wants a folder links it within moments. */
const WANTED_MS = 3_600_000;
const KEY = /^[0-9a-f]{64}$/;
/** Folders of contents, and of those that are being made. */
const PLACE = /^(closed|user-\d+)$/;
const CONTENT = /^(sha256-|\.partial-)/;
const LINKS = ['node_modules', '.venv'];

/**
 * True when packages are installed there already. If so, they stay for an hour at least: the caller links
 * them.
 */
export async function hasPackages(folder: string, shared: string, clock: Clock): Promise<boolean> {
  if (!existsSync(folder)) return false;
  const release = await lockStore(shared, clock);
  try {
    if (!existsSync(folder)) return false;
    const now = clock.now();
    await utimes(folder, now, now);
    return true;
  } finally {
    await release();
  }
}

/**
 * Removes packages that no content of a store links any more: those of lock files and of lists for Python.
 * @param store the folder that holds the contents
 * @param shared installed packages, each in a folder of its own
 * @returns number of removed ones
 */
export async function removeUnusedPackages(store: string, shared: string, clock: Clock): Promise<number> {
  if (!existsSync(shared)) return 0;
  await removePartials(shared);
  const all = (await readdir(shared)).filter((name) => KEY.test(name));
  const used = all.length > 0 ? await linkedKeys(store) : new Set();
  let removed = 0;
  for (const path of all.filter((key) => !used.has(key)).map((key) => join(shared, key))) {
    const partial = partialPath(shared);
    const release = await lockStore(shared, clock);
    try {
      const { mtimeMs } = await stat(path);
      if (clock.now().getTime() - mtimeMs < WANTED_MS) continue;
      await rename(path, partial);
    } finally {
      await release();
    }
    await rm(partial, { recursive: true, force: true });
    removed++;
  }
  return removed;
}

async function linkedKeys(store: string): Promise<ReadonlySet<string>> {
  const places = (await readdir(store)).filter((name) => PLACE.test(name));
  const keys = new Set<string>();
  for (const place of [store, ...places.map((name) => join(store, name))])
    for (const content of (await readdir(place)).filter((name) => CONTENT.test(name)))
      for (const link of LINKS) {
        const goal = await readlink(join(place, content, link)).catch(() => '');
        const key = /(?:^|\/)dependencies\/([0-9a-f]{64})(?:\/|$)/.exec(goal)?.[1];
        if (key !== undefined) keys.add(key);
      }
  return keys;
}
