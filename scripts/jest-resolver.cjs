// How Jest finds modules: sources of this repository by their names in the sources ("./x.js" is x.ts, "#lib/x" is
// libs/x), everything else by its own resolver. What was found is kept for all suites of a worker: the same packages
// are asked for by each, and the files stay where they are while tests run.
const { existsSync } = require('node:fs');
const { join } = require('node:path');

const found = new Map();

function ownSource(path, { basedir, rootDir }) {
  if (path.startsWith('#lib/')) return join(rootDir, 'libs', path.slice('#lib/'.length), 'src/index.ts');
  if (!path.startsWith('.') || !path.endsWith('.js') || basedir.includes('/node_modules/')) return undefined;
  const base = join(basedir, path.slice(0, -'.js'.length));
  return ['.ts', '.tsx'].map((extension) => base + extension).find((file) => existsSync(file));
}

module.exports = (path, options) => {
  const key = `${options.basedir}\0${path}\0${options.conditions}`;
  let file = found.get(key);
  if (file === undefined)
    found.set(key, (file = ownSource(path, options) ?? options.defaultResolver(path, options)));
  return file;
};
