import { BuildError } from './build-error.js';

type Git = (args: readonly string[], what: string) => Promise<string>;

const SHOWN = 5;
const SUBMODULE = /^160000 commit [0-9a-f]+\t(.*)$/gm;
/** Beginning of a file whose content LFS keeps elsewhere. */
const POINTER = 'version https://git-lfs.github.com/spec/v1';

/**
 * Refuses a commit whose checkout would lack files in silence.
 * @throws BuildError naming them
 */
export async function refuseIncomplete(git: Git): Promise<void> {
  const tree = await git(['ls-tree', '-r', '--full-tree', 'FETCH_HEAD'], 'reading the commit');
  const submodules = [...tree.matchAll(SUBMODULE)].map(([, path = '']) => path);
  if (submodules.length > 0)
    throw new BuildError(
      `submodules are not supported: ${shown(submodules)}; put their files into the repository, or publish them as packages`,
    );
  const named = await git(
    ['grep', '-l', '-I', '-e', `^${POINTER}$`, 'FETCH_HEAD'],
    'looking for files of LFS',
  );
  const pointers: string[] = [];
  for (const line of named.split('\n').filter((one) => one !== '')) {
    const path = line.replace(/^FETCH_HEAD:/, '');
    // a page about LFS may hold the line too
    const text = await git(['cat-file', 'blob', `FETCH_HEAD:${path}`], `reading ${path}`);
    if (text.startsWith(POINTER)) pointers.push(path);
    if (pointers.length > SHOWN) break;
  }
  if (pointers.length > 0)
    throw new BuildError(
      `files of LFS are not supported: ${shown(pointers)}; keep them in the repository itself, or load them when the agent starts`,
    );
}

function shown(paths: readonly string[]): string {
  const more = paths.length > SHOWN ? ' and others' : '';
  return `${paths.slice(0, SHOWN).join(', ')}${more}`;
}
