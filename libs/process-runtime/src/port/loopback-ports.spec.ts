import { createServer, type Server } from 'node:net';
import type { Pod } from '#lib/resources';
import { waitFor } from '#lib/testing';
import { LoopbackPorts } from './loopback-ports.js';

function pod(uid: string, ports: number, namespace = 'one'): Pod {
  const containerPorts = Array.from({ length: ports }, (_, index) => ({ containerPort: 8000 + index }));
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: uid, namespace, uid },
    spec: { containers: [{ name: 'agent', image: 'a', ports: containerPorts }] },
  };
}

describe('LoopbackPorts', () => {
  const servers: Server[] = [];
  afterEach(async () => {
    for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
  });

  async function take(port: number): Promise<void> {
    const server = createServer();
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  }

  it('keeps nothing for a pod of a port that another program took from it', async () => {
    const ports = new LoopbackPorts();
    const robbed = pod('robbed', 1);
    const before = await ports.ensure(robbed, {});
    const taken = before['8000'] ?? 0;
    await take(taken);
    const after = await ports.replaceTaken(robbed, before, [8000]);
    expect(after?.['8000']).not.toBe(taken);
    expect([ports.isOf(robbed, taken), ports.isOf(robbed, after?.['8000'] ?? 0)]).toEqual([false, true]);
  });

  it('holds as many ports for the next pod as the last one has', async () => {
    const due: (() => void)[] = [];
    const after = (_ms: number, callback: () => void) => {
      due.push(callback);
      return () => undefined;
    };
    const ports = new LoopbackPorts({ clock: { after } });
    await ports.ensure(pod('first', 2), {});
    expect(ports.sockets.ports).toEqual([]);
    due.shift()?.();
    await waitFor(() => ports.held.length === 2);
    const held = [...ports.held];
    expect(ports.sockets.ports).toEqual(held);
    const next = pod('next', 2);
    expect(Object.values(await ports.ensure(next, {}))).toEqual(held);
    expect(held.map((port) => ports.isOf(next, port))).toEqual([true, true]);
    ports.release(next);
    expect(ports.sockets.ports).toEqual([]);
    ports.stop();
  });

  it('gives the pods of one namespace no more than their part', async () => {
    const ports = new LoopbackPorts({ most: 5 });
    const first = pod('first', 3);
    await ports.ensure(first, {});
    await expect(ports.ensure(pod('second', 3), {})).rejects.toThrow(
      "giving pod second ports failed: 3 asked for, 3 of its namespace's 5 are in use",
    );
    await ports.ensure(pod('else', 5, 'two'), {});
    // one that asks again is not counted twice
    await ports.ensure(first, {});
    ports.release(first);
    await ports.ensure(pod('second', 3), {});
  });
});
