import { AIMessage } from '@langchain/core/messages';
import {
  Annotation,
  END,
  type LangGraphRunnableConfig,
  MessagesAnnotation,
  START,
  StateGraph,
} from '@langchain/langgraph';
import {
  type RemoveUIMessage,
  typedUi,
  type UIMessage,
  uiMessageReducer,
} from '@langchain/langgraph-sdk/react-ui/server';
import type components from './ui.js';

type Change = UIMessage | RemoveUIMessage;

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  ui: Annotation<UIMessage[], Change | Change[]>({ reducer: uiMessageReducer, default: () => [] }),
});

/** Answers with a card instead of a sentence. */
export const graph = new StateGraph(State)
  .addNode('forecast', (state, config: LangGraphRunnableConfig) => {
    const place = state.messages.at(-1)?.text ?? '';
    const message = new AIMessage(`The weather in ${place}`);
    const degrees = [...place].reduce((sum, letter) => (sum + (letter.codePointAt(0) ?? 0)) % 30, 0);
    typedUi<typeof components>(config).push({ name: 'weather', props: { place, degrees } }, { message });
    return { messages: [message] };
  })
  .addEdge(START, 'forecast')
  .addEdge('forecast', END)
  .compile();
