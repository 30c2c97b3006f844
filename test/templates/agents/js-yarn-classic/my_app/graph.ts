import { StateGraph } from "@langchain/langgraph";
import { RunnableConfig } from "@langchain/core/runnables";
import { ChatOpenAI } from "@langchain/openai";
import { StateAnnotation } from "./state.js";
const callModel = async (state: typeof StateAnnotation.State, _config: RunnableConfig): Promise<typeof StateAnnotation.Update> => {
  const model = new ChatOpenAI({ model: "gpt-4o" });
  return { messages: [await model.invoke(state.messages)], topic: "x" };
};
const builder = new StateGraph(StateAnnotation).addNode("callModel", callModel).addEdge("__start__", "callModel").addEdge("callModel", "__end__");
export const graph = builder.compile();
graph.name = "New Agent";
