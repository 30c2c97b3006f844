import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { Client } from '@langchain/langgraph-sdk';
import { FakeClock, itLong, waitFor } from '#lib/testing';
import { EventLog } from '../log/event-log.js';
import type { RunEvent } from '../stream/run-event.js';
import type { Cut } from '#lib/http';
import { EventStream, type StreamParts } from './event-stream.js';
import { UnsentOutput } from './unsent-output.js';
import { WaitingReply } from './slow-answer.js';

/** Text larger than a socket takes before its peer reads. */
const MEGABYTES_10 = 'x'.repeat(10_000_000);

const MIB = 1024 * 1024;

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

/** The output of a run in progress here. */
function logOf(maxBytes = 32 * MIB): EventLog {
  const log = new EventLog('run', { maxBytes });
  log.record();
  return log;
}

const OPENING: RunEvent = { event: 'metadata', data: '{"run_id":"run","attempt":1}' };

function read(log: EventLog, stream: EventStream, kind: 'now' | 'kept' = 'now'): void {
  const cursor = log.read({ kind }, () => stream.more());
  stream.attach({
    take: () => cursor.take(),
    get state() {
      return cursor.state === 'behind' ? ('lost' as const) : cursor.state;
    },
    get hasEnd() {
      return log.result !== undefined;
    },
    close: () => cursor.close(),
  });
}

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
    const log = logOf();
    log.open(1, OPENING);
    read(log, stream);
    stream.begin({ 'content-location': '/runs/run' });
    await clock.advance(5_000);
    log.append({ event: 'values', data: '{"a":"\\n"}' });
    log.append({ event: 'updates|child:1', data: '1' });
    log.end({ body: '' });
    expect(await textOf(answer)).toBe(
      'id: 1-0\nevent: metadata\ndata: {"run_id":"run","attempt":1}\n\n' +
        ': heartbeat\n' +
        'id: 1-1\nevent: values\ndata: {"a":"\\n"}\n\n' +
        'id: 1-2\nevent: updates|child:1\ndata: 1\n\n',
    );
    expect((await answer).headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'x-accel-buffering': 'no',
      'content-location': '/runs/run',
    });
    expect(clock.pending).toBe(0);
  });

  it('sends all events of a run that has ended before it begins', async () => {
    const { response, answer } = await connected();
    const stream = new EventStream(response, parts());
    const log = logOf();
    log.open(1, OPENING);
    log.append({ event: 'values', data: '1' });
    log.end({ body: '' });
    read(log, stream, 'kept');
    stream.begin({});
    expect(await textOf(answer)).toBe(
      'id: 1-0\nevent: metadata\ndata: {"run_id":"run","attempt":1}\n\nid: 1-1\nevent: values\ndata: 1\n\n',
    );
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
    const log = logOf();
    log.open(1, OPENING);
    read(log, stream);
    stream.begin({});
    await waitFor(() => seen.length === 1);
    await clock.advance(20_000);
    log.append({ event: 'values', data: '1' });
    log.end({ body: '' });
    await reading;
    expect(seen).toEqual([
      { event: 'metadata', data: { run_id: 'run', attempt: 1 } },
      { event: 'values', data: 1 },
    ]);
  });

  it('sends events of any size in order to many readers', async () => {
    const log = logOf();
    log.open(1, OPENING);
    const all = [];
    for (let n = 0; n < 5; n++) all.push(await connected());
    const texts = all.map(({ response, answer }) => {
      const stream = new EventStream(response, parts());
      read(log, stream);
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
    for (const data of events) log.append({ event: 'values', data });
    log.end({ body: '' });
    const expected =
      `id: 1-0\nevent: metadata\ndata: ${OPENING.data}\n\n` +
      events.map((data, n) => `id: 1-${n + 1}\nevent: values\ndata: ${data}\n\n`).join('');
    for (const text of await Promise.all(texts)) expect(text === expected).toBe(true);
  });

  it('holds little for a client that does not read, and ends it with the reason once its place was dropped', async () => {
    const { response, answer } = await connected();
    const log = logOf(4 * MIB);
    const stream = new EventStream(response, parts());
    read(log, stream);
    stream.begin({});
    (await answer).pause();
    for (let n = 0; n < 60; n++) {
      log.append({ event: 'values', data: JSON.stringify('x'.repeat(MIB)) });
      await setImmediate();
      expect(unsent.bytes).toBeLessThan(3 * MIB);
    }
    expect(log.bytes).toBeLessThan(6 * MIB);
    (await answer).resume();
    expect((await textOf(answer)).slice(-300)).toContain('event: error\ndata: {"error":"OutputLost"');
    expect(clock.pending).toBe(0);
  });
});

