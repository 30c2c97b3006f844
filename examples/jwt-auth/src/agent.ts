import { AIMessage } from '@langchain/core/messages';
import {
  END,
  MessagesAnnotation,
  START,
  StateGraph,
  type LangGraphRunnableConfig,
} from '@langchain/langgraph';

type State = typeof MessagesAnnotation.State;

/** Knows its caller from the server, which no request can change. */
function greet({ messages }: State, { configurable }: LangGraphRunnableConfig): Partial<State> {
  const user = configurable?.['langgraph_auth_user'] as { readonly display_name: string } | undefined;
  const asked = messages.filter((message) => message.getType() === 'human').length;
  return {
    messages: [new AIMessage(`Hello ${user?.display_name ?? 'stranger'}, message ${asked} of yours.`)],
  };
}

export const graph = new StateGraph(MessagesAnnotation)
  .addNode('greet', greet)
  .addEdge(START, 'greet')
  .addEdge('greet', END)
  .compile();
