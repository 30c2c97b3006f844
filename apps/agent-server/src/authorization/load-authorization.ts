import type { AuthSettings } from '#lib/graph-configuration';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { SeenSources } from '../graph/graph-registry.js';
import { loadModule } from '../graph/load-module.js';
import type { HandlerProcess } from './handler-process.js';
import { authHandlersOf } from './auth-handlers.js';
import { Authorization } from './authorization.js';

/**
 * Loads the handlers that `auth.path` names, into the process that answers requests: a graph that is busy
 * elsewhere does not delay logins.
 * @param process where handlers run that are not JavaScript
 * @throws TerminalError (`GraphLoadFailed`)
 */
export async function loadAuthorization(
  folder: string,
  { file, exportName, cache }: AuthSettings,
  process: Pick<HandlerProcess, 'load'> | undefined,
  {
    clock,
    log,
    reports: seen,
  }: { readonly clock: Clock; readonly log: Logger; readonly reports: SeenSources },
): Promise<Authorization> {
  const handlers = process
    ? await process.load()
    : await loadModule({ setting: 'auth.path', folder, file, exportName }, { clock, seen }, authHandlersOf);
  return new Authorization({ handlers, cache, clock, log });
}
