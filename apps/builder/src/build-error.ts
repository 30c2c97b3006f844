/** Why a build ended, as a sentence for the people whose repository it is. */
export class BuildError extends Error {
  override readonly name = 'BuildError';
}
