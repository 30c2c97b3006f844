import { Annotation, END, type LangGraphRunnableConfig, START, StateGraph } from '@langchain/langgraph';

const Pace = Annotation.Root({
  /** Steps that are done. */
  steps: Annotation<number>,
  /** Milliseconds that a step takes. */
  waitMs: Annotation<number>,
  isOver: Annotation<boolean>,
});

/** One step after the other, each of which says its number, until somebody writes `over` into the store. */
export const pacing = new StateGraph(Pace)
  .addNode('step', async ({ steps = 0, waitMs }, config: LangGraphRunnableConfig) => {
    config.writer?.({ step: steps });
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    const over = await config.store?.get(['pacing'], 'over');
    return { steps: steps + 1, isOver: over !== undefined && over !== null };
  })
  .addEdge(START, 'step')
  .addConditionalEdges('step', ({ isOver }) => (isOver ? END : 'step'), ['step', END])
  .compile();

/** One step. */
export const single = new StateGraph(Pace)
  .addNode('step', () => ({ steps: 1 }))
  .addEdge(START, 'step')
  .addEdge('step', END)
  .compile();

/** Uses a core for as long as it is told, and leaves others a turn between its pieces. */
export const computing = new StateGraph(Pace)
  .addNode('compute', async ({ waitMs }, config: LangGraphRunnableConfig) => {
    const over = performance.now() + waitMs;
    while (performance.now() < over && config.signal?.aborted !== true) {
      const pause = performance.now() + 20;
      while (performance.now() < pause);
      await new Promise((resolve) => setImmediate(resolve));
    }
    return { steps: 1 };
  })
  .addEdge(START, 'compute')
  .addEdge('compute', END)
  .compile();
