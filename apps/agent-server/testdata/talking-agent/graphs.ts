import { setTimeout as sleep } from 'node:timers/promises';
import { AIMessage, AIMessageChunk, type BaseMessage, ToolMessage } from '@langchain/core/messages';
import { ChatGenerationChunk } from '@langchain/core/outputs';
import { FakeStreamingChatModel } from '@langchain/core/utils/testing';
import {
  Annotation,
  END,
  interrupt,
  MessagesAnnotation,
  START,
  StateGraph,
  type LangGraphRunnableConfig,
} from '@langchain/langgraph';

interface Said {
  readonly messages: BaseMessage[];
}

/** A model that answers this, word by word. */
function answers(text: string): FakeStreamingChatModel {
  return new FakeStreamingChatModel({ responses: [new AIMessage(text)], sleep: 1 });
}

function lastText({ messages }: Said): string {
  return String(messages.at(-1)?.text ?? '');
}

/** Repeats the last message. */
export const echo = new StateGraph(MessagesAnnotation)
  .addNode('say', async (state): Promise<Said> => ({
    messages: [await answers(`${state.messages.length}: ${lastText(state)}`).invoke(state.messages)],
  }))
  .addEdge(START, 'say')
  .addEdge('say', END)
  .compile();

const Terse = Annotation.Root({ ...MessagesAnnotation.spec, n: Annotation<number> });

/** Says something until it is given a number. */
export const terse = new StateGraph(Terse)
  .addNode('say', ({ n }) => (n === undefined ? { messages: [new AIMessage('said')] } : {}))
  .addEdge(START, 'say')
  .addEdge('say', END)
  .compile();

const Forgetful = Annotation.Root({
  messages: Annotation<BaseMessage[]>({
    reducer: (kept, added) => [...kept, ...added.filter((message) => message instanceof AIMessage)],
    default: () => [],
  }),
});

/** Keeps messages of its own alone, and says something once. */
export const forgetful = new StateGraph(Forgetful)
  .addNode('say', ({ messages }) => ({ messages: messages.length === 0 ? [new AIMessage('said')] : [] }))
  .addEdge(START, 'say')
  .addEdge('say', END)
  .compile();

/** Asks for something before it answers. */
export const asking = new StateGraph(MessagesAnnotation)
  .addNode('ask', async (state): Promise<Said> => {
    const answer: unknown = interrupt('Which colour?');
    return { messages: [await answers(`painted ${JSON.stringify(answer)}`).invoke(state.messages)] };
  })
  .addEdge(START, 'ask')
  .addEdge('ask', END)
  .compile();

const Twofold = Annotation.Root({
  ...MessagesAnnotation.spec,
  answers: Annotation<string[]>({ reducer: (left, right) => [...left, ...right], default: () => [] }),
});

/** Asks two questions at once. */
export const twofold = new StateGraph(Twofold)
  .addNode('left', () => ({ answers: [`left ${String(interrupt('left?'))}`] }))
  .addNode('right', () => ({ answers: [`right ${String(interrupt('right?'))}`] }))
  .addNode('say', (state) => ({ messages: [new AIMessage([...state.answers].sort().join(', '))] }))
  .addEdge(START, 'left')
  .addEdge(START, 'right')
  .addEdge('left', 'say')
  .addEdge('right', 'say')
  .addEdge('say', END)
  .compile();

/** Wants calls of tools approved, in the words of LangChain's middleware. */
export const approving = new StateGraph(MessagesAnnotation)
  .addNode('ask', (): Said => {
    const calls = [
      { name: 'send', args: { to: 'ann' } },
      { name: 'pay', args: { sum: 3 } },
    ];
    const decided: unknown = interrupt({ action_requests: calls });
    return { messages: [new AIMessage(JSON.stringify(decided))] };
  })
  .addEdge(START, 'ask')
  .addEdge('ask', END)
  .compile();

const Topical = Annotation.Root({ ...MessagesAnnotation.spec, topic: Annotation<unknown> });

/** Says what its input and its caller are. */
export const topical = new StateGraph(Topical)
  .addNode('say', (state, config: LangGraphRunnableConfig) => {
    const { graph_auth_user: user, 'x-tag': tag } = config.configurable ?? {};
    const said = { topic: state.topic, user: (user as { identity?: string } | undefined)?.identity, tag };
    return { messages: [new AIMessage(JSON.stringify(said))] };
  })
  .addEdge(START, 'say')
  .addEdge('say', END)
  .compile();

/** Says half of something and gives up. */
export const failing = new StateGraph(MessagesAnnotation)
  .addNode('say', async (state): Promise<Said> => {
    await answers('half of').invoke(state.messages);
    throw new RangeError('secret of the agent');
  })
  .addEdge(START, 'say')
  .addEdge('say', END)
  .compile();

