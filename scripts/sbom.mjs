// npm run sbom [-- FILE]: CycloneDX of what `npm ci --omit=dev` installs, from the lock file, with the servers and
// compilers that some packages carry as components of their own. Printed without FILE.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const made = spawnSync('npm', ['sbom', '--omit=dev', '--package-lock-only', '--sbom-format=cyclonedx'], {
  cwd: root,
  encoding: 'utf8',
  maxBuffer: 64 << 20,
});
if (made.status !== 0) {
  process.stderr.write(made.stderr);
  process.exit(1);
}
const document = JSON.parse(made.stdout);
const { packages } = JSON.parse(readFileSync(join(import.meta.dirname, 'binaries.json'), 'utf8'));
for (const [name, { version, carries, files }] of Object.entries(packages))
  for (const [file, content] of Object.entries(files))
    document.components.push({
      type: 'application',
      'bom-ref': `${name}@${version}#${file}`,
      name: carries.name,
      version: carries.version,
      purl: `pkg:generic/${carries.name}@${carries.version}?file_name=${encodeURIComponent(`${name}/${file}`)}`,
      licenses: [
        carries.license.id
          ? { license: { id: carries.license.id } }
          : { license: { name: carries.license.name } },
      ],
      hashes: [{ alg: 'SHA-256', content }],
      supplier: { name: carries.supplier },
    });
const text = `${JSON.stringify(document, undefined, 2)}\n`;
if (process.argv[2]) writeFileSync(process.argv[2], text);
else process.stdout.write(text);
