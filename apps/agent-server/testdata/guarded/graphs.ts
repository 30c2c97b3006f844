import { AIMessage } from '@langchain/core/messages';
import {
  Annotation,
  END,
  interrupt,
  MessagesAnnotation,
  START,
  StateGraph,
  type LangGraphRunnableConfig,
} from '@langchain/langgraph';

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

/** Answers what it was asked, and how. */
export const talk = new StateGraph(MessagesAnnotation)
  .addNode(
    'model',
    ({ messages }, { configurable = {}, context = {}, metadata = {} }: LangGraphRunnableConfig) => {
      const said = { text: messages.at(-1)?.text, tier: configurable['tier'], context, tag: metadata['tag'] };
      return { messages: [new AIMessage(JSON.stringify(said))] };
    },
  )
  .addEdge(START, 'model')
  .addEdge('model', END)
  .compile();

/** Asks for something before it answers. */
export const ask = new StateGraph(MessagesAnnotation)
  .addNode('ask', (_state, { configurable = {} }: LangGraphRunnableConfig) => {
    const answer: unknown = interrupt('Which colour?');
    return { messages: [new AIMessage(JSON.stringify({ answer, tier: configurable['tier'] }))] };
  })
  .addEdge(START, 'ask')
  .addEdge('ask', END)
  .compile();
