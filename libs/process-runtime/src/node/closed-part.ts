import { statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * The part of the path that keeps out a user who owns nothing on the way, the deepest first; undefined when such a user may
 * read the file or folder.
 */
export function closedPart(path: string): string | undefined {
  const found = statSync(path);
  const needed = found.isDirectory() ? 0o001 : 0o004;
  if ((found.mode & needed) === 0) return path;
  const above = dirname(path);
  return above === path ? undefined : closedPart(above);
}
