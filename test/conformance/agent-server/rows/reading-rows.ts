import type { Client } from '@langchain/langgraph-sdk';
import { quietFor, waitFor } from '#lib/testing';
import { allEvents, eventsOf, eventsUntil, open, send } from '../clients/raw-http.js';
import { collect, dataOf, newerSdkRows, sdkRows, statusOf } from '../clients/sdk-client.js';
import { rowsOf, type Target } from '../target.js';

const TICKS = 8;
const TICKING = { assistant_id: 'ticking', input: { count: TICKS, waitMs: 30 }, stream_mode: ['custom'] };
/** Longer than any request takes. */
const SLOWLY = { ...TICKING, input: { count: 30, waitMs: 50 } };
const LONG = { assistant_id: 'slow', input: { waitMs: 60_000 } };
const upTo = (count: number): number[] => Array.from({ length: count }, (_none, tick) => tick);
const ticksOf = (
  events: readonly { readonly event: string | undefined; readonly data: unknown }[],
): unknown[] =>
  events.filter(({ event }) => event === 'custom').map(({ data }) => (data as { tick: number }).tick);

function ticking(client: Client, threadId: string, streamResumable: boolean) {
  const { input } = TICKING;
  return client.runs.create(threadId, 'ticking', { input, streamMode: ['custom'], streamResumable });
}

async function newThread(target: Target): Promise<string> {
  const { body } = await send(target, 'POST', '/threads', { body: {} });
  return (body as { thread_id: string }).thread_id;
}

async function statusOfRun(target: Target, threadId: string, runId: string): Promise<unknown> {
  const { body } = await send(target, 'GET', `/threads/${threadId}/runs/${runId}`);
  return (body as { status?: string }).status;
}

const SDK = sdkRows({
  'streams to a reader that joins only what comes after': async (client) => {
    const { thread_id } = await client.threads.create();
    const { run_id } = await client.runs.create(thread_id, 'slow', {
      input: { waitMs: 1_500 },
      streamMode: ['updates'],
    });
    await waitFor(async () => {
      const { steps } = (await client.threads.getState<{ steps?: string[] }>(thread_id)).values;
      return steps?.includes('first');
    });
    const parts = await collect(client.runs.joinStream(thread_id, run_id));
    expect(parts[0]).toMatchObject({ event: 'metadata', data: { run_id, attempt: 1 } });
    expect(dataOf(parts, 'updates').flatMap((data) => Object.keys(data as object))).toEqual([
      'second',
      'third',
    ]);
  },
  'streams all of a resumable run, also after its end and to several readers': async (client) => {
    const { thread_id } = await client.threads.create();
    const { run_id } = await ticking(client, thread_id, true);
    const all = () => collect(client.runs.joinStream(thread_id, run_id, { lastEventId: '-1' }));
    const [one, other] = await Promise.all([all(), all()]);
    await client.runs.join(thread_id, run_id);
    expect(ticksOf(one)).toEqual(upTo(TICKS));
    expect(other).toEqual(one);
    expect(await all()).toEqual(one);
  },
  'streams what follows the event that a reader names': async (client) => {
    const { thread_id } = await client.threads.create();
    const { run_id } = await ticking(client, thread_id, true);
    const all = await collect(client.runs.joinStream(thread_id, run_id, { lastEventId: '-1' }));
    for (const at of [0, 3, all.length - 2]) {
      const rest = await collect(
        client.runs.joinStream(thread_id, run_id, { lastEventId: all[at]?.id ?? '' }),
      );
      expect(rest).toEqual(all.slice(at + 1));
    }
  },
  'streams only the modes that a reader asks for': async (client) => {
    const { thread_id } = await client.threads.create();
    const { run_id } = await client.runs.create(thread_id, 'slow', {
      input: { waitMs: 1_000 },
      streamMode: ['updates', 'custom', 'values'],
    });
    const parts = await collect(
      client.runs.joinStream(thread_id, run_id, { streamMode: ['custom', 'updates'] }),
    );
    expect(new Set(parts.map(({ event }) => event))).toEqual(new Set(['metadata', 'custom', 'updates']));
  },
  'ends the stream of a run that is cancelled with an error': async (client) => {
    const { thread_id } = await client.threads.create();
    const ids: string[] = [];
    const reading = collect(
      client.runs.stream(thread_id, 'slow', {
        input: LONG.input,
        onRunCreated: ({ run_id }) => void ids.push(run_id),
      }),
    );
    await waitFor(() => ids.length > 0);
    await client.runs.cancel(thread_id, ids[0] ?? '', true);
    expect((await reading).at(-1)).toMatchObject({ event: 'error', data: { error: 'UserInterrupt' } });
  },
  'ends the joining of a run that is rolled back': async (client) => {
    const { thread_id } = await client.threads.create();
    const { run_id } = await client.runs.create(thread_id, 'slow', { input: LONG.input });
    const joining = statusOf(client.runs.join(thread_id, run_id));
    await client.runs.cancel(thread_id, run_id, true, 'rollback');
    await joining;
  },
});

