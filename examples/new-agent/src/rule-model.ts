import type { CallbackManagerForLLMRun } from '@langchain/core/callbacks/manager';
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, AIMessageChunk, type BaseMessage, type ToolCall } from '@langchain/core/messages';
import { ChatGenerationChunk, type ChatResult } from '@langchain/core/outputs';

interface Answer {
  text: string;
  calls: ToolCall[];
}

function decide(messages: BaseMessage[]): Answer {
  const last = messages.at(-1);
  const text = last?.text ?? '';
  if (last?.getType() === 'tool') return { text: `Done: ${text}.`, calls: [] };
  const call = (name: string, args: Record<string, unknown>): Answer => ({
    text: '',
    calls: [{ type: 'tool_call', id: `call_${messages.length}`, name, args }],
  });
  const city = /weather in (\w+)/i.exec(text)?.[1];
  if (city) return call('get_weather', { city });
  const message = /send "(.+)" to (\w+)/i.exec(text);
  if (message) return call('send_message', { text: message[1], to: message[2] });
  return { text: `You said: ${text}`, calls: [] };
}

/** Counts words as tokens. */
function usage(messages: BaseMessage[], { text }: Answer): AIMessage['usage_metadata'] {
  const words = (one: string) => one.match(/\S+/g)?.length ?? 0;
  const input_tokens = messages.reduce((sum, message) => sum + words(message.text), 0);
  const output_tokens = Math.max(1, words(text));
  return { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens };
}

/** Answers by rules, word by word, so that everything can be tried without a key. */
export class RuleModel extends BaseChatModel {
  _llmType() {
    return 'rules';
  }

  /** The name by which a price is found. */
  override getLsParams(options: this['ParsedCallOptions']) {
    return { ...super.getLsParams(options), ls_model_name: 'rules' };
  }

  override bindTools() {
    return this;
  }

  async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const answer = decide(messages);
    const message = new AIMessage({
      content: answer.text,
      tool_calls: answer.calls,
      usage_metadata: usage(messages, answer),
    });
    return { generations: [{ text: answer.text, message }] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    _options: this['ParsedCallOptions'],
    run?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const answer = decide(messages);
    for (const word of answer.text.match(/\S+\s*/g) ?? []) {
      const chunk = new ChatGenerationChunk({ text: word, message: new AIMessageChunk({ content: word }) });
      yield chunk;
      await run?.handleLLMNewToken(word, undefined, undefined, undefined, undefined, { chunk });
    }
    const asked = answer.calls.map(({ id, name, args }, index) => ({
      type: 'tool_call_chunk' as const,
      id,
      name,
      index,
      args: JSON.stringify(args),
    }));
    const usage_metadata = usage(messages, answer);
    const message = new AIMessageChunk({ content: '', tool_call_chunks: asked, usage_metadata });
    yield new ChatGenerationChunk({ text: '', message });
  }
}
