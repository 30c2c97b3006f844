import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Command, MemorySaver } from '@langchain/langgraph';
import { graph } from '../src/agent.ts';

const say = (content: string) => ({ messages: [{ role: 'user', content }] });

test('uses a tool', async () => {
  const { messages } = await graph.invoke(say('weather in Rome?'));
  assert.equal(messages.at(-1)?.text, 'Done: sunny in Rome.');
});

test('sends nothing before it is approved', async () => {
  graph.checkpointer = new MemorySaver();
  const thread = { configurable: { thread_id: '1' } };
  assert.ok('__interrupt__' in (await graph.invoke(say('send "hi" to ann'), thread)));
  const { messages } = await graph.invoke(new Command({ resume: 'yes' }), thread);
  assert.equal(messages.at(-1)?.text, 'Done: sent to ann.');
});
