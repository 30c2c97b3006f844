// Makes one file of each program that starts often, and files of what its parts share: node bin/bundle.js
// `libs/bundles` says when they are used. --inputs writes nothing, and prints which compiled files each program has.
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, transform } from 'esbuild';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const dist = join(root, 'dist');
const bundles = join(dist, 'bundles');

/** What loads graphs is none: they must find the packages that it uses. */
const PROGRAMS = [
  'agent-server',
  'api',
  'builder',
  'cli',
  'controller',
  'embedded',
  'export-worker',
  'listener',
  'platform',
  'tui',
];

/** The files of one build are written within it. */
const SLOW_BUILD_MS = 60_000;

/** A module of ours goes on to find files by its own place; texts that it writes for others stay as they are. */
const OWN_PLACE = {
  name: 'own-place',
  setup({ onLoad }) {
    onLoad({ filter: /\/dist\/(apps|libs)\/.*\.js$/ }, async ({ path }) => {
      const source = readFileSync(path, 'utf8');
      if (!source.includes('import.meta')) return undefined;
      const define = { 'import.meta.url': 'ownUrl', 'import.meta.dirname': 'ownFolder' };
      const { code } = await transform(source, { define, format: 'esm', target: 'node24' });
      const place = [
        "import { fileURLToPath as pathOfUrl } from 'node:url';",
        `const ownUrl = new URL(${JSON.stringify(relative(bundles, path))}, import.meta.url).href;`,
        "const ownFolder = pathOfUrl(new URL('.', ownUrl)).slice(0, -1);",
      ];
      return { contents: `${place.join(' ')} ${code}`, loader: 'js' };
    });
  },
};

const { outputFiles, metafile } = await build({
  entryPoints: PROGRAMS.map((name) => ({ in: join(dist, 'apps', name, 'src', 'program.js'), out: name })),
  outdir: bundles,
  chunkNames: 'part-[hash]',
  absWorkingDir: root,
  bundle: true,
  splitting: true,
  write: false,
  metafile: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  sourcemap: 'linked',
  sourcesContent: false,
  keepNames: true,
  tsconfigRaw: '{}',
  packages: 'external',
  plugins: [OWN_PLACE],
  logLevel: 'error',
});

if (process.argv.includes('--inputs'))
  process.stdout.write(JSON.stringify(inputsByProgram(metafile.outputs)));
else writeBundles();

function writeBundles() {
  mkdirSync(bundles, { recursive: true });
  const isProgram = ({ path }) => PROGRAMS.some((name) => basename(path) === `${name}.js`);
  const formerMs = statSync(join(bundles, `${PROGRAMS[0]}.js`), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  // parts come first: a program that is found has all of its own, wherever this is cut short
  for (const { path, contents } of outputFiles.sort((a, b) => isProgram(a) - isProgram(b))) {
    writeFileSync(`${path}.new`, contents);
    renameSync(`${path}.new`, path);
  }
  // what runs since the build before this may import the rest of its parts yet
  for (const name of readdirSync(bundles))
    if (statSync(join(bundles, name)).mtimeMs < formerMs - SLOW_BUILD_MS) rmSync(join(bundles, name));
}

/** Those of its own file and of every part that it may import. */
function inputsByProgram(outputs) {
  const collect = (path, seen) => {
    if (seen.has(path) || !outputs[path]) return seen;
    seen.add(path);
    for (const { path: part } of outputs[path].imports) collect(part, seen);
    return seen;
  };
  return Object.fromEntries(
    PROGRAMS.map((name) => {
      const files = [...collect(relative(root, join(bundles, `${name}.js`)), new Set())];
      return [name, [...new Set(files.flatMap((file) => Object.keys(outputs[file].inputs)))]];
    }),
  );
}
