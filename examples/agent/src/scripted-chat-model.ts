import type { CallbackManagerForLLMRun } from '@langchain/core/callbacks/manager';
import {
  BaseChatModel,
  type BindToolsInput,
  type LangSmithParams,
} from '@langchain/core/language_models/chat_models';
import { AIMessage, AIMessageChunk, type BaseMessage, type ToolCall } from '@langchain/core/messages';
import { ChatGenerationChunk, type ChatResult } from '@langchain/core/outputs';

interface Reply {
  readonly text: string;
  readonly toolCalls: readonly ToolCall[];
}

const SUM = /-?\d+(?:\.\d+)?(?:\s*[-+*/]\s*-?\d+(?:\.\d+)?)+/;

/** Words with the blanks that follow them: what this model calls a token. */
function tokensOf(text: string): string[] {
  return text.match(/\S+\s*/g) ?? [];
}

function decide(messages: readonly BaseMessage[], canCalculate: boolean): Reply {
  const last = messages.at(-1);
  if (last?.getType() === 'tool') return { text: `The answer is ${last.text}.`, toolCalls: [] };
  const asked = last?.text ?? '';
  const expression = SUM.exec(asked)?.[0];
  if (expression === undefined || !canCalculate) return { text: `You said: ${asked}`, toolCalls: [] };
  // The same conversation always gives the same id.
  const id = `call_${messages.length}`;
  return { text: '', toolCalls: [{ name: 'calculator', args: { expression }, id, type: 'tool_call' }] };
}

function usage(messages: readonly BaseMessage[], reply: Reply): AIMessage['usage_metadata'] {
  const input = messages.reduce((sum, message) => sum + tokensOf(message.text).length, 0);
  const output = Math.max(1, tokensOf(reply.text).length);
  return { input_tokens: input, output_tokens: output, total_tokens: input + output };
}

/**
 * A chat model that needs no network and always says the same: it asks the calculator when it is asked a sum, reports
 * what the tool found, and repeats anything else. It streams word by word, so that streaming can be seen.
 */
export class ScriptedChatModel extends BaseChatModel {
  #tools: readonly BindToolsInput[];

  constructor(tools: readonly BindToolsInput[] = []) {
    super({});
    this.#tools = tools;
  }

  override _llmType(): string {
    return 'scripted';
  }

  /** The name by which a price is found. */
  override getLsParams(options: this['ParsedCallOptions']): LangSmithParams {
    return { ...super.getLsParams(options), ls_model_name: 'scripted' };
  }

  override bindTools(tools: BindToolsInput[]): ScriptedChatModel {
    return new ScriptedChatModel(tools);
  }

  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const reply = decide(messages, this.#tools.length > 0);
    const message = new AIMessage({
      content: reply.text,
      tool_calls: [...reply.toolCalls],
      usage_metadata: usage(messages, reply),
    });
    return { generations: [{ text: reply.text, message }] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    _options: this['ParsedCallOptions'],
    run?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const reply = decide(messages, this.#tools.length > 0);
    for (const token of tokensOf(reply.text)) {
      const chunk = new ChatGenerationChunk({
        text: token,
        message: new AIMessageChunk({ content: token }),
      });
      yield chunk;
      await run?.handleLLMNewToken(token, undefined, undefined, undefined, undefined, { chunk });
    }
    const last = new ChatGenerationChunk({
      text: '',
      message: new AIMessageChunk({
        content: '',
        tool_call_chunks: reply.toolCalls.map((call, index) => ({
          index,
          name: call.name,
          args: JSON.stringify(call.args),
          ...(call.id === undefined ? {} : { id: call.id }),
          type: 'tool_call_chunk' as const,
        })),
        usage_metadata: usage(messages, reply),
      }),
    });
    yield last;
    await run?.handleLLMNewToken('', undefined, undefined, undefined, undefined, { chunk: last });
  }
}
