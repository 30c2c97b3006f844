import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { Client } from '@langchain/langgraph-sdk';
import { WebSocket } from 'ws';
import { testPostgres, waitFor } from '#lib/testing';
import { GUARDED_AGENT, ServerProcess } from '../testdata/start-server.js';
import { prepareDatabase } from '../testdata/store-fixture.js';

const postgres = testPostgres();
let server: ServerProcess;
let guarded: ServerProcess;

beforeAll(async () => {
  const [{ uri }, { uri: guardedUri }] = [
    await postgres.freshDatabase(prepareDatabase),
    await postgres.freshDatabase(prepareDatabase),
  ];
  [server, guarded] = await Promise.all([
    ServerProcess.start({ uri }),
    ServerProcess.start({
      uri: guardedUri,
      folder: GUARDED_AGENT,
      env: { CORS_ALLOW_ORIGINS: 'https://good.example' },
    }),
  ]);
});

afterAll(() => Promise.all([server?.stop('SIGKILL'), guarded?.stop('SIGKILL')]));

interface Message {
  readonly type: string;
  readonly id?: number | null;
  readonly seq?: number;
  readonly method?: string;
  readonly error?: string;
  readonly message?: string;
  readonly result?: Record<string, unknown>;
  readonly params?: { readonly namespace: readonly string[]; readonly data: Record<string, unknown> };
}

interface Opening {
  readonly at?: ServerProcess;
  readonly headers?: Record<string, string>;
  readonly protocols?: readonly string[];
}

/** One raw connection, with everything that it was sent. */
class Connection {
  readonly heard: Message[] = [];
  #id = 0;

  constructor(readonly socket: WebSocket) {
    socket.on('message', (data: Buffer) => this.heard.push(JSON.parse(data.toString()) as Message));
    socket.on('error', () => undefined);
  }

  static at(threadId: string, { at = server, headers = {}, protocols = [] }: Opening = {}): WebSocket {
    const url = `ws://127.0.0.1:${at.port}/threads/${threadId}/stream/events`;
    return new WebSocket(url, [...protocols], { headers });
  }

  static async open(threadId: string, opening: Opening = {}): Promise<Connection> {
    const connection = new Connection(Connection.at(threadId, opening));
    await once(connection.socket, 'open');
    return connection;
  }

  async give(method: string, params?: unknown): Promise<Message> {
    const id = this.#id++;
    this.socket.send(JSON.stringify({ id, method, params }));
    return waitFor(() => this.heard.find((message) => message.id === id));
  }

  until(isLast: (message: Message) => boolean): Promise<Message> {
    return waitFor(() => this.heard.find(isLast));
  }

  get events(): Message[] {
    return this.heard.filter(({ type }) => type === 'event');
  }

  async closed(): Promise<[number, string]> {
    const [code, reason] = (await once(this.socket, 'close')) as [number, Buffer];
    return [code, reason.toString()];
  }
}

function ended({ method, params }: Message): boolean {
  return (
    method === 'lifecycle' &&
    params?.namespace.length === 0 &&
    ['completed', 'failed', 'interrupted'].includes(String(params.data['event']))
  );
}

/** The status and words with which a connection is refused. */
async function refusal(threadId: string, opening: Opening): Promise<[number, string]> {
  const socket = Connection.at(threadId, opening);
  socket.on('error', () => undefined);
  const [, response] = (await once(socket, 'unexpected-response')) as [
    unknown,
    NodeJS.ReadableStream & { statusCode: number },
  ];
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return [response.statusCode, (JSON.parse(text) as { detail: string }).detail];
}

