import { randomUUID } from 'node:crypto';
import type { Client } from '@langchain/langgraph-sdk';
import { testServer } from '../testdata/test-server.js';
import { endsRun, namesOf, threadEvents } from '../testdata/thread-events.js';

const server = testServer();
const { post, give, eventsUntil } = threadEvents(() => server.url);
let client: Client;

beforeAll(() => {
  client = server.client();
});

describe('the stream of a thread', () => {
  it('numbers events over all runs, and repeats those after the one that a reader names', async () => {
    const threadId = randomUUID();
    const channels = ['lifecycle', 'values', 'updates'];
    for (let run = 0; run < 2; run++)
      await give(threadId, 'run.start', { assistant_id: 'counter', input: {} });
    let ends = 0;
    const events = await eventsUntil(threadId, { channels }, (event) => endsRun(event) && ++ends === 2);
    expect(namesOf(events).filter((name) => name === 'running' || name === 'completed')).toEqual([
      ...['running', 'completed', 'running', 'completed'],
    ]);
    const numbers = events.map(({ seq }) => seq);
    expect(numbers).toEqual([...new Set(numbers)].sort((one, other) => one - other));
    expect(new Set(events.map(({ event_id: id }) => id)).size).toBe(events.length);
    for (const seen of [0, 2, events.length - 3]) {
      const since = numbers[seen];
      const again = await eventsUntil(threadId, { channels, since }, ({ seq }) => seq === numbers.at(-1));
      expect(again.map(({ seq }) => seq)).toEqual(numbers.slice(seen + 1));
    }
  });

  it('shows only the events that were asked for', async () => {
    const threadId = randomUUID();
    const waiting = eventsUntil(
      threadId,
      { channels: ['values', 'lifecycle'], namespaces: [['child']] },
      (event) => namesOf([event]).includes('completed'),
    );
    await give(threadId, 'run.start', { assistant_id: 'nested', input: { steps: [] } });
    const events = await waiting;
    expect(new Set(events.map(({ params }) => params.namespace[0]?.split(':')[0]))).toEqual(
      new Set(['child']),
    );
    expect(namesOf(events)).toContain('values');
  });

  it('shows how a run failed and how one was cancelled', async () => {
    const threadId = randomUUID();
    await give(threadId, 'run.start', { assistant_id: 'failing', input: { steps: [] } });
    const failed = await eventsUntil(threadId, { channels: ['lifecycle'] }, endsRun);
    expect(failed.at(-1)?.params.data).toMatchObject({ event: 'failed', error: 'the node gave up' });
    const { result } = await give(threadId, 'run.start', { assistant_id: 'slow', input: { waitMs: 5_000 } });
    const { run_id: runId } = result as { run_id: string };
    await client.runs.cancel(threadId, runId, true);
    const since = failed.at(-1)?.seq;
    const cancelled = await eventsUntil(threadId, { channels: ['lifecycle'], since }, endsRun);
    expect(cancelled.at(-1)?.params.data['event']).toBe('interrupted');
  });
});

describe('a command of a thread', () => {
  const refused: [string, unknown, string][] = [
    ['run.start', {}, 'invalid_argument'],
    ['run.start', { assistant_id: 'nobody' }, 'invalid_argument'],
    ['run.start', { assistant_id: 'counter', config: 1 }, 'invalid_argument'],
    ['input.respond', { interrupt_id: 'x', response: 1 }, 'no_such_run'],
    ['run.stop', {}, 'unknown_command'],
    ['subscription.subscribe', { channels: ['values'] }, 'unknown_command'],
  ];
  it.each(refused)('%s %j is refused in the words of the protocol', async (method, params, code) => {
    expect(await give(randomUUID(), method, params)).toMatchObject({ type: 'error', id: 7, error: code });
  });

  it('refuses an answer without its question', async () => {
    const threadId = randomUUID();
    await give(threadId, 'run.start', { assistant_id: 'asking', input: { steps: [] } });
    await eventsUntil(threadId, { channels: ['lifecycle'] }, endsRun);
    expect(await give(threadId, 'input.respond', { interrupt_id: 'x', response: 1 })).toMatchObject({
      error: 'no_such_interrupt',
    });
  });

  it('reads the state', async () => {
    const threadId = randomUUID();
    await give(threadId, 'run.start', { assistant_id: 'counter', input: { steps: [], waitMs: 3 } });
    await eventsUntil(threadId, { channels: ['lifecycle'] }, endsRun);
    expect(await give(threadId, 'state.get', { keys: ['steps'] })).toMatchObject({
      type: 'success',
      result: { values: { steps: ['step 1'] }, checkpoint: { id: expect.any(String) } },
    });
  });

  it('must be one', async () => {
    expect((await post(`/threads/${randomUUID()}/commands`, { id: 'x' })).status).toBe(422);
    expect((await post(`/threads/${randomUUID()}/stream/events`, { channels: ['nothing'] })).status).toBe(
      422,
    );
    expect((await post(`/threads/x/stream/events`, { channels: ['values'] })).status).toBe(422);
  });
});
