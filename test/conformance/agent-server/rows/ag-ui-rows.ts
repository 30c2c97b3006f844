import { HttpAgent } from '@ag-ui/client';
import { randomUUID } from 'node:crypto';
import { rowsOf, type Target } from '../target.js';

function agentOf({ url, headers }: Target, name: string, text: string): HttpAgent {
  const agent = new HttpAgent({
    url: `${url}/ag-ui/${name}`,
    threadId: randomUUID(),
    headers: { ...headers },
  });
  agent.addMessage({ id: randomUUID(), role: 'user', content: text });
  return agent;
}

export const AG_UI_ROWS = rowsOf('AG-UI client', {
  'streams an answer piece by piece': async (target) => {
    const agent = agentOf(target, 'echo', 'hello');
    const pieces: string[] = [];
    await agent.runAgent({}, { onTextMessageContentEvent: ({ event }) => void pieces.push(event.delta) });
    expect(pieces.length).toBeGreaterThan(3);
    expect(pieces.join('')).toBe('1: hello');
    expect(agent.messages).toMatchObject([{ role: 'user' }, { role: 'assistant', content: '1: hello' }]);
  },
  'asks, and goes on with the answer': async (target) => {
    const agent = agentOf(target, 'asking', 'paint it');
    await agent.runAgent();
    const [question] = agent.pendingInterrupts;
    expect(question).toMatchObject({ message: 'Which colour?' });
    await agent.runAgent({
      resume: [{ interruptId: question?.id ?? '', status: 'resolved', payload: 'red' }],
    });
    expect(agent.messages.at(-1)).toMatchObject({ content: 'painted red' });
  },
  'shows the state of a graph without messages': async (target) => {
    const agent = agentOf(target, 'counter', 'ignored');
    await agent.runAgent();
    expect(agent.state).toEqual({ steps: ['step 1'] });
  },
});
