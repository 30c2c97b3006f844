import { type AIMessage, ToolMessage } from '@langchain/core/messages';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { calculator } from './calculator.ts';
import { ScriptedChatModel } from './scripted-chat-model.ts';

type State = typeof MessagesAnnotation.State;

const model = new ScriptedChatModel().bindTools([calculator]);

function toolCallsOf(state: State): NonNullable<AIMessage['tool_calls']> {
  return (state.messages.at(-1) as AIMessage | undefined)?.tool_calls ?? [];
}

async function callModel(state: State): Promise<Partial<State>> {
  return { messages: [await model.invoke(state.messages)] };
}

async function callTools(state: State): Promise<Partial<State>> {
  const answers = toolCallsOf(state).map(async (call) => {
    const found = await calculator.invoke({ expression: String(call.args.expression) });
    return new ToolMessage({ content: String(found), name: call.name, tool_call_id: call.id ?? call.name });
  });
  return { messages: await Promise.all(answers) };
}

/** Asks the model, runs the tools it asks for, and asks again until it has no more questions. */
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('model', callModel)
  .addNode('tools', callTools)
  .addEdge(START, 'model')
  .addConditionalEdges('model', (state) => (toolCallsOf(state).length > 0 ? 'tools' : END), ['tools', END])
  .addEdge('tools', 'model')
  .compile();
