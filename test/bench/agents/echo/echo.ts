import { Annotation, END, START, StateGraph, type LangGraphRunnableConfig } from '@langchain/langgraph';

const State = Annotation.Root({ text: Annotation<string>, echoed: Annotation<string> });

/** The cheapest graph there is, so that the benchmark measures the server. */
export const graph = new StateGraph(State)
  .addNode('echo', (state) => ({ echoed: state.text }))
  .addEdge(START, 'echo')
  .addEdge('echo', END)
  .compile();

/** What an agent is to its server: 200 tokens of a model, one every 5 ms. */
export const tokens = new StateGraph(State)
  .addNode('talk', async (state, config: LangGraphRunnableConfig) => {
    for (let n = 0; n < 200; n++) {
      config.writer?.({ token: n });
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return { echoed: state.text };
  })
  .addEdge(START, 'talk')
  .addEdge('talk', END)
  .compile();
