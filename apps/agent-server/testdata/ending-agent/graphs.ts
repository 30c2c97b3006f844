import { AIMessage } from '@langchain/core/messages';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';

// as a native library that was opened when the module was loaded, and breaks
setTimeout(() => process.kill(process.pid, 'SIGKILL'), 300);

/** A graph without fault. */
export const echo = new StateGraph(MessagesAnnotation)
  .addNode('say', () => ({ messages: [new AIMessage('hello')] }))
  .addEdge(START, 'say')
  .addEdge('say', END)
  .compile();
