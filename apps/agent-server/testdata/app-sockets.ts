import { once } from 'node:events';
import { randomUUID } from 'node:crypto';
import { WebSocket } from 'ws';
import type { ServerProcess } from './start-server.js';

/** Tests of WebSockets behind the HTTP app of an agent, in either language. @param graph that ends without a question */
export function testAppSockets(server: () => Pick<ServerProcess, 'port' | 'client'>, graph: string): void {
  const connect = (headers: Record<string, string> = {}): WebSocket =>
    new WebSocket(`ws://127.0.0.1:${server().port}/threads/${randomUUID()}/stream/events`, { headers });

  it('opens a WebSocket for a request that its middleware passes on', async () => {
    const [client, id] = [server().client(), randomUUID()];
    const thread = client.threads.stream(id, { assistantId: graph, transport: 'websocket' });
    await thread.run.start({ input: {} });
    await thread.output;
    const [run, ...more] = await client.runs.list(id);
    expect([run?.status, more]).toEqual(['success', []]);
    await thread.close();
  });

  it('opens no WebSocket for a request that its middleware refuses', async () => {
    const socket = connect({ 'x-blocked': '1' });
    socket.on('error', () => undefined);
    const [, response] = (await once(socket, 'unexpected-response')) as [unknown, { statusCode: number }];
    expect(response.statusCode).toBe(403);
  });
}
