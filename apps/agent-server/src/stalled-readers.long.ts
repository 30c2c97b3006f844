import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { WebSocket } from 'ws';
import { waitFor } from '#lib/testing';
import { testServer } from '../testdata/test-server.js';

/** Several of them are more than the kernel holds for a connection. */
const TEXT = 'ä'.repeat(1_000_000);
const READERS_OF_EACH_KIND = 2;
const CHANNELS = ['values', 'updates', 'checkpoints', 'tasks', 'lifecycle'];

// all output is kept: other tests cover readers that fall behind it
const server = testServer({
  env: { AGENTPLANE_RUN_LOG_MB: '256', AGENTPLANE_LOG_MB: '512' },
});
let threadId: string;

beforeAll(async () => {
  threadId = String((await answer('/threads', {}))['thread_id']);
});

async function answer(path: string, body?: unknown): Promise<Record<string, unknown>> {
  const response = await fetch(`${server.url}${path}`, {
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    headers: { 'content-type': 'application/json' },
  });
  return (await response.json()) as Record<string, unknown>;
}

/** Bytes that the process holds for clients that have not read them. */
async function unreadBytes(): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  return Number(/^agentplane_agent_unsent_bytes (\d+)$/m.exec(text)?.[1]);
}

/** A connection of which no byte is read until the test asks for it. */
interface Stalled {
  /** Ids of all that came until the end of the run, in order. */
  read(): Promise<string[]>;
}

function frames(text: string): string[] {
  return text.split('\n\n').filter((frame) => frame.includes('data: '));
}

async function stalledStream(path: string, body?: unknown): Promise<Stalled> {
  const headers = { 'content-type': 'application/json' };
  const sent = request(`${server.url}${path}`, { method: body ? 'POST' : 'GET', headers, agent: false });
  sent.end(body ? JSON.stringify(body) : undefined);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.pause();
  return {
    read: async () => {
      const pieces: Buffer[] = [];
      for await (const piece of response as AsyncIterable<Buffer>) {
        pieces.push(piece);
        const end = piece.subarray(-400).toString();
        if (end.includes('run_done') || end.includes('"event":"completed"')) break;
      }
      const found = frames(Buffer.concat(pieces).toString());
      for (const frame of found) JSON.parse(frame.slice(frame.indexOf('data: ') + 6));
      return found.map((frame) => /^id: (.*)$/m.exec(frame)?.[1] ?? 'none');
    },
  };
}

async function stalledSocket(): Promise<Stalled> {
  const socket = new WebSocket(`ws://127.0.0.1:${server.port}/threads/${threadId}/stream/events`);
  await once(socket, 'open');
  socket.send(JSON.stringify({ id: 1, method: 'subscription.subscribe', params: { channels: CHANNELS } }));
  await once(socket, 'message');
  socket.pause();
  return {
    read: async () => {
      const ids: string[] = [];
      const { promise: ended, resolve } = Promise.withResolvers<void>();
      socket.on('message', (data: Buffer) => {
        const text = data.toString();
        const { event_id: id } = JSON.parse(text) as { event_id?: string };
        if (id !== undefined) ids.push(id);
        if (text.slice(-400).includes('"event":"completed"')) resolve();
      });
      socket.resume();
      await ended;
      socket.terminate();
      return ids;
    },
  };
}

describe('readers that stall for the whole of a run', () => {
  it('cost next to nothing and miss nothing, of whatever kind they are', async () => {
    const events = `/threads/${threadId}/stream/events`;
    const ofThread: Promise<Stalled>[] = [];
    for (let n = 0; n < READERS_OF_EACH_KIND; n++)
      ofThread.push(
        stalledSocket(),
        stalledStream(events, { channels: CHANNELS }),
        stalledStream(`/threads/${threadId}/stream`),
      );
    const stalled = await Promise.all(ofThread);
    const started = await answer(`/threads/${threadId}/commands`, {
      id: 1,
      method: 'run.start',
      params: { assistant_id: 'slow', input: { steps: [TEXT], waitMs: 1_000 } },
    });
    const runId = String((started['result'] as Record<string, unknown>)['run_id']);
    const joined: Stalled[] = [];
    for (let n = 0; n < READERS_OF_EACH_KIND; n++)
      joined.push(await stalledStream(`/threads/${threadId}/runs/${runId}/stream`));
    const run = `/threads/${threadId}/runs/${runId}`;
    await waitFor(async () => (await answer(run))['status'] === 'success');
    const readers = stalled.length + joined.length;
    expect(await unreadBytes()).toBeLessThan(readers * 128 * 1024);

    const ids = await Promise.all(stalled.map((one) => one.read()));
    const joinedIds = await Promise.all(joined.map((one) => one.read()));
    const [socket = [], sse = [], older = []] = ids;
    expect(socket.length).toBeGreaterThan(10);
    for (let n = 0; n < ids.length; n += 3) expect(ids.slice(n, n + 3)).toEqual([socket, sse, older]);
    expect(sse).toEqual(socket);
    const positions = older.filter((id) => id.startsWith(`${runId}:`)).map((id) => id.split(':')[1]);
    expect(positions.slice(0, 10)).toEqual(Array.from({ length: 10 }, (_, n) => `1-${n}`));
    // the end of a run has the position of its last event
    const last = positions.slice(0, -1);
    expect(new Set(last).size).toBe(last.length);
    expect(last.map((one) => Number(one?.split('-')[1]))).toEqual(last.map((_, n) => n));
    for (const one of joinedIds) expect(one.slice(1)).toEqual(last.slice(-(one.length - 1)));
    await waitFor(async () => (await unreadBytes()) === 0);
  });
});
