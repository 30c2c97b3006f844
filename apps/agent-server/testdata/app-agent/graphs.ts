import { Annotation, END, START, StateGraph } from '@langchain/langgraph';
import { Client } from '@langchain/langgraph-sdk';

// made before the server listens
const client = new Client();

const State = Annotation.Root({ threads: Annotation<number>(), kept: Annotation<string>() });

/** Asks its own server. */
export const calling = new StateGraph(State)
  .addNode('call', async () => ({ threads: await client.threads.count() }))
  .addEdge(START, 'call')
  .addEdge('call', END)
  .compile();
