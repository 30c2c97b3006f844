import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The folder of everything that was compiled; seen from `libs/bundles/src/` in it. */
const DIST = new URL('../../../', import.meta.url);

/**
 * The URL of the file that the build makes of a program and of the packages that it uses: to find and link a
 * thousand modules takes longer than to run them. Undefined without such a file, or when something was
 * compiled after it (by the Nest CLI, which does not know it): the caller then imports the modules.
 * @param name of the program in `bin/bundle.js`
 * @param dist a URL of the folder, with its last slash
 */
export function bundleOf(name: string, dist = DIST): string | undefined {
  const bundle = new URL(`bundles/${name}.js`, dist);
  const [made, compiled] = [bundle, new URL('.tsbuildinfo', dist)].map(
    (file) => statSync(fileURLToPath(file), { throwIfNoEntry: false })?.mtimeMs,
  );
  return made === undefined || (compiled !== undefined && compiled > made) ? undefined : bundle.href;
}
