import { appendFileSync } from 'node:fs';
import type { CallbackManagerForLLMRun } from '@langchain/core/callbacks/manager';
import { AIMessage, AIMessageChunk, type BaseMessage } from '@langchain/core/messages';
import { ChatGenerationChunk } from '@langchain/core/outputs';
import { FakeStreamingChatModel } from '@langchain/core/utils/testing';
import {
  Annotation,
  DeltaChannel,
  END,
  interrupt,
  MessagesAnnotation,
  MessagesDeltaValue,
  START,
  StateGraph,
  StateSchema,
  type LangGraphRunnableConfig,
} from '@langchain/langgraph';

const Log = Annotation.Root({
  steps: Annotation<string[]>({ reducer: (left, right) => [...left, ...right], default: () => [] }),
  /** Milliseconds that each step of `slow` waits. */
  waitMs: Annotation<number>,
  /** File to which each step appends a line, to see how often it ran. */
  file: Annotation<string>,
});
type LogState = typeof Log.State;

function mark(state: LogState, step: string, config: LangGraphRunnableConfig): { steps: string[] } {
  const { run_id: runId, run_attempt: attempt } = config.metadata ?? {};
  if (state.file) appendFileSync(state.file, `${step} ${String(runId)} ${String(attempt)}\n`);
  return { steps: [step] };
}

/** Adds one step. */
export const counter = new StateGraph(Log)
  .addNode('count', (state) => ({ steps: [`step ${state.steps.length + 1}`] }))
  .addEdge(START, 'count')
  .addEdge('count', END)
  .compile();

const Deltas = Annotation.Root({
  steps: () =>
    new DeltaChannel<string[], string[]>((steps, updates) => [...steps, ...updates.flat()], {
      snapshotFrequency: 7,
    }),
  city: Annotation<string>,
  ms: Annotation<number>,
});

/** Adds one step, as `counter` does, to a channel that stores changes. */
export const deltas = new StateGraph(Deltas)
  .addNode('count', async (state) => {
    await new Promise((resolve) => setTimeout(resolve, state.ms ?? 0));
    return { steps: [`step ${state.steps.length + 1}`] };
  })
  .addEdge(START, 'count')
  .addEdge('count', END)
  .compile();

const weather = new StateGraph(Deltas)
  .addNode('pick', () => ({ steps: ['picked'], city: 'Rome' }))
  .addNode('report', ({ city }) => ({ steps: [`sunny in ${city}`] }))
  .addEdge(START, 'pick')
  .addEdge('pick', 'report')
  .addEdge('report', END)
  .compile({ interruptBefore: ['report'] });

/** Its subgraph stops before the last of its nodes. */
export const forecast = new StateGraph(Deltas)
  .addNode('weather', weather)
  .addEdge(START, 'weather')
  .addEdge('weather', END)
  .compile();

const adds = (step: string) => () => ({ steps: [step] });

/** Three of its nodes add to a channel that stores changes in one step; a fourth asks, or fails in `Rome`. */
export const quartet = new StateGraph(Deltas)
  .addNode('c', adds('c'))
  .addNode('a', adds('a'))
  .addNode('b', adds('b'))
  .addNode('ask', ({ city }) => {
    if (city === 'Rome') throw new Error('not in Rome');
    return { steps: [interrupt<string, string>('who?')] };
  })
  .addEdge(START, 'c')
  .addEdge(START, 'a')
  .addEdge(START, 'b')
  .addEdge(START, 'ask')
  .compile();

const rival = (city: string) => () => ({ city, steps: [`${city} wins`] });

/** Two of its nodes write one value in one step, which its channel refuses. */
export const rivals = new StateGraph(Deltas)
  .addNode('rome', rival('Rome'))
  .addNode('oslo', rival('Oslo'))
  .addEdge(START, 'rome')
  .addEdge(START, 'oslo')
  .compile();

/** Its subgraph is `rivals`. */
export const rivalry = new StateGraph(Deltas)
  .addNode('contest', rivals)
  .addEdge(START, 'contest')
  .addEdge('contest', END)
  .compile();

/** Answers with the number of messages, which its channel stores as changes. */
export const deltaChat = new StateGraph(new StateSchema({ messages: MessagesDeltaValue }))
  .addNode('answer', ({ messages }) => ({ messages: [new AIMessage(`${messages.length} messages`)] }))
  .addEdge(START, 'answer')
  .addEdge('answer', END)
  .compile();

function waits(step: string) {
  return async (state: LogState, config: LangGraphRunnableConfig) => {
    const update = mark(state, step, config);
    config.writer?.({ began: step });
    await new Promise((resolve) => setTimeout(resolve, state.waitMs ?? 100));
    return update;
  };
}

