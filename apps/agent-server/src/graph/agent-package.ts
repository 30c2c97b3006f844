import { readFile } from 'node:fs/promises';
import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isJsonObject, type JsonObject } from '#lib/json';

function importTarget(entry: unknown): string | undefined {
  if (typeof entry === 'string') return entry;
  if (typeof entry !== 'object' || entry === null) return undefined;
  for (const condition of ['node', 'import', 'default'])
    if (condition in entry) {
      const found = importTarget(Reflect.get(entry, condition));
      if (found !== undefined) return found;
    }
  return undefined;
}

/**
 * Imports an ES module of a package as the agent's own files would get it, which may be another copy than the
 * server's. (`createRequire` would find the CommonJS twin: other classes.)
 * @returns undefined when the agent has no such package or the package no such entry
 */
export async function importOfAgent(
  agentFile: string,
  packageName: string,
  entry = '.',
): Promise<JsonObject | undefined> {
  let manifestPath: string | undefined;
  try {
    manifestPath = findPackageJSON(packageName, pathToFileURL(agentFile));
  } catch {
    return undefined; // not installed
  }
  if (manifestPath === undefined) return undefined;
  const manifest: unknown = JSON.parse(await readFile(manifestPath, 'utf8'));
  const exported = isJsonObject(manifest) ? manifest['exports'] : undefined;
  const target = isJsonObject(exported) ? importTarget(exported[entry]) : undefined;
  if (target === undefined) return undefined;
  const module: unknown = await import(pathToFileURL(join(dirname(manifestPath), target)).href);
  return isJsonObject(module) ? module : undefined;
}
