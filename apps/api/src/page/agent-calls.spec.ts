import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
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
    const shown: unknown[] = [];
    answer = ({ headers, url }, response) => {
      shown.push([url, headers['x-api-key'], headers['x-auth-scheme']]);
      response.setHeader('content-type', 'application/json').end('[]');
    };
    expect(await threads(callsOf())).toEqual({ kind: 'threads', threads: [], assistants: [] });
    expect(shown).toEqual([
      ['/threads/search', 'token for desk', 'langsmith'],
      ['/assistants/search', 'token for desk', 'langsmith'],
    ]);
  });

  it('shows threads of an agent that has switched its assistants off', async () => {
    answer = ({ url = '' }, response) => {
      if (url.startsWith('/assistants')) response.writeHead(404).end('{"detail":"off"}');
      else response.setHeader('content-type', 'application/json').end('[]');
    };
    expect(await threads(callsOf())).toEqual({ kind: 'threads', threads: [], assistants: [] });
  });

  it('begins a thread with the assistant that a person chose, and talks with that one', async () => {
    const sent: Record<string, unknown> = {};
    const answers: Record<string, unknown> = {
      '/assistants/b': { assistant_id: 'b', graph_id: 'second' },
      '/threads': { thread_id: 't' },
      '/threads/t': { metadata: { assistant_id: 'b' } },
      '/threads/t/state': { tasks: [] },
    };
    answer = (request, response) => {
      const { url = '' } = request;
      void text(request).then((body) => {
        sent[url] = body === '' ? undefined : JSON.parse(body);
        const isStream = url.endsWith('/stream');
        response.setHeader('content-type', isStream ? 'text/event-stream' : 'application/json');
        response.end(isStream ? '' : JSON.stringify(answers[url]));
      });
    };
    const calls = callsOf();
    expect(await calls.begin(deployment, reader as PageReader, 'b')).toBe('t');
    expect(sent['/threads']).toMatchObject({ metadata: { assistant_id: 'b', graph_id: 'second' } });
    const { signal } = new AbortController();
    await calls.talk(deployment, 't', reader as PageReader, (conversation) =>
      conversation.say({ text: 'hi' }, () => undefined, signal),
    );
    expect(sent['/threads/t/runs/stream']).toMatchObject({ assistant_id: 'b' });
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
    [
      'answers more values than a page may have',
      (response) => response.end(`[${'[],'.repeat(300_000)}[]]`),
      /more than 200000 items and members/,
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

  it('ends a talk whose agent sends an event that is larger than a page can show', async () => {
    answer = ({ url = '' }, response) => {
      if (!url.endsWith('/stream')) return void response.end('[{"assistant_id":"a"}]');
      response.setHeader('content-type', 'text/event-stream');
      for (let at = 0; at < 200; at++) response.write(`data: ${'x'.repeat(65_536)}\n`);
      response.end();
    };
    const { signal } = new AbortController();
    const talk = callsOf().talk(deployment, 'thread', reader as PageReader, (conversation) =>
      conversation.say({ text: 'hi' }, () => undefined, signal),
    );
    await expect(talk).rejects.toThrow('an event of the answer is larger than 2097152 bytes');
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