describe('the thread stream of the client over a WebSocket', () => {
  it('stops for a question, goes on with the answer, and reads the state and the tree', async () => {
    const thread = server
      .client()
      .threads.stream(randomUUID(), { assistantId: 'asking', transport: 'websocket' });
    await thread.run.start({ input: { steps: [] } });
    await thread.output;
    expect(thread.interrupts.map(({ payload }) => payload)).toEqual(['what now?']);
    expect(await thread.agent.getTree()).toMatchObject({
      tree: { status: 'interrupted', graph_name: 'asking' },
    });
    const lifecycle = await thread.subscribe({ channels: ['lifecycle'] });
    const [asked] = thread.interrupts;
    if (!asked) throw new Error('nothing was asked');
    const { interruptId, namespace } = asked;
    await thread.input.respond({ interrupt_id: interruptId, namespace: [...namespace], response: 'on' });
    for await (const { params } of lifecycle)
      if ((params.data as { event?: string }).event === 'completed') break;
    expect(await thread.state.get({ namespace: [], keys: ['steps'] })).toMatchObject({
      values: { steps: ['answer on'] },
    });
    await thread.close();
  });

  it('goes on by itself after the connection broke, with nothing missing or twice', async () => {
    const sockets: globalThis.WebSocket[] = [];
    const webSocketFactory = (url: string): globalThis.WebSocket => {
      const socket = new globalThis.WebSocket(url);
      sockets.push(socket);
      return socket;
    };
    const thread = server.client().threads.stream(randomUUID(), {
      assistantId: 'ticking',
      transport: 'websocket' as const,
      webSocketFactory,
      reconnectDelayMs: () => 1,
    });
    const custom = await thread.subscribe({ channels: ['custom', 'lifecycle'] });
    await thread.run.start({ input: { count: 10, waitMs: 40 } });
    const ticks: unknown[] = [];
    for await (const event of custom) {
      const data = event.params.data as { event?: string; payload?: { tick?: number } };
      if (event.method === 'custom') ticks.push(data.payload?.tick);
      if (ticks.length === 3) sockets[0]?.close();
      if (event.params.namespace.length === 0 && data.event === 'completed') break;
    }
    expect(ticks).toEqual(Array.from({ length: 10 }, (_none, tick) => tick));
    expect(sockets.length).toBeGreaterThan(1);
    await thread.close();
  });
});

describe('a subscription', () => {
  it('shows what is kept, in order, whatever others of its connection have shown', async () => {
    const connection = await Connection.open(randomUUID());
    await connection.give('subscription.subscribe', { channels: ['lifecycle'] });
    await connection.give('run.start', { assistant_id: 'nested', input: { steps: [] } });
    await connection.until(ended);
    const seen = connection.events.length;
    const { result } = await connection.give('subscription.subscribe', { channels: ['values', 'lifecycle'] });
    await waitFor(() => connection.events.slice(seen).some(ended));
    const again = connection.events.slice(seen);
    expect(again.map(({ seq }) => seq)).toEqual(
      [...again.map(({ seq }) => seq)].sort((a, b) => Number(a) - Number(b)),
    );
    expect(again.some(({ method }) => method === 'values')).toBe(true);
    // one event for both from then on
    await connection.give('run.start', { assistant_id: 'nested', input: { steps: [] } });
    await waitFor(() => connection.events.slice(seen).filter(ended).length === 2);
    const numbers = connection.events.slice(seen).map(({ seq }) => seq);
    expect(new Set(numbers).size).toBe(numbers.length);
    const end = { subscription_id: result?.['subscription_id'] };
    expect(await connection.give('subscription.unsubscribe', end)).toMatchObject({ type: 'success' });
    expect(await connection.give('subscription.unsubscribe', end)).toMatchObject({
      error: 'no_such_subscription',
    });
    connection.socket.close();
  });

  it('has 200 companions on its connection at most', async () => {
    const connection = await Connection.open(randomUUID());
    const answers = await Promise.all(
      Array.from({ length: 201 }, () => connection.give('subscription.subscribe', { channels: ['input'] })),
    );
    expect(answers.filter(({ type }) => type === 'success')).toHaveLength(200);
    expect(answers.at(-1)?.message).toContain('200 subscriptions');
    connection.socket.close();
  });

  it('has 2 MiB for the filters of all its companions and itself', async () => {
    const connection = await Connection.open(randomUUID());
    const namespaces = Array.from({ length: 1_000 }, (_, n) => [`${n}`, 'a', 'b', 'c']);
    const answers = await Promise.all(
      Array.from({ length: 3 }, () =>
        connection.give('subscription.subscribe', { channels: ['input'], namespaces }),
      ),
    );
    expect(answers.map(({ type }) => type)).toEqual(['success', 'success', 'error']);
    expect(answers[2]).toMatchObject({
      error: 'invalid_argument',
      message: expect.stringContaining('2097152'),
    });
    connection.socket.close();
  });
});

