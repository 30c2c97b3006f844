import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { findStablePort } from '#lib/held-sockets';
import { HeldSockets } from './index.js';

const PROGRAM = `
const [port, fd] = process.env.AGENTPLANE_HELD_SOCKETS.split(':').map(Number);
require('node:http')
  .createServer((request, response) => {
    response.setHeader('connection', 'close');
    if (request.url === '/child') response.end(require('node:child_process').execSync('ls -l /proc/self/fd').toString());
    else response.end(String(process.pid));
  })
  .listen({ fd });
`;

/** Error of another program of the machine that wants the port. */
async function tryListen(port: number): Promise<string> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''));
    server.listen({ host: '127.0.0.1', port }, () => server.close(() => resolve('listened')));
  });
}

describe('HeldSockets', () => {
  const children: ChildProcess[] = [];
  afterEach(() => children.splice(0).forEach((child) => child.kill('SIGKILL')));

  const start = (sockets: HeldSockets, port: number): ChildProcess => {
    const { stdio, environment } = sockets.inheritance([port], 3);
    const child = spawn(process.execPath, ['-e', PROGRAM], {
      stdio: ['ignore', 'inherit', 'inherit', ...stdio],
      env: { PATH: process.env['PATH'] ?? '', ...environment },
    });
    children.push(child);
    return child;
  };
  const ask = async (port: number, path = '/'): Promise<string> =>
    (await fetch(`http://127.0.0.1:${port}${path}`)).text();

  it('keeps a port taken while its program is down, and serves who connected meanwhile', async () => {
    const sockets = new HeldSockets();
    const port = await findStablePort();
    expect(await sockets.hold([{ host: '127.0.0.1', port }])).toEqual(new Map());
    expect(await tryListen(port)).toBe('EADDRINUSE');
    const first = start(sockets, port);
    expect(await ask(port)).toBe(String(first.pid));
    first.kill('SIGKILL');
    await once(first, 'exit');
    expect(await tryListen(port)).toBe('EADDRINUSE');
    const waiting = ask(port);
    const second = start(sockets, port);
    expect(await waiting).toBe(String(second.pid));
    second.kill('SIGKILL');
    await once(second, 'exit');
    sockets.release(port);
    expect(await tryListen(port)).toBe('listened');
  });

  it('starts one process at a time, and none for a port that the one before has come to hold', async () => {
    const sockets = new HeldSockets();
    const [port, other] = [await findStablePort(), await findStablePort()];
    const started = { all: 0, now: 0, most: 0 };
    const count = (message: unknown): void => {
      started.all++;
      started.most = Math.max(started.most, ++started.now);
      (message as { process: ChildProcess }).process.once('exit', () => started.now--);
    };
    subscribe('child_process', count);
    const held = await Promise.all(
      [port, port, other, port].map((one) => sockets.hold([{ host: '127.0.0.1', port: one }])),
    );
    unsubscribe('child_process', count);
    expect(held).toEqual(Array.from({ length: 4 }, () => new Map()));
    expect(started).toEqual({ all: 2, now: 0, most: 1 });
    expect(sockets.ports).toEqual([port, other]);
    sockets.releaseAll();
  });

  it('starts no process for one that has left, and goes on with the next', async () => {
    const sockets = new HeldSockets();
    const [port, other] = [await findStablePort(), await findStablePort()];
    const left = new AbortController();
    const address = { host: '127.0.0.1', port };
    const first = sockets.hold([{ ...address, port: other }]);
    const gone = sockets.hold([address], { left: left.signal });
    const last = sockets.hold([address], { owner: 1 });
    left.abort(new Error('stopped'));
    await expect(gone).rejects.toThrow('stopped');
    expect([await first, await last]).toEqual([new Map(), new Map()]);
    await expect(sockets.hold([address], { left: left.signal })).rejects.toThrow('stopped');
    sockets.releaseAll();
  });

  it('leaves no process with the ports when it ends before it has them', async () => {
    const sockets = new HeldSockets();
    const ports = [await findStablePort(), await findStablePort(), await findStablePort()];
    const { promise: ended, resolve } = Promise.withResolvers<unknown>();
    const leave = (message: unknown): void => {
      const { process: child } = message as { readonly process: ChildProcess };
      children.push(child);
      child.once('exit', resolve);
      // a parent that ends in the middle
      child.once('message', () => {
        child.disconnect();
        child.stdin?.destroy();
      });
    };
    subscribe('child_process', leave);
    void sockets.hold(ports.map((port) => ({ host: '127.0.0.1', port })));
    unsubscribe('child_process', leave);
    await ended;
    for (const port of ports.slice(1)) expect(await tryListen(port)).toBe('listened');
  });

  it('gives the sockets to the program and not to what the program starts', async () => {
    if (spawnSync('ls', ['/proc/self/fd']).status !== 0) return; // only Linux shows them
    const sockets = new HeldSockets();
    const port = await findStablePort();
    await sockets.hold([{ host: '127.0.0.1', port }]);
    start(sockets, port);
    const listed = await ask(port, '/child');
    expect(listed).toContain('/proc/');
    // its standard streams are sockets to its parent
    expect(listed).not.toMatch(/ [3-9] -> socket:/);
    sockets.release(port);
  });

  it('reports the ports that another program has', async () => {
    const other = createServer();
    const port = await findStablePort();
    await new Promise<void>((resolve) => other.listen({ host: '127.0.0.1', port }, resolve));
    const sockets = new HeldSockets();
    const free = await findStablePort((candidate) => candidate !== port);
    const failed = await sockets.hold([port, free].map((one) => ({ host: '127.0.0.1', port: one })));
    expect([...failed]).toEqual([[port, 'EADDRINUSE']]);
    expect(sockets.ports).toEqual([free]);
    other.close();
    sockets.release(free);
  });
});
