import { Annotation, END, START, StateGraph } from '@langchain/langgraph';

const State = Annotation.Root({ seen: Annotation<Record<string, unknown>>() });

/** Answers what it finds in `configurable` of strings. */
export const seen = new StateGraph(State)
  .addNode('look', (_state, { configurable = {} }) => ({
    seen: Object.fromEntries(Object.entries(configurable).filter(([, value]) => typeof value === 'string')),
  }))
  .addEdge(START, 'look')
  .addEdge('look', END)
  .compile();
