/** Holds what has to be stopped at the end of the process; scripts/tests/shared-servers.mjs does it. */
const REGISTRY = Symbol.for('agentplane.sharedServers');

/** Has `stop` called when the process of these tests ends, in reverse order of the calls. */
export function stopWithProcess(stop: () => Promise<unknown>): void {
  const holder = globalThis as { [REGISTRY]?: (() => Promise<unknown>)[] };
  (holder[REGISTRY] ??= []).push(stop);
}
