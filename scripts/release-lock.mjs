// For `npm pack`: makes npm-shrinkwrap.json of package-lock.json, without what only development needs, so that whoever
// installs the package gets the very versions that were tested, in a node_modules of its own. --remove deletes it,
// --to FILE writes it elsewhere.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const [option, given] = process.argv.slice(2);
const path = option === '--to' ? given : join(root, 'npm-shrinkwrap.json');
/** Of the root's entry, what npm compares with package.json. */
const ROOT_FIELDS = [
  'name',
  'version',
  'license',
  'dependencies',
  'optionalDependencies',
  'bin',
  'engines',
  'hasInstallScript',
];

if (option === '--remove') rmSync(path, { force: true });
else {
  const { name, version, lockfileVersion, packages } = JSON.parse(
    readFileSync(join(root, 'package-lock.json'), 'utf8'),
  );
  const links = new Set(Object.values(packages).flatMap(({ link, resolved }) => (link ? [resolved] : [])));
  const installed = Object.entries(packages).filter(
    ([place, { dev, link }]) => place !== '' && !dev && !link && !links.has(place),
  );
  const own = Object.fromEntries(ROOT_FIELDS.map((field) => [field, packages[''][field]]));
  const lock = {
    ...{ name, version, lockfileVersion },
    requires: true,
    packages: Object.fromEntries([['', own], ...installed]),
  };
  writeFileSync(path, `${JSON.stringify(lock, undefined, 2)}\n`);
}
