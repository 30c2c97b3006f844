import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { RestClient } from '#lib/rest-client';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { waitFor } from '#lib/testing';
import { KubeClient } from '#lib/kube';
import { printOnce } from '../screen/print-once.js';
import { KubeWorld } from './kube-world.js';
import { RestItems } from './rest-items.js';

/** A REST interface with keys that a test changes. */
describe('RestItems', () => {
  let server: Server;
  let url: string;
  let answer: { status: number; body: unknown } = { status: 200, body: [] };
  const seen: (string | undefined)[] = [];

  beforeAll(async () => {
    server = createServer((request, response) => {
      seen.push(request.headers['x-api-key']?.toString());
      response.writeHead(answer.status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(answer.body));
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => server.close());

  const key = (id: string): object => ({
    id,
    description: `key ${id}`,
    scope: 'read',
    created_at: '2026-05-01T00:00:00Z',
    expires_at: null,
  });

  it('reads a list once rows are asked for, again while they are shown, and reports what fails', async () => {
    answer = { status: 200, body: [key('a'), key('b')] };
    const items = new RestItems(new RestClient({ url, key: 'secret' }), 'keys', () => undefined, systemClock);
    expect(items.hasSynced).toBe(false);
    const kinds: string[] = [];
    items.on(({ kind, object }) => kinds.push(`${kind} ${object.metadata.name}`));
    await waitFor(() => items.hasSynced, { timeoutMs: 5_000, what: 'the first list' });
    expect(kinds).toEqual(['added a', 'added b']);
    expect(seen).toContain('secret');
    answer = { status: 200, body: [key('b')] };
    await waitFor(() => kinds.includes('deleted a'), { what: 'the second list' });
    answer = { status: 403, body: { detail: 'this key may not list keys' } };
    await waitFor(() => items.problem !== undefined, { what: 'the refusal' });
    expect(items.problem).toMatch(/^this key may not list keys \(GET \/api\/v1\/api-key.* at http/);
    expect(items.list()).toHaveLength(1);
    await items.stop();
  });

  it('appears among printed views, and so does its trouble', async () => {
    answer = { status: 200, body: [key('a')] };
    const client = new KubeClient({
      server: 'https://127.0.0.1:1',
      namespace: 'x',
      auth: { authorization: () => Promise.resolve(undefined) },
    });
    const rest = new RestClient({ url, key: 'secret' });
    const world = new KubeWorld({
      client,
      rest: (name, changed) => new RestItems(rest, name, changed, systemClock),
      clock: systemClock,
      log: createLogger('test', 'silent'),
    });
    expect(await printOnce(world, 'x', systemClock, ['keys'])).toMatch(
      /^KEYS 1\nNAME .*\nkey a +InForce +a +read/,
    );
    answer = { status: 500, body: { detail: 'database unavailable; retry' } };
    expect(await printOnce(world, 'x', systemClock, ['traces'])).toMatch(
      /^database unavailable; retry \(POST \/runs\/query at .*\)\n\nTRACES: none/,
    );
    await world.stop();
    await client.close();
  });
});