describe('UnsentOutput', () => {
  interface Stalled {
    readonly log: EventLog;
    readonly response: ServerResponse;
    readonly resume: () => void;
  }

  /** A stream of a separate run whose client takes nothing. */
  async function stalled(): Promise<Stalled> {
    const { response, answer } = await connected();
    const log = logOf();
    const stream = new EventStream(response, parts());
    read(log, stream);
    stream.begin({});
    const message = await answer;
    message.on('error', () => undefined);
    message.pause();
    return { log, response, resume: () => message.resume() };
  }

  /** One event that the log has dropped since: the reader holds it until it has taken all of it. */
  async function send({ log }: Stalled, megabytes: number): Promise<void> {
    log.append({ event: 'values', data: JSON.stringify('x'.repeat(megabytes * MIB)) });
    await setImmediate(); // the reader begins with it
    log.clear();
  }

  itLong(
    'counts next to nothing for any number of readers while the log has what they wait for',
    async () => {
      const all: Stalled[] = [];
      for (let n = 0; n < 40; n++) all.push(await stalled());
      for (const { log } of all)
        for (let n = 0; n < 4; n++)
          log.append({ event: 'values', data: JSON.stringify('x'.repeat(2 * MIB + n)) });
      await waitFor(() => unsent.bytes > 0);
      expect(unsent.bytes).toBeLessThan(40 * 96 * 1024);
      await clock.advance(10_000);
      expect(cuts).toEqual([]);
    },
  );

  itLong('cuts readers until they hold no more than the hard limit together', async () => {
    const all: Stalled[] = [];
    for (let n = 0; n < 40; n++) all.push(await stalled());
    for (const one of all) await send(one, 15);
    await waitFor(() => cuts.length > 0);
    expect(unsent.bytes).toBeLessThanOrEqual(256 * MIB);
    await waitFor(() => all.filter(({ response }) => response.destroyed).length === cuts.length);
    expect(cuts.length).toBeGreaterThan(10);
    expect(cuts[0]).toMatchObject({ kind: 'unread', method: 'GET', path: '/' });
  });

  it('cuts readers that take nothing before one that reads, also while no further event comes', async () => {
    const reading = await stalled();
    const idle: Stalled[] = [];
    for (let n = 0; n < 5; n++) idle.push(await stalled());
    await send(reading, 34); // owed most
    for (const one of idle) await send(one, 30);
    await waitFor(() => unsent.bytes > 150 * MIB);
    const all = unsent.bytes;
    reading.resume();
    await waitFor(() => unsent.bytes < all - 20 * MIB);
    expect(unsent.bytes).toBeGreaterThan(128 * MIB);
    await clock.advance(1_000);
    expect(cuts).toEqual([]);
    // the sockets of a busy machine may still be filling up
    await waitFor(async () => {
      await clock.advance(500);
      return unsent.bytes <= 128 * MIB;
    });
    expect(reading.response.destroyed).toBe(false);
    expect(cuts).toHaveLength(1);
    await waitFor(() => idle.filter(({ response }) => response.destroyed).length === 1);
  });

  it('counts nothing for readers that have gone or have read everything', async () => {
    const one = await stalled();
    const other = await stalled();
    await send(one, 20);
    await send(other, 20);
    await waitFor(() => unsent.bytes > 20 * MIB);
    one.response.destroy();
    other.resume();
    await waitFor(() => unsent.bytes === 0);
  });

  it('counts nothing for an answer that had closed before its account was opened', async () => {
    const { response, leave } = await connected();
    leave();
    await once(response, 'close');
    unsent.open(response).owe(MIB);
    expect(unsent.bytes).toBe(0);
  });

  it('gives the readers of an event the same bytes', async () => {
    const log = logOf();
    log.open(1, OPENING);
    const frames: unknown[] = [];
    for (let n = 0; n < 2; n++) {
      const { response } = await connected();
      const stream = new EventStream(response, parts());
      const write = response.write.bind(response) as (...given: unknown[]) => boolean;
      response.write = ((...given: unknown[]) => {
        frames.push(given[0]);
        return write(...given);
      }) as typeof response.write;
      read(log, stream);
      stream.begin({});
    }
    await waitFor(() => frames.length === 2);
    log.append({ event: 'values', data: '"small"' });
    await waitFor(() => frames.length === 4);
    expect(frames[2]).toBeInstanceOf(Buffer);
    expect(frames[2]).toBe(frames[3]);
  });
});
