import { realpathSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, sep } from 'node:path';
import { API, type APIOptions, type Project } from 'typescript-native/unstable/sync';
import { isJsonObject, type JsonObject } from '#lib/json';

/** Name of the project that the compiler is given; no file of this name is made. */
const PROJECT = '.agentplane-types.json';

/** Settings of an agent's `tsconfig.json` that decide what its types are; all others are about checks and output. */
const ADOPTED = [
  'jsx',
  'jsxImportSource',
  'customConditions',
  'experimentalDecorators',
  'strictNullChecks',
  'strict',
];

type FileSystem = NonNullable<APIOptions['fs']>;

/** Shows the compiler files below some folders alone, by their real paths: links and imports of an agent lead nowhere else. */
class ClosedFiles implements FileSystem {
  readonly #isOpen = new Map<string, boolean>();

  constructor(
    private readonly roots: readonly string[],
    private readonly made: ReadonlyMap<string, string>,
  ) {}

  // undefined leaves the answer to the disk
  readonly readFile = (path: string): string | null | undefined =>
    this.made.get(path) ?? (this.#opens(path) ? undefined : null);

  readonly fileExists = (path: string): boolean | undefined =>
    this.made.has(path) || (this.#opens(path) ? undefined : false);

  readonly directoryExists = (path: string): boolean | undefined => (this.#opens(path) ? undefined : false);

  readonly getAccessibleEntries = (path: string): { files: string[]; directories: string[] } | undefined =>
    this.#opens(path) ? undefined : { files: [], directories: [] };

  #opens(path: string): boolean {
    const known = this.#isOpen.get(path);
    if (known !== undefined) return known;
    const isOpen = this.#isBelow(realPathOf(path));
    this.#isOpen.set(path, isOpen);
    return isOpen;
  }

  #isBelow(path: string | undefined): boolean {
    return (
      path !== undefined &&
      this.roots.some((root) => path === root || path.startsWith(root.endsWith(sep) ? root : root + sep))
    );
  }
}

function realPathOf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined; // it does not exist
  }
}

/** Folder of the compiler's own declarations of the language. */
function languageFolder(): string {
  const compiler = createRequire(import.meta.resolve('typescript-native/package.json'));
  return dirname(compiler.resolve(`@typescript/typescript-${process.platform}-${process.arch}/package.json`));
}

/** The nearest `tsconfig.json` of a file, up to the folder of the agent. */
function settingsAbove(file: string, folder: string): string | undefined {
  for (let place = dirname(file); place.startsWith(folder); place = dirname(place)) {
    const path = join(place, 'tsconfig.json');
    if (statSync(path, { throwIfNoEntry: false })?.isFile()) return path;
    if (place === folder) break;
  }
  return undefined;
}

/**
 * Aliases of imports with absolute goals. The compiler knows `baseUrl` no more: names without an alias are looked for there,
 * as those before version 7 did.
 */
function pathsOf(options: Readonly<Record<string, unknown>>, folder: string): JsonObject {
  const base = typeof options['baseUrl'] === 'string' ? options['baseUrl'] : undefined;
  const from = typeof options['pathsBasePath'] === 'string' ? options['pathsBasePath'] : folder;
  const given = isJsonObject(options['paths']) ? options['paths'] : {};
  const named = Object.entries(given).map(([name, goals]) => [
    name,
    (Array.isArray(goals) ? goals : []).map((goal) => join(base ?? from, String(goal))),
  ]);
  const bare = base === undefined || '*' in given ? [] : [['*', [join(base, '*')]]];
  return Object.fromEntries([...named, ...bare]) as JsonObject;
}

/**
 * The text of the project for the compiler: files of graphs, resolved as the agent server's own loader resolves them.
 * @param settings an agent's `tsconfig.json` as the compiler reads it
 */
function projectOf(
  files: readonly string[],
  settings: { readonly options: Readonly<Record<string, unknown>>; readonly folder: string },
): string {
  const { options, folder } = settings;
  const adopted = ADOPTED.filter((name) => options[name] !== undefined).map((name) => [name, options[name]]);
  const compilerOptions = {
    strict: true,
    ...Object.fromEntries(adopted),
    paths: pathsOf(options, folder),
    target: 'esnext',
    lib: ['esnext'],
    module: 'preserve',
    moduleResolution: 'bundler',
    allowImportingTsExtensions: true,
    allowJs: true,
    checkJs: false,
    resolveJsonModule: true,
    skipLibCheck: true,
    noEmit: true,
    types: [],
  };
  return JSON.stringify({ files, compilerOptions });
}

/** The options of a `tsconfig.json` with those that it extends; none where the compiler cannot read it. */
function readSettings(api: API, path: string): Readonly<Record<string, unknown>> {
  try {
    return api.parseConfigFile(path).options;
  } catch {
    return {};
  }
}

/** Folders of the agent with the files of graphs that a `tsconfig.json` there governs. */
function projectsOf(
  files: readonly string[],
  folder: string,
): ReadonlyMap<string | undefined, readonly string[]> {
  return Map.groupBy(files, (file) => settingsAbove(file, folder));
}

/** Opens the compiler for files of an agent, project by project, and closes it. */
export function compileAgent(
  agent: { readonly folder: string; readonly files: readonly string[]; readonly roots: readonly string[] },
  read: (project: Project, files: readonly string[]) => void,
): void {
  const { folder, files, roots } = agent;
  const made = new Map<string, string>();
  const api = new API({ cwd: folder, fs: new ClosedFiles([...roots, realpathSync(languageFolder())], made) });
  try {
    for (const [settings, ofProject] of projectsOf(files, folder)) {
      const place = settings === undefined ? folder : dirname(settings);
      const options = settings === undefined ? {} : readSettings(api, settings);
      const path = join(place, PROJECT);
      made.set(path, projectOf(ofProject, { options, folder: place }));
      const project = api.updateSnapshot({ openProjects: [path] }).getProject(path);
      if (!project) throw new Error(`the compiler opens no project for ${place}`);
      read(project, ofProject);
    }
  } finally {
    api.close();
  }
}
