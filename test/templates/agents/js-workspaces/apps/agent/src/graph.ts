import { ChatOpenAI } from '@langchain/openai';
import { MessagesAnnotation, StateGraph } from '@langchain/langgraph';
import { WORD } from '@mono/shared';

console.log(WORD);

const answer = async ({ messages }: typeof MessagesAnnotation.State) => ({
  messages: [await new ChatOpenAI({ model: 'gpt-4o' }).invoke(messages)],
});

export const graph = new StateGraph(MessagesAnnotation)
  .addNode('answer', answer)
  .addEdge('__start__', 'answer')
  .addEdge('answer', '__end__')
  .compile();
