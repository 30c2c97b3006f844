import { lstat, mkdir, readdir, realpath, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Metadata of installed packages, which an installer reads. */
const METADATA = /\.(dist|egg)-info$/;

/**
 * Does something with an environment while its packages are listed in it and their code is not there: whatever starts the
 * interpreter of an environment runs its `.pth` files, and an installer imports modules that it may find.
 * @throws Error when a build made a link of one of its folders: files of the machine would be moved
 */
export async function withoutCode(venv: string, work: () => Promise<void>): Promise<void> {
  const aside = join(venv, '.code');
  const folders: (readonly [string, string])[] = [];
  for (const version of await readdir(join(venv, 'lib')).catch(() => []))
    folders.push([join('lib', version, 'site-packages'), join(aside, version)]);
  await mkdir(aside);
  const root = await realpath(venv);
  for (const [packages, kept] of folders) {
    if ((await realpath(join(venv, packages))) !== join(root, packages))
      throw new Error(`${join(venv, packages)} is a link that a package made; remove that package`);
    await mkdir(kept);
    for (const name of await readdir(join(venv, packages)))
      if (!METADATA.test(name)) await rename(join(venv, packages, name), join(kept, name));
  }
  await work();
  for (const [packages, kept] of folders) await putBack(kept, join(venv, packages));
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
