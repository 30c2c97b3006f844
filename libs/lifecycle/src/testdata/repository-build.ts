import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const root = resolve(import.meta.dirname, '..', '..', '..', '..');

/** URL of a library as it was built. */
export function repositoryBuild(library: string): string {
  return pathToFileURL(join(root, 'dist', 'libs', library, 'src', 'index.js')).href;
}
