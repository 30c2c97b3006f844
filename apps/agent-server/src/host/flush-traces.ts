import type { Clock } from '#lib/time';
import type { GraphRegistry } from '../graph/graph-registry.js';
import { importOfAgent } from '../graph/agent-package.js';

/** An unavailable platform must not hold up the end of the server. */
const LONGEST_MS = 4_000;

/** Sends the traces that still wait in the agent's own copy of the tracing SDK. */
export async function flushTraces(graphs: GraphRegistry, clock: Clock): Promise<void> {
  await Promise.race([flushAll(graphs), clock.sleep(LONGEST_MS)]);
}

async function flushAll(graphs: GraphRegistry): Promise<void> {
  const seen = new Set<unknown>();
  for (const source of graphs.sources) {
    const library = await importOfAgent(source.file, '@langchain/core', './callbacks/promises').catch(
      () => undefined,
    );
    const flush = library?.['awaitAllCallbacks'];
    if (typeof flush !== 'function' || seen.has(flush)) continue;
    seen.add(flush);
    await Reflect.apply(flush, undefined, []);
  }
}
