import { type BaseEvent, HttpAgent, type RunAgentParameters } from '@ag-ui/client';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { waitFor } from '#lib/testing';
import { testServer } from '../testdata/test-server.js';

const TALKING_AGENT = join(import.meta.dirname, '..', 'testdata', 'talking-agent');
const server = testServer({ folder: TALKING_AGENT });

type Json = Readonly<Record<string, unknown>>;

function agentOf(name: string, threadId: string = randomUUID(), state: Json = {}): HttpAgent {
  return new HttpAgent({ url: `${server.url}/ag-ui/${name}`, threadId, initialState: state });
}

/** Events of one run, as the client passes them on after its checks. */
async function eventsOf(agent: HttpAgent, parameters: RunAgentParameters = {}): Promise<Json[]> {
  const events: BaseEvent[] = [];
  await agent.runAgent(parameters, { onEvent: ({ event }) => void events.push(event) });
  return events;
}

const typesOf = (events: readonly Json[]): string[] => events.map(({ type }) => String(type));

const say = (content: string) => ({ id: randomUUID(), role: 'user' as const, content });

describe('the client of AG-UI', () => {
  it('streams an answer and continues the conversation of its thread', async () => {
    const agent = agentOf('echo');
    agent.addMessage(say('hello'));
    const events = await eventsOf(agent);
    const types = typesOf(events);
    expect(types[0]).toBe('RUN_STARTED');
    expect(types.filter((type) => type === 'TEXT_MESSAGE_CONTENT').length).toBeGreaterThan(3);
    expect(types.at(-1)).toBe('RUN_FINISHED');
    expect(events.at(-1)).toMatchObject({ threadId: agent.threadId, outcome: { type: 'success' } });
    expect(agent.messages).toMatchObject([{ role: 'user' }, { role: 'assistant', content: '1: hello' }]);
    agent.addMessage(say('again'));
    await agent.runAgent();
    expect(agent.messages.at(-1)).toMatchObject({ content: '3: again' });
    expect(agent.messages).toHaveLength(4);
  });

  it('continues the thread of a page that names no uuid', async () => {
    const threadId = `page ${randomUUID()}`;
    for (const [text, answer] of [
      ['one', '1: one'],
      ['two', '3: two'],
    ] as const) {
      const agent = agentOf('echo', threadId);
      agent.addMessage(say(text));
      await agent.runAgent();
      expect(agent.messages.map(({ content }) => content)).toContain(answer);
    }
  });

  it('shows calls of tools, their results, and the state as it changes', async () => {
    const agent = agentOf('planner', randomUUID(), { city: 'Rome', unknown: 1 });
    agent.addMessage(say('plan'));
    const tools = [{ name: 'draw', description: 'Draws', parameters: {} }];
    const context = [{ description: 'page', value: 'home' }];
    const events = await eventsOf(agent, { tools, context });
    expect(events.filter(({ type }) => String(type).startsWith('TOOL_CALL'))).toMatchObject([
      { type: 'TOOL_CALL_START', toolCallId: 'call-1', toolCallName: 'weather' },
      { type: 'TOOL_CALL_ARGS', delta: '{"city":' },
      { type: 'TOOL_CALL_ARGS', delta: '"Rome"}' },
      { type: 'TOOL_CALL_END' },
      { type: 'TOOL_CALL_RESULT', toolCallId: 'call-1', content: 'sunny' },
    ]);
    expect(events.filter(({ type }) => type === 'CUSTOM')).toMatchObject([
      { name: 'ignored_state', value: ['unknown'] },
      { name: 'progress', value: { percent: 50 } },
    ]);
    expect(events.find(({ type }) => type === 'STATE_SNAPSHOT')).toMatchObject({
      snapshot: { city: 'Rome' },
    });
    expect(events.filter(({ type }) => type === 'STATE_DELTA').flatMap(({ delta }) => delta)).toEqual([
      { op: 'add', path: '/steps/-', value: 'planned' },
      { op: 'add', path: '/steps/-', value: 'looked' },
    ]);
    expect(agent.state).toEqual({ city: 'Rome', steps: ['planned', 'looked'] });
    expect(agent.messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant', toolCalls: [{ id: 'call-1', function: { arguments: '{"city":"Rome"}' } }] },
      { role: 'tool', toolCallId: 'call-1', content: 'sunny' },
      { role: 'assistant', content: 'Rome 1 1' },
    ]);
  });

  it('sends back only what its page changed', async () => {
    const agent = agentOf('planner', randomUUID(), { city: 'Rome' });
    agent.addMessage(say('plan'));
    await agent.runAgent();
    agent.setState({ ...(agent.state as Json), city: 'Oslo' });
    agent.addMessage(say('again'));
    await agent.runAgent();
    expect(agent.state).toEqual({ city: 'Oslo', steps: ['planned', 'looked', 'planned', 'looked'] });
  });

  it('ends at a question and continues with the answer', async () => {
    const agent = agentOf('asking');
    agent.addMessage(say('paint it'));
    const events = await eventsOf(agent);
    expect(events.at(-1)).toMatchObject({
      type: 'RUN_FINISHED',
      outcome: { type: 'interrupt', interrupts: [{ reason: 'input_required', message: 'Which colour?' }] },
    });
    const [pending] = agent.pendingInterrupts;
    await agent.runAgent({
      resume: [{ interruptId: pending?.id ?? '', status: 'resolved', payload: 'red' }],
    });
    expect(agent.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'painted "red"' });
  });

  it('shows the failure of an agent', async () => {
    const agent = agentOf('failing');
    agent.addMessage(say('x'));
    const events: BaseEvent[] = [];
    await agent.runAgent({}, { onEvent: ({ event }) => void events.push(event) }).catch(() => undefined);
    expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'RangeError' });
  });

  it('ends its run when it leaves', async () => {
    const agent = agentOf('slow');
    agent.addMessage(say('x'));
    const running = agent.runAgent({}, { onRunStartedEvent: () => agent.abortRun() });
    await running.catch(() => undefined);
    const runs = `${server.url}/threads/${agent.threadId}/runs`;
    await waitFor(async () => {
      const [run] = (await (await fetch(runs)).json()) as { status: string }[];
      return run?.status === 'interrupted';
    });
  });

  it('sends files of its user to the graph', async () => {
    const agent = agentOf('mirror');
    const source = { type: 'data' as const, value: 'aGVsbG8=', mimeType: 'image/png' };
    agent.addMessage({ id: 'm', role: 'user', content: [{ type: 'image', source }] });
    await agent.runAgent();
    expect(JSON.parse(String(agent.messages.at(-1)?.content))).toMatchObject({
      id: 'm',
      content: [{ type: 'image', source_type: 'base64', data: 'aGVsbG8=', mime_type: 'image/png' }],
    });
  });
});

describe('a run of AG-UI', () => {
  const post = async (agent: string, body: unknown) => {
    const response = await fetch(`${server.url}/ag-ui/${agent}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: response.status, text: await response.text() };
  };
  const input = { threadId: 't', runId: 'r', state: {}, messages: [], tools: [], context: [] };
  const image = (source: object) => ({ id: 'm', role: 'user', content: [{ type: 'image', source }] });

  it.each<[string, string, object, number]>([
    ['without its assistant', 'none', {}, 404],
    ['without messages', 'echo', { messages: undefined }, 422],
    ['of a thread without a name', 'echo', { threadId: '' }, 422],
    [
      'with a file on a private address',
      'echo',
      { messages: [image({ type: 'url', value: 'http://127.0.0.1/' })] },
      422,
    ],
    [
      'with a file of the disk',
      'echo',
      { messages: [image({ type: 'url', value: 'file:///etc/passwd' })] },
      422,
    ],
  ])('fails %s', async (_title, agent, more, status) => {
    expect(await post(agent, { ...input, ...more })).toMatchObject({ status });
  });
});
