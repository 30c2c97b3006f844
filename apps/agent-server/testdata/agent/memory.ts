import {
  Annotation,
  END,
  getStore,
  InMemoryStore,
  START,
  StateGraph,
  type LangGraphRunnableConfig,
} from '@langchain/langgraph';

const Words = Annotation.Root({
  /** Remembered by the first node; nothing: only looked at. */
  word: Annotation<string>,
  seen: Annotation<string[]>,
  /** A call of the store, by its name and arguments. */
  call: Annotation<{ readonly name: string; readonly args: readonly unknown[] }>,
  answer: Annotation<unknown>,
});

const USER = ['memory', 'ada'];

/** In a graph of its own, with a store of its own: that of the server is used there too. */
const inner = new StateGraph(Words)
  .addNode('remember', async ({ word }, config: LangGraphRunnableConfig) => {
    if (word) await config.store?.put(USER, word, { word, length: word.length }, false);
    return {};
  })
  .addEdge(START, 'remember')
  .addEdge('remember', END)
  .compile({ store: new InMemoryStore() });

/** Remembers a word and answers all that it has, whatever the thread. */
export const remembering = new StateGraph(Words)
  .addNode('inner', inner)
  .addNode('recall', async () => {
    const found = await getStore()?.search(USER, { limit: 100 });
    return { seen: (found ?? []).map(({ key }) => key).sort() };
  })
  .addEdge(START, 'inner')
  .addEdge('inner', 'recall')
  .addEdge('recall', END)
  .compile({ store: new InMemoryStore() });

/** Does with the store what it is told. */
export const calling = new StateGraph(Words)
  .addNode('act', async ({ call }, config: LangGraphRunnableConfig) => {
    const { store } = config;
    const method: unknown = store && Reflect.get(store, call.name);
    if (typeof method !== 'function') throw new Error('no store');
    const answer: unknown = await method.apply(store, call.args);
    return { answer: answer ?? null };
  })
  .addEdge(START, 'act')
  .addEdge('act', END)
  .compile();
