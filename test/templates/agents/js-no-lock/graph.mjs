import { Annotation, interrupt, StateGraph } from '@langchain/langgraph';

const State = Annotation.Root({ question: Annotation(), answer: Annotation() });

export default new StateGraph(State)
  .addNode('ask', () => ({ answer: interrupt('who?') }))
  .addEdge('__start__', 'ask')
  .compile();
