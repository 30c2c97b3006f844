import { join } from 'node:path';
import { waitFor } from '#lib/testing';
import { GAUGED, keptBytes } from '../testdata/loop-gauge.js';
import { testServer } from '../testdata/test-server.js';

const folder = join(import.meta.dirname, '..', 'testdata', 'talking-agent');
const CALLS = 16;
/** Data in each call, unused by the run, so that its row is small. */
const PADDING = 'x'.repeat(3_000_000);

const message = { messageId: 'm', parts: [{ kind: 'text', text: 'hi' }], padding: PADDING };
const rpc = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params });
const V03 = { ...message, role: 'user' };

describe.each<[string, string, object]>([
  ['MCP', '/mcp', rpc('tools/call', { name: 'slow', arguments: { messages: [] }, _meta: { PADDING } })],
  ['A2A', '/a2a/slow', rpc('message/send', { message: V03 })],
  ['a stream of A2A', '/a2a/slow', rpc('message/stream', { message: V03 })],
])('a server whose callers of %s wait for runs', (_title, path, body) => {
  // a separate server: runs of other tests would be in the queue
  const server = testServer({ folder, env: { ...GAUGED, N_JOBS_PER_WORKER: '1' } });

  async function queued(): Promise<number> {
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    return Number(/^agentplane_agent_runs_queued(?:\{.*\})? (\d+)$/m.exec(metrics)?.[1]);
  }

  it('keeps nothing of their bodies', async () => {
    const left = new AbortController();
    const before = await keptBytes(server.child);
    const calls = Array.from({ length: CALLS }, async () => {
      const answer = await fetch(`${server.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
        body: JSON.stringify(body),
        signal: left.signal,
      });
      return answer.text();
    });
    try {
      await waitFor(async () => (await queued()) >= CALLS - 4);
      expect((await keptBytes(server.child)) - before).toBeLessThan((CALLS * PADDING.length) / 4);
    } finally {
      left.abort();
      await Promise.allSettled(calls);
    }
  });
});
