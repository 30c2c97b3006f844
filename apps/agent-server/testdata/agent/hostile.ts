import { writeSync } from 'node:fs';
import {
  Annotation,
  END,
  interrupt,
  START,
  StateGraph,
  type LangGraphRunnableConfig,
} from '@langchain/langgraph';

const Anything = Annotation.Root({
  /** `VERB:WORD`: what the node does. */
  act: Annotation<string>,
  value: Annotation<unknown>,
});

function circular(): unknown {
  const loop: Record<string, unknown> = { a: 1 };
  loop['self'] = loop;
  return loop;
}

const THINGS: Readonly<Record<string, () => unknown>> = {
  text: () => 'just text',
  undefined: () => undefined,
  circular,
  'nameless object': () =>
    Object.assign(Object.create(null) as object, { message: Object.create(null) as object }),
  'message that throws': () => ({
    get message(): string {
      throw new Error('no message');
    },
  }),
  // What a database driver might say
  secret: () =>
    new Error(`cannot connect to ${process.env['POSTGRES_URI']} with ${process.env['LANGSMITH_API_KEY']}`),
  function: () => () => 1,
  symbol: () => Symbol('s'),
  nul: () => 'a\u0000b',
  'lone surrogate': () => 'a\ud800b',
  big: () => 'x'.repeat(10_000_000),
};

function block(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

function perform(act: string, config: LangGraphRunnableConfig): unknown {
  const [verb = '', word = ''] = act.split(':');
  switch (verb) {
    case 'throw':
      throw THINGS[word]?.();
    case 'value':
      return THINGS[word]?.();
    case 'interrupt':
      return interrupt(THINGS[word]?.());
    case 'exit':
      return process.exit(Number(word));
    case 'watch':
      // what the watch of its process would say
      return writeSync(4, `${word}\n`);
    case 'block':
      return block(Number(word));
    case 'configurable':
      return config.configurable?.[word];
    default:
      return act;
  }
}

/** Does what a graph should not. */
export const hostile = new StateGraph(Anything)
  .addNode('perform', (state, config) => ({ value: perform(state.act, config) }))
  .addEdge(START, 'perform')
  .addEdge('perform', END)
  .compile();

/** Three steps, each with a new value of `value` characters. */
const grows = (state: typeof Anything.State) => ({ value: 'x'.repeat(Number(state.act)) });
export const growing = new StateGraph(Anything)
  .addNode('one', grows)
  .addNode('two', grows)
  .addNode('three', grows)
  .addEdge(START, 'one')
  .addEdge('one', 'two')
  .addEdge('two', 'three')
  .addEdge('three', END)
  .compile();

/** Sends 4 MB of custom output every few milliseconds until it is aborted, 100 times at most. */
export const talking = new StateGraph(Anything)
  .addNode('talk', async (_state, config: LangGraphRunnableConfig) => {
    for (let n = 0; n < 100 && !config.signal?.aborted; n++) {
      config.writer?.({ n, text: 'x'.repeat(4_000_000) });
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return { value: 'said' };
  })
  .addEdge(START, 'talk')
  .addEdge('talk', END)
  .compile();