describe('a thread commanded over a WebSocket', () => {
  const refused: [string, unknown, string][] = [
    ['run.start', {}, 'invalid_argument'],
    ['run.start', { assistant_id: 'nobody' }, 'invalid_argument'],
    ['input.respond', { interrupt_id: 'x', response: 1 }, 'no_such_run'],
    ['agent.getTree', {}, 'no_such_run'],
    ['agent.getTree', { run_id: randomUUID() }, 'no_such_run'],
    ['run.stop', {}, 'unknown_command'],
    ['subscription.subscribe', { channels: ['nothing'] }, 'invalid_argument'],
    ['subscription.unsubscribe', { subscription_id: 'x' }, 'no_such_subscription'],
  ];
  it.each(refused)('refuses %s %j in the words of the protocol', async (method, params, code) => {
    const connection = await Connection.open(randomUUID());
    expect(await connection.give(method, params)).toMatchObject({ type: 'error', error: code });
    connection.socket.close();
  });

  it('shows the tree of a run with its subgraphs', async () => {
    const connection = await Connection.open(randomUUID());
    await connection.give('subscription.subscribe', { channels: ['lifecycle'] });
    await connection.give('run.start', { assistant_id: 'nested', input: { steps: [] } });
    await connection.until(ended);
    const { result } = await connection.give('agent.getTree', {});
    expect(result).toMatchObject({
      tree: { namespace: [], status: 'completed', graph_name: 'nested', children: [{ status: 'completed' }] },
    });
    connection.socket.close();
  });

  it('answers what cannot be read and goes on', async () => {
    const connection = await Connection.open(randomUUID());
    connection.socket.send('{');
    connection.socket.send(JSON.stringify({ id: 3 }));
    connection.socket.send(`{"id":4,"method":"state.get","method":"run.start"}`);
    expect((await connection.until(({ id }) => id === 3)).error).toBe('invalid_argument');
    await waitFor(() => connection.heard.filter(({ id }) => id === null).length === 2);
    expect(await connection.give('subscription.reconnect', {})).toMatchObject({
      result: { restored: false },
    });
    connection.socket.close();
  });
});

describe('a connection', () => {
  it('ends with words for binary messages and for messages above 16 MiB', async () => {
    const [binary, large] = [await Connection.open(randomUUID()), await Connection.open(randomUUID())];
    binary.socket.send(Buffer.from('{}'));
    expect(await binary.closed()).toEqual([1003, expect.stringContaining('text')]);
    large.socket.send('x'.repeat(16 * 1024 * 1024 + 1));
    expect((await large.closed())[0]).toBe(1009);
  });

  it('needs an upgrade, and says so without one', async () => {
    const response = await fetch(`${server.url}/threads/${randomUUID()}/stream/events`);
    expect([response.status, await response.json()]).toEqual([
      426,
      { detail: expect.stringContaining('WebSocket') },
    ]);
  });

  it('answers a subscription by POST that asks for an upgrade as one without', async () => {
    const subscription = JSON.stringify({ channels: ['lifecycle'] });
    const socket = connect(server.port, '127.0.0.1');
    let heard = '';
    socket.on('data', (bytes) => (heard += bytes.toString()));
    socket.write(
      `POST /threads/${randomUUID()}/stream/events HTTP/1.1\r\nhost: test\r\nconnection: upgrade\r\nupgrade: websocket\r\n` +
        `content-type: application/json\r\ncontent-length: ${subscription.length}\r\nexpect: 100-continue\r\n\r\n`,
    );
    await waitFor(() => heard.startsWith('HTTP/1.1 100 '));
    socket.write(subscription);
    await waitFor(() => heard.includes('HTTP/1.1 200 '));
    socket.destroy();
  });

  it('holds one event for a client that does not read, which has them all once it reads', async () => {
    const threadId = randomUUID();
    const [idle, other] = [await Connection.open(threadId), await Connection.open(threadId)];
    const channels = ['values', 'updates', 'tasks', 'lifecycle'];
    await idle.give('subscription.subscribe', { channels });
    await other.give('subscription.subscribe', { channels: ['lifecycle'] });
    idle.socket.pause();
    const input = { steps: ['x'.repeat(2_000_000)], waitMs: 1 };
    await other.give('run.start', { assistant_id: 'slow', input });
    await other.until(ended);
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    const unsent = Number(/^agentplane_agent_unsent_bytes (\d+)$/m.exec(metrics)?.[1]);
    expect(unsent).toBeGreaterThan(0);
    expect(unsent).toBeLessThan(5_000_000);
    idle.socket.resume();
    await idle.until(ended);
    expect(JSON.stringify(idle.events).length).toBeGreaterThan(8_000_000);
    for (const { socket } of [idle, other]) socket.close();
  });
});

