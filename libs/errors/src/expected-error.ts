/** Handler of a rejection: answers undefined for an error that is expected, and throws every other one. */
export function unless(isExpected: (error: unknown) => boolean): (error: unknown) => undefined {
  return (error) => {
    if (!isExpected(error)) throw error;
    return undefined;
  };
}

/** True for the error of a file or folder that does not exist. */
export function isMissingFile(error: unknown): boolean {
  // not `instanceof Error`: what Node's own modules throw belongs to another realm inside a test runner's sandbox
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 'ENOENT';
}
