import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client } from '@langchain/langgraph-sdk';
import { FakeClock, waitFor } from '#lib/testing';
import { RunFeed } from '../run/run-feed.js';
import type { Cut } from '#lib/http';
import { EventStream, type StreamParts } from './event-stream.js';
import { UnsentOutput } from './unsent-output.js';
import { WaitingReply } from './waiting-reply.js';

/** Larger than what a socket takes before its peer reads. */
const MEGABYTES_10 = 'x'.repeat(10_000_000);

const MIB = 1024 * 1024;
const PATIENCE = { timeoutMs: 30_000 };

let server: Server;
let clock: FakeClock;
let unsent: UnsentOutput;
let cuts: Cut[];

beforeEach(async () => {
  clock = new FakeClock();
  cuts = [];
  unsent = new UnsentOutput({
    clock,
    limits: { softBytes: 128 * MIB, hardBytes: 256 * MIB, lookMs: 500 },
    onCut: (cut) => cuts.push(cut),
  });
  server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

function parts(): StreamParts {
  return { clock, unsent };
}

/** A connection from both of its sides; the client reads nothing by itself. */
async function connected(): Promise<{
  response: ServerResponse;
  leave: () => void;
  answer: Promise<IncomingMessage>;
}> {
  const { port } = server.address() as AddressInfo;
  const sent = request({ port, host: '127.0.0.1', method: 'GET', agent: false });
  const answer = new Promise<IncomingMessage>((resolve) => sent.on('response', resolve));
  sent.on('error', () => undefined);
  sent.end();
  const [, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse];
  return { response, leave: () => sent.destroy(), answer };
}

async function textOf(answer: Promise<IncomingMessage>): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of await answer) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
}

describe.each([
  ['a stream', EventStream],
  ['an answer that waits', WaitingReply],
])('%s', (_title, Reader) => {
  it('keeps nothing alive when its client has left before it begins', async () => {
    const { response, leave } = await connected();
    const reader = new Reader(response, parts());
    leave();
    await once(response, 'close');
    reader.begin({});
    expect(clock.pending).toBe(0);
  });

  it('keeps nothing alive when its client leaves later', async () => {
    const { response, leave, answer } = await connected();
    const reader = new Reader(response, parts());
    reader.begin({});
    await clock.advance(5_000);
    await answer;
    expect(clock.pending).toBe(1);
    leave();
    await waitFor(() => clock.pending === 0);
  });
});

describe('a stream', () => {
  it('sends events with their ids and types, comments while nothing happens, and ends', async () => {
    const { response, answer } = await connected();
    const stream = new EventStream(response, parts());
    const feed = new RunFeed('run');
    feed.open(1);
    feed.read(stream);
    stream.begin({ 'content-location': '/runs/run' });
    await clock.advance(5_000);
    feed.publish({ event: 'values', data: '{"a":"\\n"}' });
    feed.publish({ event: 'updates|child:1', data: '1' });
    feed.end({ body: '' });
    expect(await textOf(answer)).toBe(
      'id: 0\nevent: metadata\ndata: {"run_id":"run","attempt":1}\n\n' +
        ': heartbeat\n' +
        'id: 1\nevent: values\ndata: {"a":"\\n"}\n\n' +
        'id: 2\nevent: updates|child:1\ndata: 1\n\n',
    );
    expect((await answer).headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'x-accel-buffering': 'no',
      'content-location': '/runs/run',
    });
    expect(clock.pending).toBe(0);
  });

  it('shows the client of the SDK events only, however long nothing happens', async () => {
    const { port } = server.address() as AddressInfo;
    const client = new Client({ apiUrl: `http://127.0.0.1:${port}`, apiKey: null });
    const id = '11111111-1111-4111-8111-111111111111';
    const seen: { event: string; data: unknown }[] = [];
    const reading = (async () => {
      for await (const { event, data } of client.runs.joinStream(id, id)) seen.push({ event, data });
    })();
    const [, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse];
    const stream = new EventStream(response, parts());
    const feed = new RunFeed('run');
    feed.open(1);
    feed.read(stream);
    stream.begin({});
    await waitFor(() => seen.length === 1);
    await clock.advance(20_000);
    feed.publish({ event: 'values', data: '1' });
    feed.end({ body: '' });
    await reading;
    expect(seen).toEqual([
      { event: 'metadata', data: { run_id: 'run', attempt: 1 } },
      { event: 'values', data: 1 },
    ]);
  });

  it('sends events of any size in order to many readers', async () => {
    const feed = new RunFeed('run');
    const all = [];
    for (let n = 0; n < 5; n++) all.push(await connected());
    const texts = all.map(({ response, answer }) => {
      const stream = new EventStream(response, parts());
      feed.read(stream);
      stream.begin({});
      return textOf(answer);
    });
    const events = [
      '"small"',
      JSON.stringify(MEGABYTES_10),
      '"again"',
      JSON.stringify(`ä${MEGABYTES_10}`),
      '"last"',
    ];
    for (const data of events) feed.publish({ event: 'values', data });
    feed.end({ body: '' });
    const expected = events.map((data, id) => `id: ${id}\nevent: values\ndata: ${data}\n\n`).join('');
    for (const text of await Promise.all(texts)) expect(text === expected).toBe(true);
  });

  it('cuts off a client that does not read, before much is buffered', async () => {
    const { response, answer } = await connected();
    const stream = new EventStream(response, parts());
    stream.begin({});
    (await answer).pause();
    let sent = 0;
    await waitFor(() => {
      if (!response.destroyed)
        stream.event({ id: sent++, event: 'values', data: JSON.stringify(MEGABYTES_10) });
      return response.destroyed;
    });
    expect(sent).toBeLessThan(20);
    expect(clock.pending).toBe(0);
  });
});

