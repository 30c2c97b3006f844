import { setTimeout as sleep } from 'node:timers/promises';
import { AIMessage, type BaseMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
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
import {
  typedUi,
  uiMessageReducer,
  type RemoveUIMessage,
  type UIMessage,
} from '@langchain/langgraph-sdk/react-ui/server';
import { z } from 'zod';
import type components from './components.js';

interface Said {
  readonly messages: BaseMessage[];
}

/** A model that answers this, letter by letter. */
function answers(text: string): FakeStreamingChatModel {
  return new FakeStreamingChatModel({ responses: [new AIMessage(text)], sleep: 4 });
}

function lastText({ messages }: Said): string {
  return String(messages.at(-1)?.text ?? '');
}

/** Repeats the last message, with the number of messages before it. */
export const echo = new StateGraph(MessagesAnnotation)
  .addNode('say', async (state): Promise<Said> => ({
    messages: [await answers(`${state.messages.length}: ${lastText(state)}`).invoke(state.messages)],
  }))
  .addEdge(START, 'say')
  .addEdge('say', END)
  .compile();

/** Asks for a colour before it answers. */
export const asking = new StateGraph(MessagesAnnotation)
  .addNode('ask', async (state): Promise<Said> => {
    const answer: unknown = interrupt('Which colour?');
    return { messages: [await answers(`painted ${String(answer)}`).invoke(state.messages)] };
  })
  .addEdge(START, 'ask')
  .addEdge('ask', END)
  .compile();

const list = {
  reducer: (left: string[], right: string[]) => [...left, ...right],
  default: (): string[] => [],
};
const Twofold = Annotation.Root({ ...MessagesAnnotation.spec, answers: Annotation<string[]>(list) });

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

const Steps = Annotation.Root({ steps: Annotation<string[]>(list), waitMs: Annotation<number> });

/** Adds one step. */
export const counter = new StateGraph(Steps)
  .addNode('count', (state) => ({ steps: [`step ${state.steps.length + 1}`] }))
  .addEdge(START, 'count')
  .addEdge('count', END)
  .compile();

function waits(step: string) {
  return async ({ waitMs }: typeof Steps.State, config: LangGraphRunnableConfig) => {
    config.writer?.({ began: step });
    await sleep(waitMs ?? 100, undefined, config.signal ? { signal: config.signal } : {});
    return { steps: [step] };
  };
}

/** Three steps, each of `waitMs`. */
export const slow = new StateGraph(Steps)
  .addNode('first', waits('first'))
  .addNode('second', waits('second'))
  .addNode('third', waits('third'))
  .addEdge(START, 'first')
  .addEdge('first', 'second')
  .addEdge('second', 'third')
  .addEdge('third', END)
  .compile();

const Ticks = Annotation.Root({
  count: Annotation<number>,
  waitMs: Annotation<number>,
  said: Annotation<number>,
});

/** Writes its numbers one after the other. */
export const ticking = new StateGraph(Ticks)
  .addNode('tick', async ({ count, waitMs }, config: LangGraphRunnableConfig) => {
    for (let tick = 0; tick < count; tick++) {
      config.writer?.({ tick });
      await sleep(waitMs, undefined, config.signal ? { signal: config.signal } : {});
    }
    return { said: count };
  })
  .addEdge(START, 'tick')
  .addEdge('tick', END)
  .compile();

/** Begins to answer and fails. */
export const failing = new StateGraph(MessagesAnnotation)
  .addNode('say', async (state): Promise<Said> => {
    await answers('half of').invoke(state.messages);
    throw new RangeError('the node gave up');
  })
  .addEdge(START, 'say')
  .addEdge('say', END)
  .compile();

const child = new StateGraph(Steps)
  .addNode('inner', () => ({ steps: [`inner ${String(interrupt('inside?'))}`] }))
  .addNode('deeper', () => ({ steps: ['deeper'] }))
  .addEdge(START, 'inner')
  .addEdge('inner', 'deeper')
  .addEdge('deeper', END)
  .compile();

/** Asks inside a subgraph. */
export const nested = new StateGraph(Steps)
  .addNode('child', child)
  .addNode('after', () => ({ steps: ['after'] }))
  .addEdge(START, 'child')
  .addEdge('child', 'after')
  .addEdge('after', END)
  .compile();

const Words = Annotation.Root({
  place: Annotation<string>,
  word: Annotation<string>,
  seen: Annotation<string[]>,
});

/** Puts a word into the store and answers those of its place, whatever the thread. */
export const remembering = new StateGraph(Words)
  .addNode('remember', async ({ place, word }, { store }: LangGraphRunnableConfig) => {
    if (word) await store?.put(['words', place], word, { word });
    const found = await store?.search(['words', place], { limit: 100 });
    return { seen: (found ?? []).map(({ key }) => key).sort() };
  })
  .addEdge(START, 'remember')
  .addEdge('remember', END)
  .compile();

const Seen = Annotation.Root({ seen: Annotation<Record<string, unknown>> });

/** Answers what the server told it of its run. */
export const seeing = new StateGraph(Seen)
  .addNode(
    'look',
    (_state, { configurable = {}, context, recursionLimit, tags }: LangGraphRunnableConfig) => {
      const { thread_id, run_id, graph_id, assistant_id, word } = configurable;
      const { 'x-tag': tag, 'x-api-key': key, langgraph_auth_user: user } = configurable;
      const identity = (user as { readonly identity?: unknown } | undefined)?.identity;
      const ids = { thread_id, run_id, graph_id, assistant_id };
      return { seen: { ...ids, word, tag, key, identity, context, recursionLimit, tags } };
    },
  )
  .addEdge(START, 'look')
  .addEdge('look', END)
  .compile();

const Shown = Annotation.Root({
  ...MessagesAnnotation.spec,
  ui: Annotation<UIMessage[], UIMessage | RemoveUIMessage | (UIMessage | RemoveUIMessage)[]>({
    reducer: uiMessageReducer,
    default: () => [],
  }),
});

/** Shows a card with the last message, which gets its number later, and no other card. */
export const showing = new StateGraph(Shown)
  .addNode('show', async (state, config: LangGraphRunnableConfig) => {
    const ui = typedUi<typeof components>(config);
    const message = new AIMessage('as you see');
    const { id } = ui.push({ name: 'card', props: { word: lastText(state), count: 0 } }, { message });
    await sleep(50);
    const props = { word: lastText(state), count: state.messages.length };
    ui.push({ id, name: 'card', props }, { message, merge: true });
    const other = ui.push({ name: 'card', props: { word: 'deleted', count: 0 } });
    ui.delete(other.id);
    return { messages: [message] };
  })
  .addEdge(START, 'show')
  .addEdge('show', END)
  .compile();

const adder = tool(async ({ a, b }: { a: number; b: number }) => String(a + b), {
  name: 'add',
  schema: z.object({ a: z.number(), b: z.number() }),
});
const breaker = tool(
  async (): Promise<string> => {
    throw new RangeError('the tool gave up');
  },
  { name: 'break', schema: z.object({}) },
);

/** Calls one tool that answers and one that fails. */
export const tooling = new StateGraph(Steps)
  .addNode('call', async () => {
    const sum: unknown = await adder.invoke({
      type: 'tool_call',
      id: 'call-1',
      name: 'add',
      args: { a: 1, b: 2 },
    });
    await breaker.invoke({ type: 'tool_call', id: 'call-2', name: 'break', args: {} }).catch(() => undefined);
    return { steps: [sum instanceof ToolMessage ? sum.text : 'nothing'] };
  })
  .addEdge(START, 'call')
  .addEdge('call', END)
  .compile();
