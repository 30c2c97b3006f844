import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The version of this installation, from its package.json. */
export function installedVersion(installation: string): string {
  const text = readFileSync(join(installation, 'package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
