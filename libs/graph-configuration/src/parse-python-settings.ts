import type { JsonObject } from '#lib/json';
import { failed } from './failed.js';

/** Settings of `langgraph.json` for the environment of Python graphs. */
export interface PythonSettings {
  /** `python_version`, such as `3.12`; undefined for whichever the machine has. */
  readonly version: string | undefined;
  /** Folders of the agent, relative, whose lists of packages are installed and whose code is imported. */
  readonly folders: readonly string[];
  /** Packages that `dependencies` names itself, as lines of a requirements file. */
  readonly packages: readonly string[];
  /** `pip_config_file`, relative to the folder. */
  readonly pipConfigFile: string | undefined;
  readonly installer: 'auto' | 'pip' | 'uv';
  /** `keep_pkg_tools`: whether pip stays in the environment. */
  readonly keepsPip: boolean;
}

const INSTALLERS = ['auto', 'pip', 'uv'] as const;

/** A path of the agent's folder; everything else is what a package installer takes. */
const LOCAL = /^\.{0,2}(\/|$)/;
/** A name with what may follow it: neither an option nor an address of another machine. */
const REQUIREMENT = /^[A-Za-z0-9][A-Za-z0-9._-]*\s*(\[[A-Za-z0-9._, -]*\])?\s*([~=!<>(].*|;.*)?$/;

function leavesFolder(path: string): boolean {
  let depth = 0;
  for (const step of path.split('/')) {
    if (step === '..') depth--;
    else if (step !== '' && step !== '.') depth++;
    if (depth < 0) return true;
  }
  return path.startsWith('/');
}

function parseDependencies(given: unknown): readonly string[] {
  if (given === undefined || given === null) return ['.'];
  if (Array.isArray(given) && given.every((one) => typeof one === 'string')) return given;
  throw failed('"dependencies" must be a list such as [".", "langchain_openai"]');
}

function parseVersion(given: unknown): string | undefined {
  if (given === undefined || given === null) return undefined;
  if (typeof given === 'string' && /^3\.\d{1,2}(\.\d{1,3})?$/.test(given)) return given;
  throw failed(`"python_version" must be a version such as "3.12", not ${JSON.stringify(given)}`);
}

/** @throws TerminalError (`GraphLoadFailed`) */
export function parsePythonSettings(settings: JsonObject): PythonSettings {
  const dependencies = parseDependencies(settings['dependencies']);
  const { pip_config_file: file, pip_installer: installer = 'auto', keep_pkg_tools: keeps } = settings;
  const folders = dependencies.filter((one) => LOCAL.test(one));
  const packages = dependencies.filter((one) => !LOCAL.test(one));
  const out = folders.find(leavesFolder);
  if (out !== undefined)
    throw failed(`"dependencies": ${out} is outside the agent's folder; move it into the folder`);
  const wrong = packages.find((one) => !REQUIREMENT.test(one));
  if (wrong !== undefined)
    throw failed(
      `"dependencies": ${JSON.stringify(wrong)} is neither a folder such as "./lib" nor a package such as "langchain_openai>=1"`,
    );
  if (file !== undefined && file !== null && (typeof file !== 'string' || leavesFolder(file)))
    throw failed('"pip_config_file" must be a file of the agent\'s folder');
  const chosen = INSTALLERS.find((one) => one === installer);
  if (!chosen) throw failed(`"pip_installer" must be one of ${INSTALLERS.join(', ')}`);
  return {
    version: parseVersion(settings['python_version']),
    folders,
    packages,
    pipConfigFile: typeof file === 'string' && file !== '' ? file : undefined,
    installer: chosen,
    keepsPip: keeps === true || (Array.isArray(keeps) && keeps.includes('pip')),
  };
}
