import { randomUUID } from 'node:crypto';
import type { Client } from '@langchain/langgraph-sdk';
import { WebSocket } from 'ws';
import { waitFor } from '#lib/testing';
import { eventsUntil, open, send, type WireEvent } from '../clients/raw-http.js';
import { newerSdkRows, sdkClient } from '../clients/sdk-client.js';
import { rowsOf, type Target } from '../target.js';

const HELLO = { messages: [{ role: 'user', content: 'hello' }] };
const ENDS = ['completed', 'failed', 'interrupted'];

interface ProtocolEvent {
  readonly event_id: string;
  readonly seq: number;
  readonly method: string;
  readonly params: { readonly namespace: readonly string[]; readonly data: Record<string, unknown> };
}

const eventIn = ({ data }: WireEvent): ProtocolEvent => data as ProtocolEvent;

const endsRun = ({ method, params }: ProtocolEvent): boolean =>
  method === 'lifecycle' && params.namespace.length === 0 && ENDS.includes(String(params.data['event']));

async function command(target: Target, threadId: string, method: string, params: unknown) {
  const answer = await send(target, 'POST', `/threads/${threadId}/commands`, {
    body: { id: 7, method, params },
  });
  return answer.body as {
    readonly type: string;
    readonly error?: string;
    readonly result?: Record<string, unknown>;
  };
}

async function follow(
  target: Target,
  threadId: string,
  asked: object,
  isLast: (event: ProtocolEvent) => boolean = endsRun,
): Promise<ProtocolEvent[]> {
  const response = await open(target, 'POST', `/threads/${threadId}/stream/events`, { body: asked });
  return (await eventsUntil(response, (event) => isLast(eventIn(event)))).map(eventIn);
}

const state = async ({ threads }: Client, threadId: string): Promise<unknown> =>
  (await threads.getState(threadId)).values;

/** Says hello to `echo` and hears the answer, as messages and as output. */
async function expectEcho(thread: ReturnType<Client['threads']['stream']>): Promise<void> {
  const texts: string[] = [];
  const reading = (async () => {
    for await (const message of thread.messages) texts.push(await message.text);
  })();
  await thread.run.start({ input: HELLO });
  const output = (await thread.output) as { messages: { text: string }[] };
  await reading;
  expect(output.messages.map(({ text }) => text)).toEqual(['hello', '1: hello']);
  expect(texts).toContain('1: hello');
  await thread.close();
}

const SDK = newerSdkRows({
  'shows messages and output of a thread stream by a WebSocket': async (_client, { url, headers }) => {
    // an API key goes into a header, which the sockets of pages do not have
    const webSocketFactory = (address: string): globalThis.WebSocket =>
      new WebSocket(address, { headers: { ...headers } }) as unknown as globalThis.WebSocket;
    const { threads } = sdkClient({ url, headers: {} });
    await expectEcho(
      threads.stream(randomUUID(), { assistantId: 'echo', transport: 'websocket', webSocketFactory }),
    );
  },
  'shows messages and output of a thread stream': async ({ threads }) =>
    expectEcho(threads.stream(randomUUID(), { assistantId: 'echo' })),
  'asks in a thread stream and goes on with the answer': async (client) => {
    const thread = client.threads.stream(randomUUID(), { assistantId: 'asking' });
    await thread.run.start({ input: HELLO });
    await thread.output;
    expect([thread.interrupted, thread.interrupts.map(({ payload }) => payload)]).toEqual([
      true,
      ['Which colour?'],
    ]);
    const [asked] = thread.interrupts;
    await thread.input.respond({
      interrupt_id: asked?.interruptId ?? '',
      namespace: [...(asked?.namespace ?? [])],
      response: 'red',
    });
    await waitFor(async () => JSON.stringify(await state(client, thread.threadId)).includes('painted red'));
    await thread.close();
  },
});

