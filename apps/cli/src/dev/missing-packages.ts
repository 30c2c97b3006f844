import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { shellWord } from '#lib/command-line';
import { inheritedEnvironment } from '#lib/config';
import { parseGraphConfiguration, type PythonSettings } from '#lib/graph-configuration';
import { findPackageManager, readManifest } from '#lib/image-store';
import { isJsonObject } from '#lib/json';

/** An environment that is active in the shell, or named. */
const OTHER_ENVIRONMENTS = ['AGENTPLANE_PYTHON', 'VIRTUAL_ENV', 'CONDA_PREFIX'];

/** True when Node finds the package for files of the folder. */
function isInstalled(name: string, folder: string): boolean {
  if (existsSync(join(folder, 'node_modules', name, 'package.json'))) return true;
  const above = dirname(folder);
  return above !== folder && isInstalled(name, above);
}

/** Settings of Python of an agent's folder; undefined for agents in JavaScript. */
export function pythonOf(folder: string): PythonSettings | undefined {
  try {
    const text = readFileSync(join(folder, 'langgraph.json'), 'utf8');
    return parseGraphConfiguration(text, ['javascript', 'python']).python;
  } catch {
    return undefined; // the agent server says what is wrong with it
  }
}

/** Arguments of pip for everything that `dependencies` of a langgraph.json names. */
function namedForPip(folder: string, { folders, packages }: PythonSettings): readonly string[] {
  const local = folders.flatMap((place) => {
    const list = ['requirements.txt', 'pyproject.toml'].find((name) => existsSync(join(folder, place, name)));
    if (list === 'pyproject.toml') return ['-e', place];
    return list === undefined ? [] : ['-r', join(place, list)];
  });
  const found = [...local, ...packages];
  return found.length > 0 ? found : ['langgraph'];
}

function missingEnvironment(folder: string, settings: PythonSettings): string | undefined {
  const go = `cd ${shellWord(folder)}`;
  const words = namedForPip(folder, settings).map(shellWord).join(' ');
  const install = existsSync(join(folder, 'uv.lock')) ? 'uv sync' : `.venv/bin/pip install ${words}`;
  const library = join(folder, '.venv', 'lib');
  if (existsSync(library)) {
    const isThere = readdirSync(library).some((one) =>
      existsSync(join(library, one, 'site-packages', 'langgraph')),
    );
    return isThere
      ? undefined
      : `.venv has no langgraph; add it to the agent's packages and run: ${go} && ${install}`;
  }
  if (Object.keys(inheritedEnvironment(OTHER_ENVIRONMENTS)).length > 0) return undefined;
  const make = install.startsWith('uv') ? '' : 'python3 -m venv .venv && ';
  return `the agent's packages are not installed; run: ${go} && ${make}${install}`;
}

/** Advice on packages that the folder names and that are not installed; undefined when all are there. */
export function missingPackages(folder: string): string | undefined {
  const python = pythonOf(folder);
  if (python) return missingEnvironment(folder, python);
  const manifest = readManifest(folder) ?? {};
  const { dependencies } = manifest;
  const missing = Object.keys(isJsonObject(dependencies) ? dependencies : {}).filter(
    (name) => !isInstalled(name, folder),
  );
  if (missing.length === 0) return undefined;
  const manager = findPackageManager(folder, manifest)?.name ?? 'npm';
  const verb = missing.length === 1 ? 'is' : 'are';
  return `package.json names ${missing.join(', ')}, which ${verb} not installed; run: cd ${shellWord(folder)} && ${manager} install`;
}
