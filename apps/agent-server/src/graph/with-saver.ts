import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint';
import { isRunnableGraph, type RunnableGraph } from './runnable-graph.js';

/**
 * A copy of a graph with its own checkpointer; the subgraphs that it finds have the same one. A checkpointer
 * in `configurable` is not enough for states: LangGraph then looks for no subgraph, and rebuilds no delta
 * channel.
 */
export function withSaver(graph: RunnableGraph, saver: BaseCheckpointSaver): RunnableGraph {
  const copy = compiledOf(graph).withConfig({});
  const subgraphs = copy.getSubgraphsAsync?.bind(copy);
  const getSubgraphsAsync: RunnableGraph['getSubgraphsAsync'] = async function* (namespace, recurse) {
    for await (const [name, subgraph] of subgraphs?.(namespace, recurse) ?? [])
      yield [name, withSaver(subgraph, saver)];
  };
  return Object.assign(copy, { checkpointer: saver, getSubgraphsAsync });
}

/** The graph itself: createAgent() returns an object with the graph inside. */
export function compiledOf(graph: RunnableGraph): RunnableGraph {
  return 'graph' in graph && isRunnableGraph(graph.graph) ? graph.graph : graph;
}
