import { Annotation, END, START, StateGraph } from '@langchain/langgraph';

const State = Annotation.Root({ text: Annotation<string>, echoed: Annotation<string> });

/** The cheapest graph there is, so that the benchmark measures the server. */
export const graph = new StateGraph(State)
  .addNode('echo', (state) => ({ echoed: state.text }))
  .addEdge(START, 'echo')
  .addEdge('echo', END)
  .compile();
