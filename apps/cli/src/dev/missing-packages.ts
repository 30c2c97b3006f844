import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { inheritedEnvironment } from '#lib/config';
import { parseGraphConfiguration } from '#lib/graph-configuration';
import { findPackageManager, readManifest } from '#lib/image-store';
import { isJsonObject } from '#lib/json';
import { shellWord } from '#lib/command-line';

/** True when Node finds the package for files of the folder. */
function isInstalled(name: string, folder: string): boolean {
  if (existsSync(join(folder, 'node_modules', name, 'package.json'))) return true;
  const above = dirname(folder);
  return above !== folder && isInstalled(name, above);
}

function isPython(folder: string): boolean {
  try {
    const text = readFileSync(join(folder, 'langgraph.json'), 'utf8');
    return parseGraphConfiguration(text, ['javascript', 'python']).python !== undefined;
  } catch {
    return false; // the agent server says what is wrong with it
  }
}

function missingEnvironment(folder: string): string | undefined {
  const list = ['requirements.txt', 'pyproject.toml'].find((name) => existsSync(join(folder, name)));
  const what = list === 'pyproject.toml' ? '-e .' : `-r ${list ?? 'requirements.txt'}`;
  const install = `.venv/bin/pip install ${what}`;
  const library = join(folder, '.venv', 'lib');
  if (existsSync(library)) {
    const isThere = readdirSync(library).some((one) =>
      existsSync(join(library, one, 'site-packages', 'langgraph')),
    );
    return isThere
      ? undefined
      : `.venv has no langgraph; run: cd ${shellWord(folder)} && ${install} (with langgraph in ${list ?? 'requirements.txt'})`;
  }
  if (Object.keys(inheritedEnvironment(OTHER_ENVIRONMENTS)).length > 0) return undefined;
  return `the agent's packages are not installed; run: cd ${shellWord(folder)} && python3 -m venv .venv && ${install}`;
}

/** An environment that is active in the shell, or named. */
const OTHER_ENVIRONMENTS = ['AGENTPLANE_PYTHON', 'VIRTUAL_ENV', 'CONDA_PREFIX'];

/** Advice on packages that the folder names and that are not installed; undefined when all are there. */
export function missingPackages(folder: string): string | undefined {
  if (isPython(folder)) return missingEnvironment(folder);
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