const HTTP = rowsOf('raw HTTP', {
  'starts a run by a command, and streams it on every channel': async (target) => {
    const threadId = randomUUID();
    const started = await command(target, threadId, 'run.start', { assistant_id: 'echo', input: HELLO });
    expect(started).toMatchObject({ type: 'success', result: { run_id: expect.any(String) as unknown } });
    const channels = ['values', 'updates', 'messages', 'lifecycle', 'checkpoints', 'tasks'];
    const events = await follow(target, threadId, { channels });
    expect(new Set(events.map(({ method }) => method))).toEqual(new Set(channels));
    const numbers = events.map(({ seq }) => seq);
    expect(numbers).toEqual([...new Set(numbers)].sort((one, other) => one - other));
    const since = numbers[2];
    const again = await follow(target, threadId, { channels, since });
    expect(again.map(({ seq }) => seq)).toEqual(numbers.slice(3));
  },
  'numbers events over all runs, and repeats those after the one that a reader names': async (target) => {
    const threadId = randomUUID();
    const channels = ['lifecycle', 'values', 'updates'];
    const counted = { assistant_id: 'counter', input: {} };
    for (let run = 0; run < 2; run++) await command(target, threadId, 'run.start', counted);
    let ended = 0;
    const events = await follow(target, threadId, { channels }, (event) => endsRun(event) && ++ended === 2);
    const became = events
      .filter(({ method }) => method === 'lifecycle')
      .map(({ params }) => params.data['event']);
    expect(became.filter((name) => name === 'running' || name === 'completed')).toEqual([
      'running',
      'completed',
      'running',
      'completed',
    ]);
    const numbers = events.map(({ seq }) => seq);
    expect(numbers).toEqual([...new Set(numbers)].sort((one, other) => one - other));
    expect(new Set(events.map(({ event_id: id }) => id)).size).toBe(events.length);
    for (const seen of [0, 2, events.length - 3]) {
      const asked = { channels, since: numbers[seen] };
      const again = await follow(target, threadId, asked, ({ seq }) => seq === numbers.at(-1));
      expect(again.map(({ seq }) => seq)).toEqual(numbers.slice(seen + 1));
    }
  },
  'streams only the namespaces that a reader asks for': async (target) => {
    const threadId = randomUUID();
    const asked = { channels: ['values', 'input', 'lifecycle'], namespaces: [['child']] };
    const following = follow(target, threadId, asked, ({ method }) => method === 'input.requested');
    await command(target, threadId, 'run.start', { assistant_id: 'nested', input: {} });
    const events = await following;
    const places = events.map(({ params }) => params.namespace[0]?.split(':')[0]);
    expect(new Set(places)).toEqual(new Set(['child']));
    expect(events.map(({ method }) => method)).toContain('values');
  },
  'streams what a run writes itself on the channel custom': async (target) => {
    const threadId = randomUUID();
    await command(target, threadId, 'run.start', { assistant_id: 'ticking', input: { count: 2, waitMs: 1 } });
    const events = await follow(target, threadId, { channels: ['custom', 'lifecycle'] });
    expect(events.filter(({ method }) => method === 'custom')).toHaveLength(2);
  },
  'streams a subgraph by its namespace, and its question': async (target) => {
    const threadId = randomUUID();
    await command(target, threadId, 'run.start', { assistant_id: 'nested', input: {} });
    const events = await follow(target, threadId, { channels: ['input', 'lifecycle'] });
    expect(events.map(({ method }) => method)).toContain('input.requested');
    expect(events.at(-1)?.params.data).toMatchObject({ event: 'interrupted' });
    const asked = events.find(({ method }) => method === 'input.requested');
    const interrupt_id = String(asked?.params.data['interrupt_id']);
    const answered = await command(target, threadId, 'input.respond', { interrupt_id, response: 'yes' });
    expect(answered.type).toBe('success');
    await follow(target, threadId, { channels: ['lifecycle'], since: events.at(-1)?.seq });
    expect(await command(target, threadId, 'state.get', { keys: ['steps'] })).toMatchObject({
      type: 'success',
      result: {
        values: { steps: ['inner yes', 'deeper', 'after'] },
        checkpoint: { id: expect.any(String) as unknown },
      },
    });
  },
  'shows on the channel lifecycle how a run failed': async (target) => {
    const threadId = randomUUID();
    await command(target, threadId, 'run.start', { assistant_id: 'failing', input: HELLO });
    const events = await follow(target, threadId, { channels: ['lifecycle'] });
    expect(events.at(-1)?.params.data).toMatchObject({ event: 'failed', error: 'the node gave up' });
  },
  'shows on the channel lifecycle that a run was cancelled': async (target) => {
    const threadId = randomUUID();
    const long = { assistant_id: 'slow', input: { waitMs: 60_000 } };
    const { result } = await command(target, threadId, 'run.start', long);
    const runId = String(result?.['run_id']);
    expect((await send(target, 'POST', `/threads/${threadId}/runs/${runId}/cancel?wait=1`)).status).toBe(204);
    const events = await follow(target, threadId, { channels: ['lifecycle'] });
    expect(events.at(-1)?.params.data['event']).toBe('interrupted');
  },
  'refuses an answer without its question': async (target) => {
    const threadId = randomUUID();
    await command(target, threadId, 'run.start', { assistant_id: 'asking', input: HELLO });
    await follow(target, threadId, { channels: ['lifecycle'] });
    expect(
      await command(target, threadId, 'input.respond', { interrupt_id: 'x', response: 1 }),
    ).toMatchObject({ type: 'error', error: 'no_such_interrupt' });
  },
  'answers commands that cannot be performed with a code': async (target) => {
    const refused: readonly (readonly [string, unknown, string])[] = [
      ['run.start', {}, 'invalid_argument'],
      ['run.start', { assistant_id: 'absent' }, 'invalid_argument'],
      ['run.start', { assistant_id: 'counter', config: 1 }, 'invalid_argument'],
      ['input.respond', { interrupt_id: 'x', response: 1 }, 'no_such_run'],
      ['run.dance', {}, 'unknown_command'],
      ['subscription.subscribe', { channels: ['values'] }, 'unknown_command'],
    ];
    for (const [method, params, error] of refused) {
      const answer = await command(target, randomUUID(), method, params);
      expect([method, answer]).toMatchObject([method, { type: 'error', id: 7, error }]);
    }
  },
});

export const PROTOCOL_ROWS = [...SDK, ...HTTP];
