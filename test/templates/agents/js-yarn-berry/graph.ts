import { StateGraph } from '@langchain/langgraph';
import { z } from 'zod';

const State = z.object({ topic: z.string(), done: z.boolean().optional() });

/** Made for each run. */
export async function makeGraph() {
  return new StateGraph(State)
    .addNode('finish', () => ({ done: true }))
    .addEdge('__start__', 'finish')
    .compile();
}
