import type { Runnable } from '@langchain/core/runnables';
import type { AIMessageChunk, BaseMessage } from '@langchain/core/messages';
import type { StructuredToolInterface } from '@langchain/core/tools';
import { RuleModel } from './rule-model.ts';

/** Installed when a real model is wanted: npm install langchain and the package of the model's provider. */
const LANGCHAIN: string = 'langchain';

/** The model that the variable MODEL names, such as `openai:gpt-5-mini`; without it one that needs no key. */
export async function chooseModel(
  tools: StructuredToolInterface[],
): Promise<Runnable<BaseMessage[], AIMessageChunk>> {
  const name = process.env.MODEL;
  if (!name) return new RuleModel({}).bindTools();
  const { initChatModel } = await import(LANGCHAIN);
  return (await initChatModel(name)).bindTools(tools);
}
