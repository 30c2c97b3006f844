import { failed } from './failed.js';

/** Language of an agent's graphs: TypeScript counts as JavaScript. */
export type GraphLanguage = 'javascript' | 'python';

/** Export of a module. */
export interface ModuleExport {
  /** File as written, relative to the folder. */
  readonly file: string;
  readonly exportName: string;
}

/** Names of files that are TypeScript or JavaScript. */
export const SOURCE_FILE = /\.([cm]?[jt]s|[jt]sx)$/;
const PYTHON_FILE = /\.py$/;
const PYTHON_MODULE = /^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/;

/** True when an export is named by its module, as Python imports it, and not by a file. */
export function isModuleName(file: string): boolean {
  return !SOURCE_FILE.test(file) && !PYTHON_FILE.test(file) && PYTHON_MODULE.test(file);
}

/** Parses `FILE.py:NAME` or `MODULE:NAME`; undefined for what is neither. */
export function parsePythonExport(path: string): ModuleExport | undefined {
  const colon = path.lastIndexOf(':');
  const [file, exportName] = [path.slice(0, Math.max(0, colon)), path.slice(colon + 1)];
  // `agent.ts` would be a name of a module too
  const isPython = !SOURCE_FILE.test(file) && (PYTHON_FILE.test(file) || PYTHON_MODULE.test(file));
  return isPython && /^[A-Za-z_]\w*$/.test(exportName) ? { file, exportName } : undefined;
}

/**
 * Parses what names a module beside the graphs, in the language of the graphs.
 * @param what names it in messages
 * @throws TerminalError (`GraphLoadFailed`)
 */
export function parseModule(what: string, path: string, language: GraphLanguage): ModuleExport {
  if (language === 'javascript') return parseExport(what, path);
  const found = parsePythonExport(path);
  if (found) return found;
  throw failed(
    `${what}: ${path} names no Python object; the graphs are Python, so name one as "FILE.py:NAME" or "MODULE:NAME"`,
  );
}

/**
 * Parses `FILE:EXPORT`; without an export it is the default one.
 * @param what names it in messages
 * @throws TerminalError (`GraphLoadFailed`)
 */
export function parseExport(what: string, path: string): ModuleExport {
  const colon = path.lastIndexOf(':');
  const file = colon > 0 ? path.slice(0, colon) : path;
  if (!SOURCE_FILE.test(file)) {
    const isPython = /\.py$/.test(file) || /^[\w.]+$/.test(file);
    throw failed(
      isPython
        ? `${what}: ${file} is Python; agents are written in TypeScript or JavaScript, named as "FILE:EXPORT"`
        : `${what}: ${file} is no TypeScript or JavaScript file; name one as "FILE:EXPORT"`,
    );
  }
  return { file, exportName: (colon > 0 && path.slice(colon + 1)) || 'default' };
}