describe('UnsentOutput', () => {
  interface Stalled {
    readonly stream: EventStream;
    readonly response: ServerResponse;
    readonly resume: () => void;
  }

  /** A stream of a run of its own whose client takes nothing. */
  async function stalled(): Promise<Stalled> {
    const { response, answer } = await connected();
    const stream = new EventStream(response, parts());
    stream.begin({});
    const message = await answer;
    message.on('error', () => undefined);
    message.pause();
    return { stream, response, resume: () => message.resume() };
  }

  function send(stream: EventStream, megabytes: number): void {
    for (let n = 0; n < megabytes; n++)
      stream.event({ id: n, event: 'values', data: JSON.stringify('x'.repeat(MIB)) });
  }

  it('cuts readers until they hold no more than the hard limit together', async () => {
    const all: Stalled[] = [];
    for (let n = 0; n < 30; n++) all.push(await stalled());
    for (const { stream } of all) send(stream, 15);
    expect(unsent.bytes).toBeLessThanOrEqual(256 * MIB);
    await waitFor(() => all.filter(({ response }) => response.destroyed).length === cuts.length, PATIENCE);
    expect(cuts.length).toBeGreaterThan(10);
    expect(cuts[0]).toMatchObject({ kind: 'unread', method: 'GET', path: '/' });
  });

  it('cuts readers that take nothing before one that reads, also while no further event comes', async () => {
    const reading = await stalled();
    const idle: Stalled[] = [];
    for (let n = 0; n < 5; n++) idle.push(await stalled());
    send(reading.stream, 31); // owed most
    for (const { stream } of idle) send(stream, 30);
    const all = unsent.bytes;
    reading.resume();
    await waitFor(() => unsent.bytes < all - 20 * MIB, PATIENCE);
    expect(unsent.bytes).toBeGreaterThan(128 * MIB);
    await clock.advance(1_000);
    expect(cuts).toEqual([]);
    // the sockets of a busy machine may still be filling up
    await waitFor(async () => {
      await clock.advance(500);
      return unsent.bytes <= 128 * MIB;
    }, PATIENCE);
    expect(reading.response.destroyed).toBe(false);
    expect(cuts).toHaveLength(1);
    await waitFor(() => idle.filter(({ response }) => response.destroyed).length === 1, PATIENCE);
  });

  it('counts nothing for readers that have gone or have read everything', async () => {
    const one = await stalled();
    const other = await stalled();
    send(one.stream, 20);
    send(other.stream, 20);
    expect(unsent.bytes).toBeGreaterThan(20 * MIB);
    one.response.destroy();
    other.resume();
    await waitFor(() => unsent.bytes === 0, PATIENCE);
  });

  it('gives the readers of an event the same bytes', async () => {
    const feed = new RunFeed('run');
    const frames: unknown[] = [];
    for (let n = 0; n < 2; n++) {
      const { response } = await connected();
      const stream = new EventStream(response, parts());
      const write = response.write.bind(response) as (...given: unknown[]) => boolean;
      response.write = ((...given: unknown[]) => {
        frames.push(given[0]);
        return write(...given);
      }) as typeof response.write;
      feed.read(stream);
      stream.begin({});
    }
    feed.publish({ event: 'values', data: '"small"' });
    await waitFor(() => frames.length === 2, PATIENCE);
    expect(frames[0]).toBeInstanceOf(Buffer);
    expect(frames[0]).toBe(frames[1]);
  });
});
