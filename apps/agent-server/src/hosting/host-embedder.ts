import type { Embedder } from '../memory/item-index.js';
import type { GraphHosts } from './graph-hosts.js';

/** The model of the agent's store, which is the agent's own code and is called where its graphs are. */
export function hostEmbedder(hosts: Pick<GraphHosts, 'ask'>): Embedder {
  const ask = async (texts: readonly string[], isQuery: boolean): Promise<unknown> =>
    JSON.parse(await hosts.ask('embed', { texts, isQuery }));
  return { embedDocuments: (texts) => ask(texts, false), embedQuery: (text) => ask([text], true) };
}
