import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { testServer } from '../testdata/test-server.js';
import { endsRun, namesOf, threadEvents } from '../testdata/thread-events.js';

const python = process.env['AGENTPLANE_TEST_PYTHON'];
if (!python)
  process.stderr.write('SKIPPED: thread streams of Python: AGENTPLANE_TEST_PYTHON names no interpreter\n');

(python ? describe : describe.skip)('the stream of a thread with graphs in Python', () => {
  const server = testServer({
    folder: join(import.meta.dirname, '..', 'testdata', 'python-agent'),
    env: { AGENTPLANE_PYTHON: python ?? '' },
  });
  const { give, eventsUntil } = threadEvents(() => server.url);

  it('shows a message as it is made, and states', async () => {
    const threadId = randomUUID();
    const input = { messages: [{ type: 'human', content: 'one two' }] };
    await give(threadId, 'run.start', { assistant_id: 'echo', input });
    const channels = ['lifecycle', 'values', 'updates', 'messages'];
    const events = await eventsUntil(threadId, { channels }, endsRun);
    const names = namesOf(events);
    expect(names[0]).toBe('running');
    expect(names.at(-1)).toBe('completed');
    expect(names).toEqual(expect.arrayContaining(['values', 'updates', 'messages']));
    const messages = events.filter(({ method }) => method === 'messages').map(({ params: { data } }) => data);
    expect(messages.map(({ event }) => event)).toEqual(
      expect.arrayContaining(['message-start', 'content-block-delta', 'message-finish']),
    );
    const said = messages
      .filter(({ event }) => event === 'content-block-delta')
      .map(({ delta }) => (delta as { text?: string }).text ?? '');
    expect(said.join('')).toBe('you said one two');
    const last = events.filter(({ method }) => method === 'values').at(-1)?.params.data;
    expect(JSON.stringify(last)).toContain('"you said one two"');
  });

  it('asks a question, and goes on with its answer', async () => {
    const threadId = randomUUID();
    await give(threadId, 'run.start', { assistant_id: 'asks', input: {} });
    const channels = ['lifecycle', 'input', 'values'];
    const before = await eventsUntil(threadId, { channels }, endsRun);
    expect(namesOf(before).at(-1)).toBe('interrupted');
    const asked = before.find(({ method }) => method.startsWith('input'))?.params.data;
    expect(asked).toMatchObject({ payload: { question: 'who?' } });
    await give(threadId, 'input.respond', {
      namespace: [],
      interrupt_id: asked?.['interrupt_id'],
      response: 'you',
    });
    const since = before.at(-1)?.seq;
    const after = await eventsUntil(threadId, { channels, since }, endsRun);
    expect(namesOf(after).at(-1)).toBe('completed');
    expect(after.filter(({ method }) => method === 'values').at(-1)?.params.data).toEqual({ answer: 'you' });
  });

  it('shows how a run failed', async () => {
    const threadId = randomUUID();
    await give(threadId, 'run.start', { assistant_id: 'fails', input: { text: 'this' } });
    const events = await eventsUntil(threadId, { channels: ['lifecycle'] }, endsRun);
    expect(events.at(-1)?.params.data).toMatchObject({ event: 'failed', error: 'cannot take this' });
  });
});
