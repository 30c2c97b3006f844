import { Agent, request } from 'node:https';
import { waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { testListener } from '../testdata/test-listener.js';
import { json } from './request-context.js';

const WORK_MS = 20;
const MANY = 100;
const AGENT = new Agent({ keepAlive: true, rejectUnauthorized: false });

let holding = true;
const held: { readonly user: string; readonly release: () => void }[] = [];

const port = testListener({
  authenticate: async ({ headers }) => ({
    username: String(headers['x-user']),
    groups: headers['x-user'] === 'platform' ? ['system:masters'] : [],
  }),
  handler: async ({ info, readBody, user }) => {
    if (info.path === '/held') {
      const { length } = await readBody();
      if (holding) await new Promise<void>((release) => held.push({ user: user.username, release }));
      return json({ length });
    }
    const startMs = systemClock.monotonicMs();
    while (info.path === '/work' && systemClock.monotonicMs() - startMs < WORK_MS);
    return json({ ok: true });
  },
});

afterAll(async () => {
  AGENT.destroy();
});

/** Lets requests to `/held` go, now and from now on, once each of these users has one whose body was read. */
async function releaseOnceHeld(...users: readonly string[]): Promise<void> {
  await waitFor(() => users.every((user) => held.some((request) => request.user === user)));
  holding = false;
  for (const { release } of held.splice(0)) release();
}

interface Answer {
  readonly status: number;
  readonly retryAfter: string | undefined;
}

function ask(user: string, path: string, body?: Buffer): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = request(
      {
        host: '127.0.0.1',
        port: port(),
        path,
        agent: AGENT,
        method: body ? 'POST' : 'GET',
        headers: { 'x-user': user },
      },
      (response) =>
        response.resume().on('end', () => {
          const { statusCode: status = 0, headers } = response;
          resolve({ status, retryAfter: headers['retry-after'] });
        }),
    );
    call.on('error', reject).end(body);
  });
}

describe('the API server, busy with the requests of one user', () => {
  it('serves another user and the platform in between', async () => {
    // connections first: handshakes are no part of what is measured
    await Promise.all(Array.from({ length: MANY + 2 }, () => ask('greedy', '/')));
    let served = 0;
    const greedy = Array.from({ length: MANY }, () =>
      ask('greedy', '/work').then(({ status }) => (served++, status)),
    );
    // at once: clients and server share one event loop here, which is blocked while the server works
    const others = await Promise.all([ask('modest', '/work'), ask('platform', '/work')]);
    expect(served).toBeLessThan(MANY / 3);
    expect(others.map(({ status }) => status)).toEqual([200, 200]);
    expect(new Set(await Promise.all(greedy))).toEqual(new Set([200]));
  });

  it('refuses bodies of a user who fills half of the memory for them, and none of others', async () => {
    const body = Buffer.alloc(3_000_000);
    const greedy = Array.from({ length: 15 }, () => ask('greedy', '/held', body));
    const refused = await Promise.race(greedy);
    expect(refused).toMatchObject({ status: 429, retryAfter: '1' });
    const others = [ask('modest', '/held', body), ask('platform', '/held', body)];
    await releaseOnceHeld('greedy', 'modest', 'platform');
    const statuses = (await Promise.all(greedy)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(5);
    expect((await Promise.all(others)).map(({ status }) => status)).toEqual([200, 200]);
    // what was held is given back
    holding = true;
    const again = ask('greedy', '/held', body);
    await releaseOnceHeld('greedy');
    expect((await again).status).toBe(200);
  });
});
