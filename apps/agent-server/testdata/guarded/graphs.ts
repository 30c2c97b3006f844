import { Annotation, END, START, StateGraph, type LangGraphRunnableConfig } from '@langchain/langgraph';

const State = Annotation.Root({
  seen: Annotation<Record<string, unknown>>,
  waitMs: Annotation<number>,
});

/** Answers what the server told it of its caller. */
export const who = new StateGraph(State)
  .addNode('look', (_state, { configurable = {}, context }: LangGraphRunnableConfig) => ({
    seen: {
      ...Object.fromEntries(Object.entries(configurable).filter(([key]) => /auth|^x-|^user-agent/.test(key))),
      context: context ?? {},
    },
  }))
  .addEdge(START, 'look')
  .addEdge('look', END)
  .compile();

/** Works for a while. */
export const slow = new StateGraph(State)
  .addNode('wait', async ({ waitMs }: typeof State.State, { signal }: LangGraphRunnableConfig) => {
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, waitMs);
      signal?.addEventListener('abort', () => resolve(clearTimeout(timer)));
    });
    return {};
  })
  .addEdge(START, 'wait')
  .addEdge('wait', END)
  .compile();
