import { basename, dirname, join, relative, sep } from 'node:path';

/** A path as one word of a shell, quoted where it needs to be. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Folder in which a command would be typed, and folder of this program. */
export interface ProgramPlaces {
  readonly here: string;
  readonly installation: string;
}

/** Words to type for this program: elsewhere npx would look for a package of its name in the registry. */
export function programWords({ here, installation }: ProgramPlaces): string {
  const owner = installedIn(installation);
  if (here === installation || (owner !== undefined && `${here}${sep}`.startsWith(`${owner}${sep}`)))
    return 'npx agentplane';
  // npm install --global, which links its command into a folder of PATH
  if (owner !== undefined && basename(owner) === 'lib') return 'agentplane';
  const program = join(installation, 'bin', 'agentplane.js');
  const short = relative(here, program);
  return `node ${shellWord(short.startsWith('..') ? program : short)}`;
}

/** The folder whose `node_modules` contains an installed package; undefined for a checkout. */
function installedIn(installation: string): string | undefined {
  const modules = dirname(installation);
  return basename(modules) === 'node_modules' ? dirname(modules) : undefined;
}
