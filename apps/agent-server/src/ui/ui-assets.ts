import { createRequire } from 'node:module';
import { join, extname, normalize } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { BuildOptions, BuildResult, Plugin } from 'esbuild';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { UiEntry, UiSettings } from '#lib/graph-configuration';
import { describeFailure } from '#lib/graph-sources';
import { errorText, TerminalError } from '#lib/errors';
import { REASON } from '#lib/resources';

/** Bundle of the components of one entry. */
interface BundledComponents {
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
function globalNameOf(name: string): string {
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
async function bundleComponents(
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

/** Placeholder that clients replace with the id of the component's root. */
const ROOT = '{{shadowRootId}}';

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}

/** A literal of JavaScript that no part of a page takes for anything else: all but letters, digits and `_` is escaped. */
function literal(text: string): string {
  const escaped = text.replace(/\W/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return `"${escaped}"`;
}

/**
 * HTML that loads the components of an entry into a page and shows one of them. Clients insert it into a shadow root and
 * name that root in it.
 * @param base address of the server for the page, without a slash at the end
 * @param component as the caller names it
 */
export function renderSnippet(
  base: string,
  name: string,
  assets: readonly UiAsset[],
  component: string,
): string {
  const address = ({ name: file }: UiAsset): string =>
    escape(`${base}/ui/${encodeURIComponent(name)}/${file}`);
  // no part of it holds a quotation mark of the attribute
  const show = `${globalNameOf(name)}.render(${literal(component)}, "${ROOT}")`;
  return assets
    .map((asset) =>
      asset.name.endsWith('.css')
        ? `<link rel="stylesheet" href="${address(asset)}" />`
        : `<script src="${address(asset)}" onload='${show}'></script>`,
    )
    .join('\n');
}

/** Limit of the files of a component; servers keep them in memory. */
const MAX_BYTES = 16 * 2 ** 20;

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
};

/** A file of a page. */
interface UiAsset {
  readonly name: string;
  readonly type: string;
  readonly bytes: Buffer;
  /** Hash of its bytes: changes with them, and is the same at every replica. */
  readonly hash: string;
}

function failed(name: string, what: string, cause?: unknown): TerminalError {
  const message = `"ui" of langgraph.json: ${name} failed to load: ${what}`;
  return new TerminalError(REASON.graphLoadFailed, message, { cause });
}

function assetOf(name: string, contents: Uint8Array): UiAsset {
  const hash = createHash('sha256').update(contents).digest('base64url').slice(0, 27);
  return { name, type: TYPES[extname(name)] ?? 'text/plain', bytes: Buffer.from(contents), hash };
}

export interface UiFolder {
  /** Real path of the agent's folder. */
  readonly folder: string;
  readonly ui: UiSettings;
}

/** The components of one agent as pages load them, bundled once at start: each server has the same bytes. */
export class UiAssets {
  private constructor(private readonly entries: ReadonlyMap<string, readonly UiAsset[]>) {}

  /**
   * @param onSources learns of the agent's own files that components are made of
   * @throws TerminalError (`GraphLoadFailed`) with file, line and column of each error
   */
  static async load(
    { folder, ui }: UiFolder,
    onSources: (files: readonly string[]) => void,
  ): Promise<UiAssets> {
    const entries = new Map<string, readonly UiAsset[]>();
    for (const { name, file } of ui.entries) {
      const entry = { name, file: normalize(file) };
      if (!existsSync(join(folder, entry.file))) throw failed(name, `${entry.file} does not exist`);
      let bundled: BundledComponents;
      try {
        bundled = await bundleComponents(folder, entry, ui.shared);
      } catch (error) {
        throw failed(name, describeFailure(error) ?? errorText(error), error);
      }
      onSources(bundled.sources);
      const assets = [...bundled.files]
        .map(([path, contents]) => assetOf(path, contents))
        .sort((one, other) => (one.name < other.name ? -1 : 1));
      const bytes = assets.reduce((sum, asset) => sum + asset.bytes.length, 0);
      if (bytes > MAX_BYTES)
        throw failed(
          name,
          `its bundle has ${bytes} bytes, and ${MAX_BYTES} at most are served; import less, or name packages in "ui_config.shared"`,
        );
      entries.set(name, assets);
    }
    return new UiAssets(entries);
  }

  /** Files of an entry of `ui`, styles first; undefined for an unknown name. */
  of(name: string): readonly UiAsset[] | undefined {
    return this.entries.get(name);
  }

  find(name: string, file: string): UiAsset | undefined {
    return this.of(name)?.find((asset) => asset.name === file);
  }
}
