import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { BuildOptions, BuildResult, Plugin } from 'esbuild';
import type { UiEntry } from '#lib/graph-configuration';

/** Bundle of the components of one entry. */
export interface BundledComponents {
  /** Files by name: `entrypoint.js`, and `entrypoint.css` when a style is imported. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** Agent's own files that are part of the bundle, absolute. */
  readonly sources: readonly string[];
}

/**
 * Packages that every page with components provides: there must be one React alone, and the stream is the
 * page's.
 */
const OF_PAGES = ['react', 'react-dom', '@langchain/langgraph-sdk'];
const TAILWIND = 'esbuild-plugin-tailwindcss';
const ENTRY = 'langgraph.json';

/** Images and fonts travel inside: a page loads script and style by their addresses, and no other file. */
const INSIDE: NonNullable<BuildOptions['loader']> = Object.fromEntries(
  ['png', 'jpg', 'jpeg', 'gif', 'webp', 'avif', 'svg', 'ico', 'woff', 'woff2', 'ttf', 'otf'].map((kind) => [
    `.${kind}`,
    'dataurl',
  ]),
);

/** Leaves packages to the page, which hands them out under `LGUI_REQUIRE` (`@langchain/langgraph-sdk/react-ui`). */
function pageModules(names: readonly string[]): Plugin {
  const isOfPage = (path: string): boolean =>
    names.some((name) => path === name || path.startsWith(`${name}/`));
  return {
    name: 'page-modules',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^[^./]/ }, ({ path }) =>
        isOfPage(path) ? { path, namespace: 'page' } : undefined,
      );
      onLoad({ filter: /.*/, namespace: 'page' }, ({ path }) => ({
        contents: `module.exports = globalThis[Symbol.for('LGUI_REQUIRE')](${JSON.stringify(path)})`,
      }));
    },
  };
}

/** Refuses Tailwind without its plugin: the style would have no classes. */
const refuseTailwind: Plugin = {
  name: 'refuse-tailwind',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^tailwindcss($|\/)/ }, ({ kind }) => {
      const text = `Tailwind needs the package ${TAILWIND}; add it to the dependencies of package.json`;
      return kind === 'import-rule' ? { errors: [{ text }] } : undefined;
    }),
};

/** The plugin for Tailwind that the agent brings. */
async function tailwindOf(folder: string): Promise<Plugin> {
  let path: string;
  try {
    path = createRequire(join(folder, 'package.json')).resolve(TAILWIND);
  } catch {
    return refuseTailwind;
  }
  const module = (await import(pathToFileURL(path).href)) as { tailwindPlugin: () => Plugin };
  return module.tailwindPlugin();
}

/** `render` is called once the script is loaded; a page may have left the component by then. */
function entryCode({ name, file }: UiEntry): string {
  const where = `the default export of ${file} ("ui" of langgraph.json, ${name})`;
  return `
import components from ${JSON.stringify(`./${file}`)};
export function render(name, shadowRootId) {
  if (!components[name])
    throw new Error('UI component ' + name + ' does not exist: ' + ${JSON.stringify(where)} + ' has ' + Object.keys(components).join(', '));
  const root = document.getElementById(shadowRootId)?.shadowRoot;
  if (!root) return;
  const element = document.createElement('div');
  root.appendChild(element);
  window[Symbol.for('LGUI_EXT_STORE')].respond(shadowRootId, components[name], element);
}`;
}

/** The global of a page under which the script of an entry leaves `render`. */
export function globalNameOf(name: string): string {
  return `__LGUI_${name.replace(/[^a-zA-Z0-9]/g, '_')}`;
}

/**
 * Rewrites esbuild's error for a missing default export so that it names the author's file: the import of the
 * entry is not theirs.
 */
function inWords(error: unknown, file: string): unknown {
  const { errors = [] } = error as { errors?: { location: { file: string } | null; text: string }[] };
  for (const one of errors) {
    if (one.location?.file !== ENTRY) continue;
    one.text = `${file} has no default export; write "export default { NAME: Component }"`;
    one.location = null;
  }
  return error;
}

function outputOf(folder: string, { outputFiles, metafile }: BuildResult): BundledComponents {
  const files = (outputFiles ?? []).map(
    ({ path, contents }) => [path.slice(folder.length + 1), contents] as const,
  );
  const isOwn = (path: string): boolean =>
    path !== ENTRY && !path.startsWith('page:') && !path.includes('node_modules/');
  return {
    files: new Map(files),
    sources: Object.keys(metafile?.inputs ?? {})
      .filter(isOwn)
      .map((path) => join(folder, path)),
  };
}

/**
 * Bundles components for pages. esbuild has ended when this returns: 0.1 s for a small file, of which loading esbuild is
 * most.
 * @param folder real path of the agent's folder
 * @param shared packages that pages bring beside React and the SDK
 * @throws BuildFailure of esbuild
 */
export async function bundleComponents(
  folder: string,
  entry: UiEntry,
  shared: readonly string[],
): Promise<BundledComponents> {
  const { build, stop } = await import('esbuild');
  try {
    const result = await build({
      stdin: { contents: entryCode(entry), resolveDir: folder, sourcefile: ENTRY },
      absWorkingDir: folder,
      outdir: folder,
      entryNames: 'entrypoint',
      bundle: true,
      minify: true,
      metafile: true,
      write: false,
      format: 'iife',
      globalName: globalNameOf(entry.name),
      platform: 'browser',
      target: 'es2022',
      jsx: 'automatic',
      jsxDev: false,
      charset: 'utf8',
      loader: INSIDE,
      logLevel: 'silent',
      plugins: [pageModules([...OF_PAGES, ...shared]), await tailwindOf(folder)],
    });
    return outputOf(folder, result);
  } catch (error) {
    throw inWords(error, entry.file);
  } finally {
    await stop();
  }
}