/** Takes two seconds. */
export const slow = new StateGraph(MessagesAnnotation)
  .addNode('say', async (_state, config: LangGraphRunnableConfig): Promise<Said> => {
    await sleep(2_000, undefined, { ...(config.signal ? { signal: config.signal } : {}) });
    return { messages: [new AIMessage('at last')] };
  })
  .addEdge(START, 'say')
  .addEdge('say', END)
  .compile();

const Timed = Annotation.Root({
  ...MessagesAnnotation.spec,
  seconds: Annotation<number>,
  label: Annotation<string>,
});

/** Takes the time that it is told, as the conformance package of MCP expects of a tool of this name. */
export const slowCompute = new StateGraph(Timed)
  .addNode('compute', async ({ seconds, label }, { signal }: LangGraphRunnableConfig): Promise<Said> => {
    await sleep(seconds * 1_000, undefined, { ...(signal ? { signal } : {}) });
    return { messages: [new AIMessage(`computed ${label}`)] };
  })
  .addEdge(START, 'compute')
  .addEdge('compute', END)
  .compile();

/** Works until it is cancelled. */
export const endless = new StateGraph(MessagesAnnotation)
  .addNode('work', async (_state, { signal }: LangGraphRunnableConfig): Promise<Said> => {
    await sleep(3_600_000, undefined, { ...(signal ? { signal } : {}) });
    return { messages: [] };
  })
  .addEdge(START, 'work')
  .addEdge('work', END)
  .compile();

/** Thinks aloud with one model, and answers with what another said in other words. */
export const restless = new StateGraph(MessagesAnnotation)
  .addNode('say', async (state): Promise<Said> => {
    await answers('thinking about it').invoke(state.messages);
    const { text } = await answers('the draft').invoke(state.messages);
    return { messages: [new AIMessage(`${text}, corrected`)] };
  })
  .addEdge(START, 'say')
  .addEdge('say', END)
  .compile();

/** Says what message it got, and draws something. */
export const mirror = new StateGraph(MessagesAnnotation)
  .addNode('say', ({ messages }): Said => {
    const { id, content } = messages.at(-1) ?? {};
    const drawn = { type: 'image', mimeType: 'image/png', data: 'aGk=' };
    return {
      messages: [
        new AIMessage({ content: [{ type: 'text', text: JSON.stringify({ id, content }) }, drawn] }),
      ],
    };
  })
  .addEdge(START, 'say')
  .addEdge('say', END)
  .compile();

const Planned = Annotation.Root({
  ...MessagesAnnotation.spec,
  city: Annotation<string>,
  steps: Annotation<string[]>({ reducer: (left, right) => [...left, ...right], default: () => [] }),
});

/** A model that calls a tool, piece by piece. */
class CallingModel extends FakeStreamingChatModel {
  override async *_streamResponseChunks(
    ...[, , runManager]: Parameters<FakeStreamingChatModel['_streamResponseChunks']>
  ): AsyncGenerator<ChatGenerationChunk> {
    const city = this.responses?.[0]?.text ?? '';
    for (const piece of [{ name: 'weather', id: 'call-1', args: '{"city":' }, { args: `"${city}"}` }]) {
      const message = new AIMessageChunk({ content: '', tool_call_chunks: [{ index: 0, ...piece }] });
      const chunk = new ChatGenerationChunk({ message, text: '' });
      yield chunk;
      await runManager?.handleLLMNewToken('', undefined, undefined, undefined, undefined, { chunk });
    }
  }
}

/** Calls a tool piece by piece, shows progress of its own, and says what page it serves. */
export const planner = new StateGraph(Planned)
  .addNode('plan', async (state, config: LangGraphRunnableConfig) => {
    const planned = await new CallingModel({ responses: [new AIMessage(state.city)] }).invoke(state.messages);
    config.writer?.({ name: 'progress', percent: 50 });
    return { messages: [planned], steps: ['planned'] };
  })
  .addNode('look', () => ({
    messages: [new ToolMessage({ content: 'sunny', tool_call_id: 'call-1', id: 'result-1' })],
    steps: ['looked'],
  }))
  .addNode('say', (state, config: LangGraphRunnableConfig) => {
    const { tools = [], context = [] } = (config.configurable?.['ag_ui'] ?? {}) as Record<string, unknown[]>;
    return { messages: [new AIMessage(`${state.city} ${tools.length} ${context.length}`)] };
  })
  .addEdge(START, 'plan')
  .addEdge('plan', 'look')
  .addEdge('look', 'say')
  .addEdge('say', END)
  .compile();

const Steps = Annotation.Root({ steps: Annotation<number> });

/** Cannot talk: its state has no messages. */
export const mute = new StateGraph(Steps)
  .addNode('count', (state) => ({ steps: (state.steps ?? 0) + 1 }))
  .addEdge(START, 'count')
  .addEdge('count', END)
  .compile();
