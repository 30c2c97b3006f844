import { randomUUID } from 'node:crypto';
import type { Client } from '@langchain/langgraph-sdk';
import { testServer } from '../testdata/test-server.js';

const server = testServer();
let client: Client;

beforeAll(() => {
  client = server.client();
});

interface WireEvent {
  readonly event_id: string;
  readonly seq: number;
  readonly method: string;
  readonly params: { readonly namespace: readonly string[]; readonly data: Record<string, unknown> };
}

async function post(path: string, body: unknown): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(`${server.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

async function give(threadId: string, method: string, params?: unknown) {
  return (await post(`/threads/${threadId}/commands`, { id: 7, method, params })).body;
}

/** Events of a thread until one fits. */
async function eventsUntil(
  threadId: string,
  request: object,
  isLast: (event: WireEvent) => boolean,
  url = server.url,
): Promise<WireEvent[]> {
  const response = await fetch(`${url}/threads/${threadId}/stream/events`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify(request),
    signal: AbortSignal.timeout(20_000),
  });
  const found: WireEvent[] = [];
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString();
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const data = /^data: (.*)$/m.exec(text.slice(0, end))?.[1];
      text = text.slice(end + 2);
      if (data === undefined) continue;
      const event = JSON.parse(data) as WireEvent;
      found.push(event);
      if (isLast(event)) return found;
    }
  }
  throw new Error(`the stream ended after ${JSON.stringify(found)}`);
}

function endsRun({ method, params: { namespace, data } }: WireEvent): boolean {
  return (
    method === 'lifecycle' &&
    namespace.length === 0 &&
    ['completed', 'failed', 'interrupted'].includes(String(data['event']))
  );
}

const named = (events: readonly WireEvent[]): string[] =>
  events.map(({ method, params: { data } }) => (method === 'lifecycle' ? String(data['event']) : method));

describe('the stream of a thread', () => {
  it('numbers events over all runs, and repeats those after the one that a reader names', async () => {
    const threadId = randomUUID();
    const channels = ['lifecycle', 'values', 'updates'];
    for (let run = 0; run < 2; run++)
      await give(threadId, 'run.start', { assistant_id: 'counter', input: {} });
    let ends = 0;
    const events = await eventsUntil(threadId, { channels }, (event) => endsRun(event) && ++ends === 2);
    expect(named(events).filter((name) => name === 'running' || name === 'completed')).toEqual([
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
      (event) => named([event]).includes('completed'),
    );
    await give(threadId, 'run.start', { assistant_id: 'nested', input: { steps: [] } });
    const events = await waiting;
    expect(new Set(events.map(({ params }) => params.namespace[0]?.split(':')[0]))).toEqual(
      new Set(['child']),
    );
    expect(named(events)).toContain('values');
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
