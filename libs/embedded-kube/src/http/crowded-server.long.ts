import type { ClientRequest, IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { SERVER_LIMITS } from '#lib/http';
import { waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { testListener } from '../testdata/test-listener.js';
import { json } from './request-context.js';

const MOST = 300;
/** Limit per user. */
const SHARE = 30;
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  platform: ['system:masters'],
  'system:node:a': ['system:nodes'],
};

let isOver = false;
/** Time that passes for the server alone. */
let skippedMs = 0;
/** Requests whose bodies are waited for. */
let receiving = 0;
const open = new Set<Socket>();

const port = testListener({
  authenticate: async ({ headers }) => {
    const username = String(headers['x-user'] ?? 'test');
    return { username, groups: GROUPS[username] ?? [] };
  },
  handler: async ({ info, readBody }) => {
    if (info.path === '/stream')
      return {
        kind: 'stream',
        code: 200,
        contentType: 'text/plain',
        start: (stream) => void stream.write('begun'),
      };
    receiving++;
    await readBody().finally(() => receiving--);
    return json({ ok: true });
  },
  clock: { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + skippedMs },
  // a connection that does not end its handshake is not cut for that
  limits: { ...SERVER_LIMITS, headersMs: 600_000 },
  maxConnections: MOST,
});

beforeEach(() => (isOver = false));

afterEach(() => {
  isOver = true;
  for (const socket of open) socket.destroy();
});

/** Asks as a client that has no connection yet. */
function ask(): Promise<void> {
  return new Promise((resolve, reject) => {
    const call = request(
      { host: '127.0.0.1', port: port(), path: '/', agent: new Agent(), rejectUnauthorized: false },
      (response) => response.resume().on('end', resolve),
    );
    call.on('error', reject);
    call.end();
  });
}

/** Opens as many as may be, each again a while after it ended where that costs this process little; they grow old. */
async function crowd(dial: () => Socket, isReopened = true): Promise<void> {
  let begun = 0;
  const keep = (): void => {
    const socket = dial();
    open.add(socket);
    // handshakes of so many take this process seconds on a busy machine, and are not what is measured
    socket.once('encrypted' in socket ? 'secureConnect' : 'connect', () => begun++);
    socket
      .on('error', () => undefined)
      .on('close', () => {
        open.delete(socket);
        if (!isOver && isReopened) systemClock.after(10, () => void (isOver || keep()));
      })
      .resume();
  };
  for (let index = 0; index < MOST; index++) keep();
  await waitFor(() => begun >= MOST, { what: 'all connections to be taken' });
  skippedMs += 1_500;
}

describe('the API server, whose connections are all taken', () => {
  it.each([
    ['begin no handshake', () => connect(port(), '127.0.0.1')],
    [
      'end a handshake and send nothing',
      () => connectTls({ port: port(), host: '127.0.0.1', rejectUnauthorized: false }),
    ],
    [
      'asked for something a second ago',
      () => {
        const socket = connectTls({ port: port(), host: '127.0.0.1', rejectUnauthorized: false });
        return socket.once('secureConnect', () => socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'));
      },
    ],
  ])('answers new clients while those that hold them %s', async (title, dial) => {
    await crowd(dial, title === 'begin no handshake');
    for (let index = 0; index < 10; index++) await ask();
  });

  it('keeps a watch while others open connections and send nothing', async () => {
    const watch = connectTls({ port: port(), host: '127.0.0.1', rejectUnauthorized: false });
    let text = '';
    watch
      .on('error', () => undefined)
      .setEncoding('utf8')
      .on('data', (part: string) => (text += part));
    watch.write('GET /stream HTTP/1.1\r\nhost: x\r\n\r\n');
    await waitFor(() => text.includes('begun'));
    await crowd(() => connect(port(), '127.0.0.1'));
    await ask();
    expect(watch.destroyed).toBe(false);
    watch.destroy();
  });

  it('refuses a user who watches with a tenth of them, and no other user', async () => {
    const statuses: number[] = [];
    for (let index = 0; index < SHARE; index++) statuses.push(await statusFor('greedy'));
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect([await statusFor('greedy'), await statusFor('modest'), await statusFor('platform')]).toEqual([
      429, 200, 200,
    ]);
    for (const socket of open) socket.destroy();
    await waitFor(async () => (await statusFor('greedy')) === 200);
  });

  it('answers a node and other users while three users send bodies that do not end', async () => {
    let refused = 0;
    for (const user of ['a', 'b', 'c'])
      for (let index = 0; index < MOST / 4; index++)
        begin('POST', '/', user, () => refused++)
          .setHeader('content-length', 1_000)
          .write('{');
    const all = (MOST / 4) * 3;
    await waitFor(() => receiving + refused === all, { what: 'all requests to begin' });
    expect([await statusFor('system:node:a'), await statusFor('d'), await statusFor('a')]).toEqual([
      200, 200, 200,
    ]);
    expect(receiving).toBe((SHARE / 2) * 3);
  });
});

/** A request of its own connection, which stays open until the test has ended. */
function begin(
  method: string,
  path: string,
  user: string,
  answered: (response: IncomingMessage) => void,
): ClientRequest {
  const call = request(
    {
      host: '127.0.0.1',
      port: port(),
      method,
      path,
      agent: false,
      rejectUnauthorized: false,
      headers: { 'x-user': user },
    },
    (response) => {
      response.on('error', () => undefined).resume();
      answered(response);
    },
  );
  call.on('socket', (socket) => open.add(socket)).on('error', () => undefined);
  return call;
}

/** Status of the response to a user's watch. */
function statusFor(user: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const call = begin('GET', '/stream', user, ({ statusCode }) => resolve(statusCode ?? 0));
    call.on('error', reject).end();
  });
}
