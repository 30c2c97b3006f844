import { Annotation, END, START, StateGraph } from '@langchain/langgraph';

/** Does nothing. */
export const idle = new StateGraph(Annotation.Root({ a: Annotation<number>() }))
  .addNode('rest', () => ({}))
  .addEdge(START, 'rest')
  .addEdge('rest', END)
  .compile();
