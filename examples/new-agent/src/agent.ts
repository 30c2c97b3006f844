import { MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt';
import { chooseModel } from './model.ts';
import { tools } from './tools.ts';

const model = await chooseModel(tools);

async function callModel({ messages }: typeof MessagesAnnotation.State) {
  return { messages: [await model.invoke(messages)] };
}

/** Asks the model, uses the tools that it asks for, and asks again until it has no more questions. */
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('model', callModel)
  .addNode('tools', new ToolNode(tools))
  .addEdge(START, 'model')
  .addConditionalEdges('model', toolsCondition)
  .addEdge('tools', 'model')
  .compile();