/** Three steps that take their time and do not listen to an abort. */
export const slow = new StateGraph(Log)
  .addNode('first', waits('first'))
  .addNode('second', waits('second'))
  .addNode('third', waits('third'))
  .addEdge(START, 'first')
  .addEdge('first', 'second')
  .addEdge('second', 'third')
  .addEdge('third', END)
  .compile();

/** Its factory never ends, whatever it is told. */
export function stubborn(): Promise<unknown> {
  return new Promise(() => undefined);
}

const Ticks = Annotation.Root({
  count: Annotation<number>,
  waitMs: Annotation<number>,
  said: Annotation<number>,
});

/** Says its numbers one after the other. */
export const ticking = new StateGraph(Ticks)
  .addNode('tick', async ({ count, waitMs }, config: LangGraphRunnableConfig) => {
    for (let tick = 0; tick < count; tick++) {
      config.writer?.({ tick });
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
    return { said: count };
  })
  .addEdge(START, 'tick')
  .addEdge('tick', END)
  .compile();

export const failing = new StateGraph(Log)
  .addNode('good', () => ({ steps: ['good'] }))
  .addNode('bad', () => {
    throw new RangeError('the node gave up');
  })
  .addEdge(START, 'good')
  .addEdge('good', 'bad')
  .addEdge('bad', END)
  .compile();

/** Asks a person and goes on with the answer. */
export const asking = new StateGraph(Log)
  .addNode('ask', () => ({ steps: [`answer ${String(interrupt('what now?'))}`] }))
  .addEdge(START, 'ask')
  .addEdge('ask', END)
  .compile();

/** Asks a person, takes its time with the answer. */
export const pondering = new StateGraph(Log)
  .addNode('ask', async (state) => {
    const answer = String(interrupt('what now?'));
    await new Promise((resolve) => setTimeout(resolve, state.waitMs ?? 100));
    return { steps: [`answer ${answer}`] };
  })
  .addEdge(START, 'ask')
  .addEdge('ask', END)
  .compile();

const child = new StateGraph(Log)
  .addNode('inner', () => ({ steps: ['inner'] }))
  .addEdge(START, 'inner')
  .addEdge('inner', END)
  .compile();

export const nested = new StateGraph(Log)
  .addNode('child', child)
  .addEdge(START, 'child')
  .addEdge('child', END)
  .compile();

/** A factory, called for each run. */
export function make(config: LangGraphRunnableConfig) {
  const word = String(config.configurable?.word ?? 'nothing');
  return new StateGraph(Log)
    .addNode('say', () => ({ steps: [word] }))
    .addEdge(START, 'say')
    .addEdge('say', END)
    .compile();
}

/** Not compiled. */
export const builder = new StateGraph(Log)
  .addNode('built', () => ({ steps: ['built'] }))
  .addEdge(START, 'built')
  .addEdge('built', END);

/** A model that is invoked, not streamed: its tokens are seen all the same. */
const model = new FakeStreamingChatModel({ responses: [new AIMessage('one two')] });
export const chat = new StateGraph(MessagesAnnotation)
  .addNode('talk', async (state): Promise<{ messages: BaseMessage[] }> => ({
    messages: [await model.invoke(state.messages)],
  }))
  .addEdge(START, 'talk')
  .addEdge('talk', END)
  .compile();

/** Its tokens come without a pause between them, as when several arrive in one packet. */
class HastyModel extends FakeStreamingChatModel {
  override async *_streamResponseChunks(
    _messages: BaseMessage[],
    _options: this['ParsedCallOptions'],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    for (let n = 0; n < 100; n++) {
      const chunk = new ChatGenerationChunk({ text: 'a', message: new AIMessageChunk('a') });
      yield chunk;
      await runManager?.handleLLMNewToken('a', undefined, undefined, undefined, undefined, { chunk });
    }
  }
}

const hastyModel = new HastyModel({});
export const hasty = new StateGraph(MessagesAnnotation)
  .addNode('talk', async (state): Promise<{ messages: BaseMessage[] }> => ({
    messages: [await hastyModel.invoke(state.messages)],
  }))
  .addEdge(START, 'talk')
  .addEdge('talk', END)
  .compile();

/** Ends its server, as a native crash would. */
export const fatal = new StateGraph(Log)
  .addNode('die', () => {
    process.kill(process.pid, 'SIGKILL');
    return {};
  })
  .addEdge(START, 'die')
  .addEdge('die', END)
  .compile();
