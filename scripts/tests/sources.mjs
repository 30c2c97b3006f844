// Lets Node load the sources of this repository as they are: "./x.js" is x.ts or x.tsx, "#lib/x" is libs/x, and
// TypeScript is compiled by swc, with decorators as Nest wants them. What was compiled is kept by its content.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import { join, resolve as resolvePath } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = resolvePath(import.meta.dirname, '../..');
const CACHE = join(ROOT, 'node_modules/.cache/compiled-sources');
const require = createRequire(import.meta.url);
const GLOBALS = new URL('./globals.mjs', import.meta.url).href;
const OPTIONS = {
  configFile: false,
  swcrc: false,
  module: { type: 'es6' },
  sourceMaps: 'inline',
  jsc: {
    target: 'es2024',
    keepClassNames: true,
    experimental: { keepImportAttributes: true },
    parser: { syntax: 'typescript', tsx: true, decorators: true, dynamicImport: true },
    transform: {
      legacyDecorator: true,
      decoratorMetadata: true,
      useDefineForClassFields: false,
      react: { runtime: 'automatic' },
    },
  },
};
const SALT = JSON.stringify([OPTIONS, require('@swc/core/package.json').version]);
const SOURCES = pathToFileURL(`${ROOT}/`).href;
const PACKAGES = `${SOURCES}node_modules/`;

/** The source that a relative ".js" of one of our modules stands for; undefined: it is what it says. */
function sourceOf(url) {
  const base = fileURLToPath(url).slice(0, -'.js'.length);
  return ['.ts', '.tsx'].map((extension) => base + extension).find((file) => existsSync(file));
}

function resolve(specifier, context, next) {
  if (specifier === '@jest/globals') return { url: GLOBALS, format: 'module', shortCircuit: true };
  const isOurs = context.parentURL?.startsWith(SOURCES) && !context.parentURL.startsWith(PACKAGES);
  if (isOurs && specifier.startsWith('#lib/')) {
    const file = join(ROOT, 'libs', specifier.slice('#lib/'.length), 'src/index.ts');
    return { url: pathToFileURL(file).href, format: 'module', shortCircuit: true };
  }
  if (isOurs && specifier.startsWith('.') && specifier.endsWith('.js')) {
    const file = sourceOf(new URL(specifier, context.parentURL));
    if (file) return { url: pathToFileURL(file).href, format: 'module', shortCircuit: true };
  }
  return next(specifier, context);
}

function load(url, context, next) {
  if (!url.startsWith(SOURCES) || url.startsWith(PACKAGES) || !/\.tsx?(\?|$)/.test(url))
    return next(url, context);
  return { format: 'module', shortCircuit: true, source: compile(fileURLToPath(url)) };
}

function compile(path) {
  const text = readFileSync(path, 'utf8');
  const key = createHash('sha1').update(SALT).update(path).update('\0').update(text).digest('hex');
  const kept = join(CACHE, key.slice(0, 2), `${key.slice(2)}.js`);
  try {
    return readFileSync(kept, 'utf8');
  } catch {
    const { code } = require('@swc/core').transformSync(text, { ...OPTIONS, filename: path });
    mkdirSync(join(CACHE, key.slice(0, 2)), { recursive: true });
    const draft = `${kept}.${process.pid}`;
    writeFileSync(draft, code);
    renameSync(draft, kept);
    return code;
  }
}

registerHooks({ resolve, load });
