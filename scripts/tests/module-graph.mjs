// The graph of what modules load when they run. Type-only imports are no edges, and a name imported from a barrel, which
// is a module of re-exports alone, leads to the file that declares it: a barrel reaches its whole library.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path/posix';

const require = createRequire(import.meta.url);

/**
 * The loads of one module. `imports` are pairs of a specifier and names, where no names mean all of the module; `barrel`
 * has the specifier and the name behind each exported name, null for a type, and is null when the module has statements
 * of its own; `programs` are quoted paths of modules, which may be started as processes.
 */
export function parseModule(path, text) {
  const ts = require('typescript');
  const options = {
    languageVersion: ts.ScriptTarget.Latest,
    jsDocParsingMode: ts.JSDocParsingMode.ParseNone,
  };
  const { statements } = ts.createSourceFile(path, text, options);
  const imports = [];
  let barrel = {};
  let rest = '';
  for (const statement of statements) {
    const specifier = statement.moduleSpecifier?.text;
    const clause = statement.importClause ?? statement.exportClause;
    const bindings = clause?.namedBindings ?? clause;
    const isNamed = bindings?.elements !== undefined;
    const isType = (part) => statement.isTypeOnly || statement.importClause?.isTypeOnly || part.isTypeOnly;
    if (!specifier) rest += statement.getFullText({ text });
    if (!specifier || ts.isImportDeclaration(statement) || !isNamed) barrel = null;
    if (!specifier || isType(statement)) {
      if (barrel && isNamed) for (const { name } of bindings.elements) barrel[name.text] = null;
      continue;
    }
    const names = (isNamed ? bindings.elements : []).filter((element) => !isType(element));
    const sources = names.map((element) => (element.propertyName ?? element.name).text);
    if (statement.importClause?.name) sources.push('default');
    const isWhole = !clause || (bindings !== clause && !isNamed) || ts.isNamespaceExport(clause);
    if (isWhole) imports.push([specifier, null]);
    else if (sources.length > 0) imports.push([specifier, sources]);
    if (!barrel) continue;
    for (const { name } of bindings.elements) barrel[name.text] = null;
    names.forEach(({ name }, at) => (barrel[name.text] = [specifier, sources[at]]));
  }
  for (const [, specifier] of rest.matchAll(/(?<!typeof )\bimport\(\s*['"]([^'"]+)['"]/g))
    imports.push([specifier, null]);
  // join(root, 'dist', 'apps') is read as join(root, 'dist/apps')
  const joined = rest.replace(/['"],\s*['"]/g, '/');
  const quoted = `${rest}\n${joined}`.matchAll(/['"]([\w./-]+\.[cm]?[jt]sx?)['"]/g);
  return { imports, barrel, programs: [...new Set(Array.from(quoted, ([, file]) => file))] };
}

/** `parse` is parseModule with the results of former runs, found by content in `file`; `save` keeps those of this run. */
export function openParser(file) {
  const version = readFileSync(import.meta.filename);
  const used = {};
  let kept = {};
  try {
    kept = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    // the first run, or one that was interrupted while it wrote
  }
  return {
    parse(path, text) {
      const key = createHash('sha1').update(version).update(path).update('\0').update(text).digest('base64');
      return (used[key] = kept[key] ?? parseModule(path, text));
    },
    save() {
      if (Object.keys(used).every((key) => key in kept)) return;
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, JSON.stringify(used));
    },
  };
}

/** The files, and the packages by their names, that each of `modules` (parsed, by path) loads. */
export function buildGraph(modules) {
  const located = (path) =>
    [path, path.replace(/\.js$/, '.ts'), path.replace(/\.js$/, '.tsx')].find((file) => modules.has(file));
  const locate = (from, specifier) => {
    const isOurs = specifier.startsWith('#lib/');
    const path = isOurs ? specifier.replace(/^#lib\/(.*)$/, 'libs/$1/src/index.ts') : specifier;
    const absolute = path.startsWith('.') ? join(dirname(from), path) : path;
    return located(absolute) ?? absolute;
  };
  const declaring = (from, [specifier, name]) => {
    const path = locate(from, specifier);
    const passed = modules.get(path)?.barrel?.[name];
    return passed ? declaring(path, passed) : passed === null ? [] : [path];
  };
  const loads = (path, { imports, programs }) => [
    ...imports.flatMap(([specifier, names]) =>
      names ? names.flatMap((name) => declaring(path, [specifier, name])) : [locate(path, specifier)],
    ),
    ...programs
      .flatMap((file) => [join(dirname(path), file), file.replace(/^(\.\/)?(dist\/)?/, '')])
      .map(located)
      .filter((file) => file && file !== path),
  ];
  return new Map([...modules].map(([path, module]) => [path, new Set(loads(path, module))]));
}
