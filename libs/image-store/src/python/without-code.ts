import { lstat, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** What an installer reads of packages that are there. */
const METADATA = /\.(dist|egg)-info$/;

/**
 * Does something with an environment while its packages are listed in it and their code is not there: whatever starts the
 * interpreter of an environment runs its `.pth` files, and an installer imports modules that it may find.
 */
export async function withoutCode(venv: string, work: () => Promise<void>): Promise<void> {
  const aside = join(venv, '.code');
  const folders: (readonly [string, string])[] = [];
  for (const version of await readdir(join(venv, 'lib')).catch(() => []))
    folders.push([join(venv, 'lib', version, 'site-packages'), join(aside, version)]);
  for (const [packages, kept] of folders) {
    await mkdir(kept, { recursive: true });
    for (const name of await readdir(packages))
      if (!METADATA.test(name)) await rename(join(packages, name), join(kept, name));
  }
  await work();
  for (const [packages, kept] of folders) await putBack(kept, packages);
  await rm(aside, { recursive: true });
}

/** Folders may be shared by packages (namespaces); a file that was installed since is the newer one. */
async function putBack(kept: string, packages: string): Promise<void> {
  for (const name of await readdir(kept)) {
    const [from, to] = [join(kept, name), join(packages, name)];
    const there = await lstat(to).catch(() => undefined);
    if (!there) await rename(from, to);
    else if (there.isDirectory() && (await lstat(from)).isDirectory()) await putBack(from, to);
  }
}
