import { TerminalError, WaitingError } from '#lib/errors';
import { REASON } from '#lib/resources';

/** Errors of the machine and of the moment: another attempt may succeed. */
const PASSING: ReadonlySet<string> = new Set([
  'ENOSPC',
  'EDQUOT',
  'EIO',
  'EMFILE',
  'ENFILE',
  'ENOMEM',
  'EAGAIN',
  'EBUSY',
  'EINTR',
  'EROFS',
]);

/**
 * Does something with the result of a build. A file that is missing there, or is a folder, stays so however
 * often it is tried.
 * @param folders folders to which paths in messages are relative
 * @throws TerminalError for faults of the result; passing errors of the machine unchanged
 */
export async function refusingWhatWasBuilt<T>(
  folders: readonly string[],
  perform: () => Promise<T>,
): Promise<T> {
  try {
    return await perform();
  } catch (error) {
    if (error instanceof TerminalError || error instanceof WaitingError) throw error;
    const { code = 'unknown error', syscall, path } = error as NodeJS.ErrnoException;
    if (PASSING.has(code)) throw error;
    const what = syscall === undefined ? code : `${syscall} of ${placeOf(path, folders)} failed with ${code}`;
    throw new TerminalError(
      REASON.buildRefused,
      `the result of the build cannot become an image: ${what}; look at what the commands make of the repository`,
      { cause: error },
    );
  }
}

/** The path in the repository: where the machine keeps it is its own affair. */
function placeOf(path: string | undefined, folders: readonly string[]): string {
  const folder = folders.find((one) => path?.startsWith(`${one}/`));
  return folder === undefined || path === undefined ? 'its folder' : path.slice(folder.length + 1);
}
