import { AIMessage } from '@langchain/core/messages';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';

/** Could be called by A2A and MCP, if its server let it. */
export const echo = new StateGraph(MessagesAnnotation)
  .addNode('say', () => ({ messages: [new AIMessage('hello')] }))
  .addEdge(START, 'say')
  .addEdge('say', END)
  .compile();