describe('a server with handlers of the agent', () => {
  const bearer = (name: string): Opening => ({ at: guarded, headers: { authorization: `Bearer ${name}` } });

  it('takes credentials by header, or by subprotocol beside the one of the server', async () => {
    expect(await refusal(randomUUID(), { at: guarded })).toEqual([401, 'Show a token']);
    expect(await refusal(randomUUID(), { at: guarded, protocols: ['bearer.alice'] })).toEqual([
      400,
      expect.stringContaining('agentplane'),
    ]);
    for (const opening of [bearer('alice'), { at: guarded, protocols: ['agentplane', 'bearer.alice'] }]) {
      const connection = await Connection.open(randomUUID(), opening);
      expect(connection.socket.protocol).toBe(opening.protocols ? 'agentplane' : '');
      connection.socket.close();
    }
  });

  it('shows nothing of the threads of others', async () => {
    const threadId = randomUUID();
    const alice = await Connection.open(threadId, bearer('alice'));
    await alice.give('subscription.subscribe', { channels: ['lifecycle', 'values'] });
    const bob = await Connection.open(threadId, bearer('bob'));
    await bob.give('subscription.subscribe', { channels: ['lifecycle', 'values'] });
    await alice.give('run.start', { assistant_id: 'who', input: {} });
    await alice.until(ended);
    for (const [method, params] of [
      ['run.start', { assistant_id: 'who', input: {} }],
      ['state.get', {}],
      ['agent.getTree', {}],
      ['input.respond', { interrupt_id: 'x' }],
    ] as const)
      expect((await bob.give(method, params)).type).toBe('error');
    expect(bob.events).toEqual([]);
    for (const { socket } of [alice, bob]) socket.close();
  });

  it('refuses pages of origins that may not read answers', async () => {
    const headers = { authorization: 'Bearer alice' };
    for (const origin of ['https://evil.example', 'null'])
      expect(await refusal(randomUUID(), { at: guarded, headers: { ...headers, origin } })).toEqual([
        403,
        expect.stringContaining('CORS_ALLOW_ORIGINS'),
      ]);
    for (const origin of ['https://good.example', `http://127.0.0.1:${guarded.port}`]) {
      const connection = await Connection.open(randomUUID(), {
        at: guarded,
        headers: { ...headers, origin },
      });
      connection.socket.close();
    }
  });

  it('ignores cookies that a browser sends for a page of another origin', async () => {
    const cookie = 'session=alice';
    const own = await Connection.open(randomUUID(), {
      at: guarded,
      headers: { cookie, origin: `http://127.0.0.1:${guarded.port}` },
    });
    own.socket.close();
    const foreign = { at: guarded, headers: { cookie, origin: 'https://good.example' } };
    expect(await refusal(randomUUID(), foreign)).toEqual([401, 'Show a token']);
  });
});

describe('a server that stops', () => {
  it('closes its connections with the code for a restart', async () => {
    const { uri } = await postgres.freshDatabase(prepareDatabase);
    const stopping = await ServerProcess.start({ uri });
    const client = new Client({ apiUrl: stopping.url, apiKey: null });
    const { thread_id: threadId } = await client.threads.create();
    const connection = await Connection.open(threadId, { at: stopping });
    const closed = connection.closed();
    await stopping.stop();
    expect(await closed).toEqual([1012, expect.stringContaining('connect again')]);
  });
});
