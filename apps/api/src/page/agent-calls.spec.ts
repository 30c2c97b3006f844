import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AgentDeployment } from '#lib/resources';
import { systemClock } from '#lib/time';
import { AgentCalls } from './agent-calls.js';
import type { PageReader } from './page-readers.js';

const deployment = {
  metadata: { name: 'desk', namespace: 'ws-one' },
  spec: { source: 'internal_image' },
} as AgentDeployment;

const reader: Pick<PageReader, 'agentToken' | 'caller'> = {
  agentToken: (agent) => `token for ${agent}`,
  caller: { tenantId: 'one', keyId: 'key', scope: 'workspace' },
};

/** Calls of a server that is no agent: what agents of users may do to the api. */
describe('calls of agents', () => {
  let answer: (request: IncomingMessage, response: ServerResponse) => void;
  const server = createServer((request, response) => answer(request, response));
  beforeAll(() => once(server.listen(0, '127.0.0.1'), 'listening'));
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  const callsOf = (allowPrivate = true, kind: 'deployment' | 'elsewhere' = 'deployment'): AgentCalls => {
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const shown = { ...deployment, status: { url: address } };
    const target = kind === 'deployment' ? { kind, deployment, address } : { kind, deployment: shown };
    return new AgentCalls({ routes: { targetOf: () => target }, clock: systemClock, allowPrivate });
  };
  const threads = (calls: AgentCalls, shown = deployment) =>
    calls.threadsOf(shown, reader as PageReader, () => undefined);

  it('shows an agent the token that is for it, and reads what it answers', async () => {
    let shown: unknown;
    answer = ({ headers, url }, response) => {
      shown = [url, headers['x-api-key'], headers['x-auth-scheme']];
      response.setHeader('content-type', 'application/json').end('[]');
    };
    expect(await threads(callsOf())).toEqual({ kind: 'threads', threads: [] });
    expect(shown).toEqual(['/threads/search', 'token for desk', 'langsmith']);
  });

  it.each<[string, (response: ServerResponse) => void, RegExp]>([
    ['refuses', (response) => response.writeHead(403).end('{"detail":"not you"}'), /answered 403: not you$/],
    ['answers no words', (response) => response.writeHead(500).end('<b>'), /answered 500$/],
    ['answers no JSON', (response) => response.end('<b>'), /^Calling the agent desk failed/],
    [
      'answers too much',
      (response) => response.end(`["${'x'.repeat(9_000_000)}"]`),
      /larger than 8388608 bytes/,
    ],
    ['hangs up', (response) => response.destroy(), /^Calling the agent desk failed/],
    ['leads elsewhere', (response) => response.writeHead(302, { location: '/x' }).end(), /answered 302/],
  ])('reports an agent that %s', async (_what, write, problem) => {
    answer = (_request, response) => write(response);
    expect(await threads(callsOf())).toEqual({
      kind: 'unreachable',
      problem: expect.stringMatching(problem) as unknown,
    });
  });

  it('calls no private address for an agent of another cluster, unless these are allowed', async () => {
    answer = (_request, response) => response.end('[]');
    const shown = {
      ...deployment,
      status: { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
    };
    expect(await threads(callsOf(false, 'elsewhere'), shown)).toMatchObject({
      problem: expect.stringContaining('may not be called') as unknown,
    });
    expect(await threads(callsOf(true, 'elsewhere'), shown)).toMatchObject({ kind: 'threads' });
  });

  it('ends calls under way, and all later ones, when the api stops', async () => {
    const asked = Promise.withResolvers<void>();
    answer = () => asked.resolve();
    const calls = callsOf();
    const waiting = threads(calls);
    await asked.promise;
    calls.onModuleDestroy();
    const ended = { kind: 'unreachable', problem: expect.stringContaining('this server stops') as unknown };
    expect(await waiting).toEqual(ended);
    expect(await threads(calls)).toEqual(ended);
  });
});
