// After `npm ci --omit=dev`: takes out of node_modules what no program of this repository ever reads, more than a third
// of it. Only deletes, and only where no development packages are; what is left is byte for byte what the lock names.
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const modules = join(dirname(fileURLToPath(import.meta.url)), '..', 'node_modules');

/** Folders of a package beside what it exports. */
const FOLDERS = new Set([
  'test',
  'tests',
  '__tests__',
  'docs',
  'example',
  'examples',
  'benchmark',
  'benchmarks',
]);

/** Second copies for browsers, bundlers and compilers, and headers; the largest first. */
const COPIES = [
  ...[`node-${process.platform}-${process.arch}`].flatMap((node) =>
    ['include', 'share', 'CHANGELOG.md', 'README.md'].map((name) => `${node}/${name}`),
  ),
  // LangChain counts with js-tiktoken/lite and fetches the ranks that it needs
  'js-tiktoken/dist/ranks',
  'js-tiktoken/dist/index.js',
  'js-tiktoken/dist/index.cjs',
  'typeorm/browser',
  // of the package's folder the api streams two files, and no code of it is loaded
  '@fastify/swagger-ui/static/swagger-ui.js',
  '@fastify/swagger-ui/static/swagger-ui-standalone-preset.js',
  '@fastify/static/node_modules',
  'openapi-types/dist',
  '@isaacs/nonrecursive-glob-match/dist',
  'minipass/dist',
  // for pages alone: an optional peer of the SDK's hooks
  'react-dom/cjs',
  'zod/src',
  'rxjs/src',
  'rxjs/dist/bundles',
  'rxjs/dist/esm5',
  'libphonenumber-js/bundle',
  'es-toolkit/src',
];

/** Imported as modules by one package alone (Ink), whose types name nothing of it: the other forms go. */
const MODULES_ALONE = { folder: 'es-toolkit', others: /\.(js|d\.ts|d\.mts)$/ };

/** Source maps, the types of second copies, static libraries, what people read on the package's page; no licence. */
const NEEDLESS = /(\.map|\.d\.cts|\.a|^(readme|changelog|history)(\..*)?\.md)$/i;

function packagesIn(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (!entry.isDirectory() || entry.name.startsWith('.')) return [];
    const path = join(folder, entry.name);
    return entry.name.startsWith('@') ? packagesIn(path) : [path, ...packagesIn(join(path, 'node_modules'))];
  });
}

function removeFiles(folder, pattern) {
  if (!existsSync(folder)) return;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) removeFiles(path, pattern);
    else if (entry.isFile() && pattern.test(entry.name)) rmSync(path, { force: true });
  }
}

if (existsSync(modules) && !existsSync(join(modules, 'jest'))) {
  for (const path of COPIES) rmSync(join(modules, path), { recursive: true, force: true });
  for (const path of packagesIn(modules))
    for (const name of FOLDERS) rmSync(join(path, name), { recursive: true, force: true });
  removeFiles(modules, NEEDLESS);
  removeFiles(join(modules, MODULES_ALONE.folder), MODULES_ALONE.others);
}