const NEWER = newerSdkRows({
  'streams what happens on a thread, run after run': async (client) => {
    const { thread_id } = await client.threads.create();
    const heard: { event: string; data: Record<string, unknown> }[] = [];
    const leaving = new AbortController();
    const read = async (): Promise<void> => {
      const streamMode = ['run_modes' as const, 'state_update' as const];
      const stream = client.threads.joinStream(thread_id, { streamMode, signal: leaving.signal });
      for await (const part of stream) heard.push(part);
    };
    const reading = read().catch(() => undefined);
    const ends = () => heard.filter(({ data }) => data['status'] === 'run_done').length;
    const wanted = ['metadata', 'values', 'state_update'];
    // the reader may come a moment after the first runs, or hear of one elsewhere only once it is over
    await waitFor(async () => {
      await client.runs.wait(thread_id, 'counter', { input: {} });
      return ends() >= 2 && wanted.every((name) => heard.some(({ event }) => event === name));
    });
    leaving.abort();
    await reading;
  },
});

const HTTP = rowsOf('raw HTTP', {
  'numbers the events of a stream, and names where to go on': async (target) => {
    const path = `/threads/${await newThread(target)}`;
    const response = await open(target, 'POST', `${path}/runs/stream`, { body: TICKING });
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    expect(response.headers.get('x-accel-buffering')).toBe('no');
    const run = response.headers.get('content-location') ?? '';
    expect(run).toMatch(new RegExp(`^${path}/runs/[0-9a-f-]{36}$`));
    expect(response.headers.get('location')).toMatch(new RegExp(`^${run}/stream`));
    const events = await allEvents(response);
    expect(events.map(({ id }) => id)).toEqual(events.map((_event, n) => `1-${n}`));
  },
  'goes on where a broken connection ended': async (target) => {
    const path = `/threads/${await newThread(target)}`;
    const leaving = new AbortController();
    const first = await open(target, 'POST', `${path}/runs/stream`, { body: TICKING }, leaving.signal);
    const seen = await eventsUntil(first, ({ id }) => id === '1-3');
    const location = first.headers.get('location') ?? '';
    leaving.abort();
    const headers = { 'last-event-id': '1-3' };
    const rest = await allEvents(await open(target, 'GET', location, { headers }));
    expect(ticksOf([...seen, ...rest])).toEqual(upTo(TICKS));
  },
  'streams a run without a thread, and where to join it': async (target) => {
    const leaving = new AbortController();
    const first = await open(target, 'POST', '/runs/stream', { body: SLOWLY }, leaving.signal);
    const run = first.headers.get('content-location') ?? '';
    expect(run).toMatch(/^\/runs\/[0-9a-f-]{36}$/);
    await eventsUntil(first, ({ id }) => id === '1-2');
    expect((await send(target, 'GET', run)).body).toMatchObject({ status: 'running' });
    const joined = await allEvents(await open(target, 'GET', `${run}/stream`));
    expect(ticksOf(joined).at(-1)).toBe(SLOWLY.input.count - 1);
    leaving.abort();
  },
  'cancels a run whose reader leaves when that was asked for': async (target) => {
    const threadId = await newThread(target);
    const leaving = new AbortController();
    const body = { ...LONG, stream_mode: 'custom', on_disconnect: 'cancel' };
    const response = await open(target, 'POST', `/threads/${threadId}/runs/stream`, { body }, leaving.signal);
    const runId = response.headers.get('content-location')?.split('/').at(-1) ?? '';
    await eventsUntil(response, ({ event }) => event === 'custom');
    leaving.abort();
    await waitFor(async () => (await statusOfRun(target, threadId, runId)) === 'interrupted');
  },
  'goes on with a run whose reader leaves otherwise': async (target) => {
    const threadId = await newThread(target);
    const leaving = new AbortController();
    const path = `/threads/${threadId}/runs/stream`;
    const response = await open(target, 'POST', path, { body: TICKING }, leaving.signal);
    const runId = response.headers.get('content-location')?.split('/').at(-1) ?? '';
    await eventsUntil(response, ({ event }) => event === 'custom');
    leaving.abort();
    await waitFor(async () => (await statusOfRun(target, threadId, runId)) === 'success');
  },
  'cancels a run whose joined reader leaves when that was asked for': async (target) => {
    const threadId = await newThread(target);
    const { body } = await send(target, 'POST', `/threads/${threadId}/runs`, { body: LONG });
    const { run_id: runId } = body as { run_id: string };
    const leaving = new AbortController();
    const path = `/threads/${threadId}/runs/${runId}/stream?cancel_on_disconnect=1`;
    const response = await open(target, 'GET', path, {}, leaving.signal);
    for await (const { event } of eventsOf(response)) if (event === 'metadata') break;
    leaving.abort();
    await waitFor(async () => (await statusOfRun(target, threadId, runId)) === 'interrupted');
  },
  'ends waiting with the output as JSON': async (target) => {
    for (const path of ['/runs/wait', `/threads/${await newThread(target)}/runs/wait`]) {
      const answer = await send(target, 'POST', path, { body: { assistant_id: 'counter', input: {} } });
      expect([answer.status, answer.body]).toMatchObject([200, { steps: ['step 1'] }]);
      expect(answer.headers.get('content-type')).toContain('application/json');
      const location = answer.headers.get('content-location') ?? '';
      expect(location).toMatch(new RegExp(`^${path.replace('/wait', '')}/[0-9a-f-]{36}$`));
      expect(answer.headers.get('location')).toContain(`${location}/join`);
      // nothing is kept of a run without a thread, once its end is complete
      const left = path === '/runs/wait' ? 404 : 200;
      await waitFor(async () => (await send(target, 'GET', location)).status === left);
    }
  },
  'shows, joins and cancels runs without a thread by their ids alone': async (target) => {
    const made = await send(target, 'POST', '/runs', { body: LONG });
    const run = made.headers.get('content-location') ?? '';
    expect(run).toMatch(/^\/runs\/[0-9a-f-]{36}$/);
    expect((await send(target, 'GET', run)).status).toBe(200);
    // one that comes after the cancellation finds no run any more
    const joining = send(target, 'GET', `${run}/join`);
    await Promise.race([joining, quietFor(300)]);
    expect((await send(target, 'POST', `${run}/cancel?wait=1`)).status).toBe(204);
    expect((await joining).status).toBe(200);
  },
  'keeps the thread of a run without one when asked to': async (target) => {
    const body = { assistant_id: 'counter', input: {}, on_completion: 'keep' };
    const made = (await send(target, 'POST', '/runs', { body })).body as {
      thread_id: string;
      run_id: string;
    };
    const path = `/threads/${made.thread_id}`;
    await send(target, 'GET', `${path}/runs/${made.run_id}/join`);
    expect((await send(target, 'GET', `${path}/state`)).body).toMatchObject({
      values: { steps: ['step 1'] },
    });
  },
});

export const READING_ROWS = [...SDK, ...NEWER, ...HTTP];
