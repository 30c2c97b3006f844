import { ContainerConfigError } from '../pod-values/container-config-error.js';

/** Maximum length of a spec's text in an error. */
const SHOWN_LETTERS = 200;

/** Limits of a path: it is looked up, or made, part by part. */
export interface PathBounds {
  readonly letters: number;
  readonly parts: number;
}

/** @throws ContainerConfigError for a path that is longer or deeper, with its beginning alone */
export function requireShort(what: string, path: string, { letters, parts }: PathBounds): void {
  if (path.length <= letters && path.split('/').length <= parts) return;
  throw new ContainerConfigError(
    `${what} ${JSON.stringify(path.slice(0, SHOWN_LETTERS))}… has ${path.length} letters; the limit is ${letters}, and ${parts} parts`,
  );
}
