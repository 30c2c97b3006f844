import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findPackageManager, readManifest } from '#lib/image-store';
import { isJsonObject } from '#lib/json';
import { shellWord } from '#lib/command-line';

/** Where Node looks for the packages of a folder's files. */
function isInstalled(name: string, folder: string): boolean {
  if (existsSync(join(folder, 'node_modules', name, 'package.json'))) return true;
  const above = dirname(folder);
  return above !== folder && isInstalled(name, above);
}

/** What to do about packages that package.json names and nobody installed; undefined when all are there. */
export function missingPackages(folder: string): string | undefined {
  const manifest = readManifest(folder) ?? {};
  const { dependencies } = manifest;
  const missing = Object.keys(isJsonObject(dependencies) ? dependencies : {}).filter(
    (name) => !isInstalled(name, folder),
  );
  if (missing.length === 0) return undefined;
  const manager = findPackageManager(folder, manifest)?.name ?? 'npm';
  const verb = missing.length === 1 ? 'is' : 'are';
  return `package.json names ${missing.join(', ')}, which ${verb} not installed; run: cd ${shellWord(folder)} && ${manager} install`;
}
