import { type Dirent, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Names that are never a part of an image: what installs and tools make beside the sources, and histories. */
export const NOT_CONTENT: readonly string[] = [
  'node_modules',
  '.git',
  '.agentplane',
  '.venv',
  '__pycache__',
  '.pytest_cache',
  '.mypy_cache',
  '.ruff_cache',
];

/** Settings of package managers that may hold the token of a registry, and are needed to install. */
export const INSTALL_SETTINGS: readonly string[] = ['.npmrc', '.yarnrc', '.yarnrc.yml'];

/** Names of files and folders that tend to hold secrets; `*` matches any letters. */
export const SECRET_FILES: readonly string[] = [
  '.env',
  '.env.*',
  '.envrc',
  ...INSTALL_SETTINGS,
  '.pypirc',
  '.netrc',
  '_netrc',
  '.git-credentials',
  '.pgpass',
  '.vault-token',
  '.htpasswd',
  '.aws',
  '.azure',
  '.docker',
  '.gnupg',
  '.kube',
  '.ssh',
  'id_rsa',
  'id_dsa',
  'id_ecdsa',
  'id_ed25519',
  '*.key',
  '*.p12',
  '*.pfx',
  '*.jks',
  '*.keystore',
];

/** Names that the list above has, and that show how a file looks, without its values. */
export const SECRET_EXAMPLES: readonly string[] = ['.env.example', '.env.sample', '.env.template'];

const IS_SECRET = new RegExp(
  `^(${SECRET_FILES.map((name) => name.replaceAll('.', '\\.').replaceAll('*', '.*')).join('|')})$`,
);

/** True when a file or folder of this name is never a part of an image, or tends to hold secrets. */
export function isLeftOut(name: string): boolean {
  return NOT_CONTENT.includes(name) || IS_SECRET.test(name);
}

/** Maximum number of names in a message. */
const MOST = 20;

/**
 * Entries of a folder; empty for one that this user may not read, such as that of a database: it is no part
 * of an image either.
 */
function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') return [];
    throw error;
  }
}

/**
 * Paths of what tends to hold secrets in a folder of sources, sorted, the first twenty; a folder of such a name counts as
 * one.
 */
export function findSecretFiles(folder: string): readonly string[] {
  const found: string[] = [];
  const look = (path: string): void => {
    for (const entry of entriesOf(join(folder, path))) {
      const { name } = entry;
      if (NOT_CONTENT.includes(name)) continue;
      const inner = path === '' ? name : `${path}/${name}`;
      if (IS_SECRET.test(name) && !SECRET_EXAMPLES.includes(name)) found.push(inner);
      else if (entry.isDirectory()) look(inner);
    }
  };
  look('');
  return found.sort().slice(0, MOST);
}

/**
 * Decides which files of a folder an image leaves out, since they tend to hold secrets. Settings that packages are
 * installed with stay, and those that a line `!PATH` of its .dockerignore names.
 */
export function secretsLeftOut(folder: string): (path: string) => boolean {
  const ignoring = join(folder, '.dockerignore');
  const lines = existsSync(ignoring) ? readFileSync(ignoring, 'utf8').split(/\r?\n/) : [];
  const wanted = new Set(lines.flatMap((line) => (line.startsWith('!') ? [line.slice(1).trim()] : [])));
  return (path) => {
    const name = path.split('/').at(-1) ?? path;
    if (!IS_SECRET.test(name) || SECRET_EXAMPLES.includes(name) || INSTALL_SETTINGS.includes(name))
      return false;
    return !wanted.has(path) && !wanted.has(name) && !wanted.has(`**/${name}`);
  };
}
