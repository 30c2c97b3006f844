import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { waitFor } from '#lib/testing';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { AnswerStreams } from './answer-streams.js';
import type { AnswerStream } from './request-context.js';

const MEGABYTE = 1024 * 1024;
const limits = { one: 16 * MEGABYTE, all: 24 * MEGABYTE, least: MEGABYTE };
const chunk = 'x'.repeat(MEGABYTE);

/** Writes until there is an end to it; the number of megabytes that were taken. */
function fill(stream: AnswerStream): number {
  for (let written = 1; written <= 64; written++) if (!stream.write(chunk)) return written;
  return 65;
}

describe('an answer stream', () => {
  const streams = new AnswerStreams(limits);
  const opened: ServerResponse[] = [];
  const sockets: Socket[] = [];
  const server = createServer((_, response) => {
    response.writeHead(200).flushHeaders();
    opened.push(response);
  });

  async function openOne(
    owner?: string,
  ): Promise<{ stream: AnswerStream; response: ServerResponse; client: Socket }> {
    const count = opened.length;
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    client.on('error', () => undefined);
    client.pause(); // does not read
    client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    sockets.push(client);
    await waitFor(() => opened.length > count);
    const response = opened[count];
    if (!response) throw new Error('no request arrived');
    return { stream: streams.open(response, owner), response, client };
  }

  beforeAll(() => new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve)));
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    server.closeAllConnections();
    server.close();
  });

  it('cuts off a client that leaves too much unread', async () => {
    const { stream, response } = await openOne();
    expect(fill(stream)).toBeLessThan(40); // the kernel buffers some of it
    expect(response.destroyed).toBe(true);
    expect(stream.write('more')).toBe(false);
  });

  it('cuts off those that leave too much unread together, longest first, and none that reads', async () => {
    const lazy = [await openOne(), await openOne(), await openOne()];
    const reader = await openOne();
    reader.client.resume();
    // each below its own limit
    const fillUp = ({ stream, response }: (typeof lazy)[number]): void => {
      while (response.writableLength < 11 * MEGABYTE) if (!stream.write(chunk)) return;
    };
    lazy.slice(0, 2).forEach(fillUp);
    expect(lazy.map(({ response }) => response.destroyed)).toEqual([false, false, false]);
    lazy.slice(2).forEach(fillUp);
    expect(lazy.map(({ response }) => response.destroyed)).toEqual([true, false, false]);
    // a single large object, of which nothing can have been read yet
    expect(reader.stream.write(chunk.repeat(4))).toBe(true);
    expect(lazy.map(({ response }) => response.destroyed)).toEqual([true, true, false]);
    for (const { client } of lazy) client.resume();
    await Promise.all(lazy.map(({ stream }) => stream.drained()));
    await waitFor(() => lazy[2]?.response.writableLength === 0);
    expect(lazy[2]?.stream.write(chunk)).toBe(true);
    expect(reader.stream.write(chunk)).toBe(true);
  });

  it('counts for its user: one that leaves too much unread on many streams loses the oldest, and others none', async () => {
    const other = await openOne('modest');
    const lazy = [await openOne('greedy'), await openOne('greedy')];
    const fillUp = ({ stream, response }: (typeof lazy)[number], megabytes: number): void => {
      while (response.writableLength < megabytes * MEGABYTE) if (!stream.write(chunk)) return;
    };
    fillUp(other, 4);
    for (const one of lazy) fillUp(one, 9);
    expect([other, ...lazy].map(({ response }) => response.destroyed)).toEqual([false, true, false]);
    for (const { client } of [other, ...lazy]) client.destroy();
    await waitFor(() => [other, ...lazy].every(({ response }) => response.destroyed));
  });

  it('reports when its client has read everything', async () => {
    const { stream, client } = await openOne();
    stream.write(chunk.repeat(8));
    const order: string[] = [];
    const done = stream.drained().then(() => order.push('drained'));
    order.push('reads');
    client.resume();
    await done;
    expect(order).toEqual(['reads', 'drained']);
    client.destroy();
    await stream.drained();
  });
});
