import { AIMessage } from '@langchain/core/messages';
import type { RunnableConfig } from '@langchain/core/runnables';
import { FakeListChatModel } from '@langchain/core/utils/testing';
import * as langgraph from '@langchain/langgraph';
import {
  Annotation,
  END,
  MessagesAnnotation,
  NodeInterrupt,
  Send,
  START,
  StateGraph,
} from '@langchain/langgraph';

/** The stores and interrupts of a release that has them. */
interface OfRun extends RunnableConfig {
  readonly store?: {
    get(namespace: string[], key: string): Promise<{ readonly value: { readonly text?: string } } | null>;
    put(namespace: string[], key: string, value: object): Promise<void>;
  };
}

export const chat = new StateGraph(MessagesAnnotation)
  .addNode('answer', async ({ messages }, config) => {
    const model = new FakeListChatModel({ responses: [`you said ${String(messages.at(-1)?.content)}`] });
    return { messages: [await model.invoke(messages, config)] };
  })
  .addEdge(START, 'answer')
  .addEdge('answer', END)
  .compile();

const Question = Annotation.Root({ answer: Annotation<string>(), word: Annotation<string>() });

const inner = new StateGraph(Question)
  .addNode('ask', ({ answer }) => {
    if (!answer) throw new NodeInterrupt('who?');
    return { word: `${answer}!` };
  })
  .addEdge(START, 'ask')
  .compile();

export const asks = new StateGraph(Question).addNode('inner', inner).addEdge(START, 'inner').compile();

/** The first releases have none. */
const { interrupt } = langgraph as { interrupt?: (question: string) => string };

export const decides = new StateGraph(Question)
  .addNode('ask', () => ({ answer: interrupt?.('who?') ?? 'me' }))
  .addEdge(START, 'ask')
  .compile();

const Kept = Annotation.Root({
  at: Annotation<AIMessage>(),
  seen: Annotation<string[]>({ reducer: (old, more) => [...old, ...more], default: () => [] }),
  word: Annotation<string>(),
});

export const keeps = new StateGraph(Kept)
  .addNode('make', () => ({ at: new AIMessage('np') }))
  .addNode('look', ({ at }: typeof Kept.State) => ({ seen: [`${String(at.content)}2026`] }))
  .addNode('remember', async (_: typeof Kept.State, { configurable, store }: OfRun) => {
    const before = await store?.get(['notes'], 'last');
    await store?.put(['notes'], 'last', { text: 'kept' });
    return { word: `${String(configurable?.['word'] ?? '')} ${before?.value.text ?? 'nothing'}` };
  })
  .addEdge(START, 'make')
  .addConditionalEdges('make', (state) => [new Send('look', state), new Send('look', state)], ['look'])
  .addEdge('look', 'remember')
  .compile({ interruptBefore: ['remember'] });
