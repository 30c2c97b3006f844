import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { isJsonObject, parseJson } from '#lib/json';

/**
 * Packages that the agent server replaces: other servers for graphs and their parts. Agents name them to be tried on a
 * laptop; some have no wheel, and old releases of others have left their registry.
 */
const OF_PYTHON: ReadonlySet<string> = new Set([
  'langgraph-api',
  'langgraph-cli',
  'langgraph-runtime',
  'langgraph-runtime-inmem',
  'blockbuster',
  'forbiddenfruit',
]);
const OF_NODE = ['@langchain/langgraph-api', '@langchain/langgraph-cli'];
const GROUPS = ['dependencies', 'optionalDependencies'];

/** True for a package of Python, by its name as indexes compare it. */
export function isReplaced(name: string): boolean {
  return OF_PYTHON.has(name);
}

/** Sentence for people about packages that were left out; undefined for none. */
export function leftOutNote(names: readonly string[]): string | undefined {
  if (names.length === 0) return undefined;
  return `left out, since the agent server does their work: ${[...new Set(names)].sort().join(', ')}`;
}

/** Packages of a package.json that are left out. */
export function replacedIn(manifest: unknown): readonly string[] {
  return GROUPS.flatMap((group) => OF_NODE.filter((name) => has(manifest, group, name)));
}

function groupOf(value: unknown, group: string): Record<string, unknown> | undefined {
  const found: unknown = isJsonObject(value) ? value[group] : undefined;
  return isJsonObject(found) ? found : undefined;
}

function has(value: unknown, group: string, name: string): boolean {
  return groupOf(value, group)?.[name] !== undefined;
}

/** Packages for development are not installed, but have to agree with the lock file too. */
function withoutReplaced(value: unknown): void {
  for (const group of [...GROUPS, 'devDependencies', 'specifiers'])
    for (const name of OF_NODE) delete groupOf(value, group)?.[name];
}

/** Takes the replaced packages out of the package.json of a folder, and out of the lock file that has to agree with it. */
export async function leaveOutReplaced(folder: string): Promise<void> {
  await change(join(folder, 'package.json'), withoutReplaced);
  for (const name of ['package-lock.json', 'npm-shrinkwrap.json'])
    await change(join(folder, name), (lock) => {
      const packages = groupOf(lock, 'packages') ?? {};
      withoutReplaced(packages['']);
      for (const place of Object.keys(packages))
        if (OF_NODE.some((one) => `${place}/`.startsWith(`node_modules/${one}/`))) delete packages[place];
    });
  const pnpm = join(folder, 'pnpm-lock.yaml');
  if (!existsSync(pnpm)) return;
  const lock: unknown = parse(await readFile(pnpm, 'utf8'));
  for (const importer of [lock, ...Object.values(groupOf(lock, 'importers') ?? {})])
    withoutReplaced(importer);
  await writeFile(pnpm, stringify(lock));
}

async function change(path: string, edit: (document: unknown) => void): Promise<void> {
  if (!existsSync(path)) return;
  const document = parseJson(await readFile(path, 'utf8'));
  edit(document);
  await writeFile(path, JSON.stringify(document, null, 2));
}
