import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Probe } from '#lib/resources';
import { quietFor } from '#lib/testing';
import { nodeUser } from '../user/pod-user.js';
import { check, type CheckResult } from './check.js';

/** Timeouts of a probe with `timeoutSeconds: 4294968`, and of one that is still a number of 32 bits. */
const TIMEOUTS = [4_294_968_000, 3_000_000_000];

describe('a probe with a timeout that no timer holds', () => {
  const server = createServer(({ url, socket }, response) => {
    if (url === '/interim') socket.write('HTTP/1.1 103 \r\n\r\n'.repeat(5_000));
    else void quietFor(100).then(() => response.end());
  });
  const port = (): number => (server.address() as AddressInfo).port;
  beforeAll(() => once(server.listen(0, '127.0.0.1'), 'listening'));
  afterAll(() => void server.close());

  function look(probe: Probe, timeoutMs: number): Promise<CheckResult> {
    const launch = {
      command: 'true',
      args: [],
      folder: tmpdir(),
      isFolderNamed: false,
      noNewPrivileges: false,
      environment: { PATH: process.env.PATH ?? '' },
      user: nodeUser(),
      sockets: [],
    };
    const tools = { setpriv: undefined, env: undefined };
    return check(probe, { container: { name: 'main' }, ports: {}, launch, tools }, timeoutMs);
  }

  it.each(TIMEOUTS)('says of a command that it does not exist (%d ms)', async (timeoutMs) => {
    expect(await look({ exec: { command: ['/does/not/exist'] } }, timeoutMs)).toMatch(/ENOENT/);
  });

  it.each(TIMEOUTS)('waits for the command (%d ms)', async (timeoutMs) => {
    expect(await look({ exec: { command: ['sh', '-c', 'sleep 0.1'] } }, timeoutMs)).toBeUndefined();
  });

  it.each(TIMEOUTS)('waits for the answer and the connection (%d ms)', async (timeoutMs) => {
    expect(await look({ httpGet: { port: port() } }, timeoutMs)).toBeUndefined();
    expect(await look({ tcpSocket: { port: port() } }, timeoutMs)).toBeUndefined();
  });

  it.each(TIMEOUTS)('fails where interim answers never end (%d ms)', async (timeoutMs) => {
    expect(await look({ httpGet: { port: port(), path: '/interim' } }, timeoutMs)).toMatch(/interim answers/);
  });

  it('starts no command before its turn, nor once its container has ended', async () => {
    const probe = { exec: { command: ['sleep', '0.1'] } };
    const first = look(probe, 10_000);
    const left = new AbortController();
    const target = { container: { name: 'main' }, ports: {}, launch: { user: nodeUser() } } as never;
    const stopped = check(probe, target, 10_000, left.signal);
    left.abort(new Error('stopped'));
    await expect(stopped).rejects.toThrow('stopped');
    expect(await first).toBeUndefined();
  });

  it('bears a command that may not be signalled', async () => {
    const kill = jest.spyOn(process, 'kill').mockImplementation(() => {
      throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' });
    });
    try {
      expect(await look({ exec: { command: ['sleep', '0.1'] } }, 20)).toBeUndefined();
    } finally {
      kill.mockRestore();
    }
  });

  it('ends a command and a request after their time', async () => {
    expect(await look({ exec: { command: ['sleep', '1000'] } }, 20)).toMatch(/a signal/);
    expect(await look({ httpGet: { port: port() } }, 20)).toMatch(/abort/);
  });
});
