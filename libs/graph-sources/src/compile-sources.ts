import { join } from 'node:path';
import type { BuildFailure, BuildOptions, Message, Metafile, Plugin } from 'esbuild';
import { TerminalError } from '#lib/errors';
import { REASON } from '#lib/resources';

/** `src/graph.ts:12:5: what is wrong`, columns counted from 1 as editors do. */
function describe({ location, text }: Message): string {
  return location ? `${location.file}:${location.line}:${location.column + 1}: ${text}` : text;
}

function isBuildFailure(error: unknown): error is BuildFailure {
  return error instanceof Error && 'errors' in error && Array.isArray(error.errors);
}

/** Errors that esbuild found, each with its place; undefined for any other error. */
export function describeFailure(error: unknown): string | undefined {
  return isBuildFailure(error) ? error.errors.map(describe).join('; ') : undefined;
}

/** One TypeScript file as JavaScript. */
export interface CompiledModule {
  readonly format: 'module' | 'commonjs';
  readonly code: string;
}

/** Facts about an agent's own files that Node cannot find out by itself; all paths are absolute. */
export interface CompiledSources {
  readonly modules: ReadonlyMap<string, CompiledModule>;
  /** File → specifier in an import → resolved file. */
  readonly targets: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

const TYPED = /\.([cm]?ts|tsx|jsx)$/;

const CODE = /\.([cm]?[jt]s|[jt]sx|json)$/;

/** Leaves files that are no code to Node, which names the kind that it cannot import. */
const leaveOthers: Plugin = {
  name: 'leave-others',
  setup: ({ onLoad }) =>
    onLoad({ filter: /.*/ }, ({ path }) => (CODE.test(path) ? undefined : { contents: '', loader: 'empty' })),
};

function sharedOptions(folder: string): BuildOptions & { metafile: true; write: false } {
  return {
    absWorkingDir: folder,
    outdir: folder,
    outbase: folder,
    platform: 'node',
    target: 'node24',
    metafile: true,
    write: false,
    logLevel: 'silent',
  };
}

/**
 * Key under which the process keeps a function that each compiled file calls with its path once it is
 * evaluated.
 */
export const EVALUATED = Symbol.for('agentplane.evaluated');
const mark = (path: string): { js: string } => ({
  js: `;globalThis[Symbol.for('${EVALUATED.description}')]?.(${path});`,
});

const REQUIRE = '__agentRequire';

/**
 * Names that files with import and export may use when their package is CommonJS, since most tools compile
 * them to CommonJS then. A name that a file declares itself stays its own.
 */
const COMMON_JS_NAMES = {
  __dirname: 'import.meta.dirname',
  __filename: 'import.meta.filename',
  require: REQUIRE,
};

/** Puts it on the first line: the lines of the source map stay right. */
function withRequire(code: string): string {
  if (!code.includes(REQUIRE)) return code;
  return `const ${REQUIRE} = process.getBuiltinModule('node:module').createRequire(import.meta.url); ${code}`;
}

function formatOf(path: string, found: 'esm' | 'cjs' | undefined): CompiledModule['format'] {
  if (path.endsWith('.mts')) return 'module';
  return path.endsWith('.cts') || found === 'cjs' ? 'commonjs' : 'module';
}

function targetsOf(folder: string, { inputs }: Metafile): Map<string, ReadonlyMap<string, string>> {
  const targets = new Map<string, ReadonlyMap<string, string>>();
  for (const [path, { imports }] of Object.entries(inputs)) {
    const own = imports.filter((entry) => entry.external !== true && entry.original !== undefined);
    targets.set(
      join(folder, path),
      new Map(own.map((entry) => [entry.original ?? '', join(folder, entry.path)])),
    );
  }
  return targets;
}

/**
 * Follows the imports of an agent's files as its author's tools do (no extension, `.js` for a `.ts`, paths of
 * `tsconfig.json`, JSON), and compiles TypeScript and JSX to JavaScript. Each file stays a separate module,
 * so that `import.meta` and relative files keep their meaning. Packages are left to Node.
 *
 * esbuild runs twice, first for the imports, then for the files, and has ended when this returns: 35 ms for
 * five files, where registering the loader of `tsx` takes as long before the first file.
 * @param folder real path of the agent's folder
 * @throws TerminalError (`GraphLoadFailed`) with file, line and column of each error
 */
export async function compileSources(folder: string, files: readonly string[]): Promise<CompiledSources> {
  const { build, stop } = await import('esbuild');
  try {
    const shared = sharedOptions(folder);
    const followed = await build({
      ...shared,
      entryPoints: [...files],
      bundle: true,
      format: 'esm',
      packages: 'external',
      plugins: [leaveOthers],
    });
    const { inputs } = followed.metafile;
    const modules = new Map<string, CompiledModule>();
    const formats = Map.groupBy(
      Object.keys(inputs).filter((path) => TYPED.test(path)),
      (path) => formatOf(path, inputs[path]?.format),
    );
    for (const [format, paths] of formats) {
      const { outputFiles } = await build({
        ...shared,
        entryPoints: paths.map((path) => ({ in: path, out: path })), // a.ts beside a.tsx
        bundle: false,
        sourcemap: 'inline',
        sourcesContent: false,
        ...(format === 'module'
          ? { define: COMMON_JS_NAMES, footer: mark('import.meta.filename') }
          : { footer: mark('__filename') }),
      });
      for (const { path, text } of outputFiles)
        modules.set(path.slice(0, -'.js'.length), {
          format,
          code: format === 'module' ? withRequire(text) : text,
        });
    }
    return { modules, targets: targetsOf(folder, followed.metafile) };
  } catch (error) {
    const found = describeFailure(error);
    if (found === undefined) throw error;
    const message = `the agent's sources do not compile: ${found}`;
    throw new TerminalError(REASON.graphLoadFailed, message, { cause: error });
  } finally {
    await stop();
  }
}
