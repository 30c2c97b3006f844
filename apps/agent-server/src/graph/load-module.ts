import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { errorText, TerminalError } from '#lib/errors';
import type { ModuleExport } from '#lib/graph-configuration';
import { isJsonObject } from '#lib/json';
import { REASON } from '#lib/resources';
import type { Clock } from '#lib/time';
import type { SeenSources } from './graph-registry.js';
import { installSourceHooks, readSources } from './source-hooks.js';

/** Limit as for graphs: a module that waits longer never finishes. */
const LIMIT_MS = 30_000;

/** A module of the agent that is no graph. */
export interface AgentModule extends ModuleExport {
  /** Setting of `langgraph.json`, as in `auth.path`. */
  readonly setting: string;
  /** Real path of the agent's folder. */
  readonly folder: string;
}

/**
 * Loads an export of a module of the agent into this process, as graphs are loaded, and checks it.
 * @param check takes the export and throws an error that describes its problem
 * @throws TerminalError (`GraphLoadFailed`) naming the setting and the file
 */
export async function loadModule<T>(
  { setting, folder, file, exportName }: AgentModule,
  { clock, seen }: { readonly clock: Clock; readonly seen: SeenSources },
  check: (exported: unknown) => T,
): Promise<T> {
  const shown = file.replace(`${folder}/`, '');
  const failed = (what: string, cause?: unknown): TerminalError =>
    new TerminalError(
      REASON.graphLoadFailed,
      `"${setting}" of langgraph.json: ${shown} failed to load: ${what.replaceAll(`${folder}/`, '')}`,
      { cause },
    );
  if (!existsSync(file)) throw failed('the file does not exist');
  const late = Promise.withResolvers<never>();
  const stopTimer = clock.after(LIMIT_MS, () =>
    late.reject(new Error(`it has been loading for ${LIMIT_MS / 1000} s`)),
  );
  try {
    const compiled = await readSources(folder, [file]);
    seen.sources([...compiled.targets.keys()]);
    installSourceHooks(compiled, (url) => seen.package(url));
    const module: unknown = await Promise.race([import(pathToFileURL(file).href), late.promise]);
    if (!isJsonObject(module) || !(exportName in module))
      throw new Error(`export "${exportName}" does not exist`);
    return check(await module[exportName]);
  } catch (error) {
    throw failed(errorText(error), error);
  } finally {
    stopTimer();
  }
}
