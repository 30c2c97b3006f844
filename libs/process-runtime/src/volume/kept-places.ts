import { lstatSync } from 'node:fs';
import type { Bind } from './mount-steps.js';

/**
 * Paths that must be bound again because a volume covers them: entries of covered folders that contain
 * something that the program needs. Only writable volumes can take them.
 * @param needed absolute paths; those that do not exist are left out
 */
export function keptPlaces(binds: readonly Bind[], needed: readonly string[]): readonly string[] {
  const targets = binds.filter(({ isReadOnly }) => !isReadOnly).map(({ target }) => `${target}/`);
  const covered = targets.flatMap((target) =>
    needed
      .filter((path) => path.startsWith(target))
      .map((path) => `${target}${path.slice(target.length).split('/')[0] ?? ''}`),
  );
  const places = new Set(binds.map(({ target }) => target));
  return [...new Set(covered)].filter((path) => !places.has(path) && exists(path));
}

function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
