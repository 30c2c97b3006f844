import { parseShort } from '#lib/json';
import type { Embedder } from '../memory/item-index.js';
import type { GraphHosts } from './graph-hosts.js';

/** Limit of the vectors of a batch of texts. */
const MAX_VECTORS_CHARS = 64 * 1024 * 1024;

/**
 * The model of the agent's store, which is the agent's own code and is called in the process of its graphs.
 */
export function hostEmbedder(hosts: Pick<GraphHosts, 'ask'>): Embedder {
  const ask = async (texts: readonly string[], isQuery: boolean, signal?: AbortSignal): Promise<unknown> =>
    parseShort(await hosts.ask('embed', { texts, isQuery }, signal), MAX_VECTORS_CHARS);
  return {
    embedDocuments: (texts, signal) => ask(texts, false, signal),
    embedQuery: (text, signal) => ask([text], true, signal),
  };
}
