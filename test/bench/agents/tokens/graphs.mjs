// The graphs of the comparison, once more in graphs.py: what they do costs as little as it can, so that servers are measured.
import { AIMessageChunk } from '@langchain/core/messages';
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { ChatGenerationChunk } from '@langchain/core/outputs';
import { Annotation, END, START, MessagesAnnotation, StateGraph } from '@langchain/langgraph';

const State = Annotation.Root({ text: Annotation, echoed: Annotation });

export const echo = new StateGraph(State)
  .addNode('echo', (state) => ({ echoed: state.text }))
  .addEdge(START, 'echo')
  .addEdge('echo', END)
  .compile();

/** A token every 5 ms, 200 or as many as the text says: what an agent that waits for its model is to its server. */
export const paced = new StateGraph(State)
  .addNode('talk', async (state, config) => {
    for (let n = 0; n < (Number(state.text) || 200); n++) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      config.writer?.({ token: n });
    }
    return { echoed: state.text };
  })
  .addEdge(START, 'talk')
  .addEdge('talk', END)
  .compile();

class Tokens extends BaseChatModel {
  _llmType() {
    return 'tokens';
  }

  async *_streamResponseChunks(messages, options, runManager) {
    for (let n = 0; n < 200; n++) {
      const text = `t${n} `;
      const chunk = new ChatGenerationChunk({
        text,
        message: new AIMessageChunk({ content: text, id: 'm' }),
      });
      yield chunk;
      await runManager?.handleLLMNewToken(text, undefined, undefined, undefined, undefined, { chunk });
    }
  }

  async _generate(messages, options, runManager) {
    let whole;
    for await (const chunk of this._streamResponseChunks(messages, options, runManager))
      whole = whole ? whole.concat(chunk) : chunk;
    return { generations: [whole] };
  }
}

const model = new Tokens({});

/** 200 tokens of a model as fast as they come. */
export const tokens = new StateGraph(MessagesAnnotation)
  .addNode('model', async (state) => ({ messages: [await model.invoke(state.messages)] }))
  .addEdge(START, 'model')
  .addEdge('model', END)
  .compile();
