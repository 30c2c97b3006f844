import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { LogLine } from '#lib/pod-logs';
import { RestClient } from '#lib/rest-client';
import { systemClock } from '#lib/time';
import { waitFor } from '#lib/testing';
import { LogPrinter } from './logs-command.js';
import { type LogsFlags, restLogs } from './read-logs.js';
import { NO_FLAGS } from './testdata/no-flags.js';

const ID = '00000000-0000-4000-8000-000000000001';
const second = (n: number): string => `2026-11-23T10:00:${String(n).padStart(2, '0')}.000000000Z`;
const line = (at: number, text: string, pod = 'one', container = 'agent'): LogLine => ({
  time: second(at),
  pod,
  container,
  text,
});

describe('printed logs', () => {
  const print = async (lines: readonly LogLine[], more: object = {}, hasTimes = false): Promise<string> => {
    let printed = '';
    const terminal = { isTerminal: false, hasColours: false, ...more };
    const write = async (text: string): Promise<void> => void (printed += text);
    await new LogPrinter({ ...terminal, write }, hasTimes, false).print(lines);
    return printed;
  };

  it('gives lines of several pods their pod as a prefix, and the container where a pod has several', async () => {
    expect(await print([line(1, 'a'), line(2, 'b')])).toBe('a\nb\n');
    expect(await print([line(1, 'a'), line(2, 'b', 'two')])).toBe('[one] a\n[two] b\n');
    expect(await print([line(1, 'a'), line(2, 'b', 'one', 'proxy')])).toBe('[one/agent] a\n[one/proxy] b\n');
    expect(await print([line(1, 'a')], {}, true)).toBe(`${second(1)} a\n`);
  });

  it('shows a terminal nothing that it obeys but colours, and is raw elsewhere', async () => {
    const evil = '\u001b]0;title\u0007\u001b[31mred\r';
    const shown = '\\u001b]0;title\\u0007\u001b[31mred\u001b[0m\n';
    expect(await print([line(1, evil)], { isTerminal: true })).toBe(shown);
    expect(await print([line(1, evil)])).toBe(`${evil}\n`);
    const coloured = await print([line(1, 'a'), line(2, 'b', 'two')], { isTerminal: true, hasColours: true });
    expect(coloured).toBe('\u001b[36m[one]\u001b[0m a\n\u001b[33m[two]\u001b[0m b\n');
  });
});

describe('logs by REST', () => {
  let server: Server;
  let url: string;
  const asked: string[] = [];
  let answers: ((response: ServerResponse) => void)[];

  beforeEach(async () => {
    asked.splice(0);
    server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
      if (pathname === '/v2/deployments')
        return void response.end(JSON.stringify({ resources: [{ id: ID, name: 'weather' }] }));
      asked.push(`${pathname.replaceAll(ID, 'ID')} ${searchParams.toString()}`);
      const answer = answers.shift();
      if (answer) return answer(response);
      response
        .writeHead(404, { 'content-type': 'application/json' })
        .end('{"detail":"Deployment not found"}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(() => server.close());

  const json = (...records: readonly object[]): string =>
    records.map((record) => `${JSON.stringify(record)}\n`).join('');
  const wire = (...lines: readonly LogLine[]): string =>
    json(...lines.map((one) => ({ type: 'line', ...one })));
  const notes: string[] = [];
  const found: string[] = [];
  const read = async (name: string, more: Partial<LogsFlags> = {}): Promise<string[]> => {
    notes.splice(0);
    found.splice(0);
    const rest = new RestClient({ url, key: 'k' });
    const logs = {
      rest,
      flags: { ...NO_FLAGS, ...more },
      clock: systemClock,
      onNote: (note: string) => notes.push(note),
    };
    for await (const lines of restLogs(logs, name)) found.push(...lines.map(({ text }) => text));
    return found;
  };

  it('reads a deployment by its name, with the query that the flags mean', async () => {
    answers = [
      (response) => response.end(json({ type: 'note', message: 'a note' }) + wire(line(1, 'größe'))),
    ];
    expect(await read('weather', { tail: 5, container: 'agent', revision: ID })).toEqual(['größe']);
    expect([asked, notes]).toEqual([
      ['/v2/deployments/ID/revisions/ID/logs tail=5&container=agent'],
      ['a note'],
    ]);
    await expect(read('other')).rejects.toThrow('deployment other does not exist');
    await expect(read('bxr/x')).rejects.toThrow(/need the Kubernetes API/);
  });

  it('goes on after a break without a line twice or lost, until the deployment is deleted', async () => {
    const open: ServerResponse[] = [];
    answers = [
      (response) => {
        response.write(wire(line(10, 'a'), line(20, 'b'), line(20, 'b'), line(18, 'late', 'two')));
        open.push(response);
      },
      (response) => response.writeHead(503).end('{"detail":"Temporarily unavailable"}'),
      (response) => {
        const again = wire(line(18, 'late', 'two'), line(19, 'missed', 'two'), line(20, 'b'), line(20, 'b'));
        response.end(again + wire(line(20, 'same second'), line(21, 'c')));
      },
    ];
    const reading = read('weather', { follow: true });
    await waitFor(() => found.includes('late'));
    open[0]?.destroy();
    expect(await reading).toEqual(['a', 'b', 'b', 'late', 'missed', 'same second', 'c']);
    expect(asked.slice(0, 3)).toEqual([
      '/v2/deployments/ID/logs follow=true',
      ...Array(2).fill('/v2/deployments/ID/logs follow=true&tail=10000&since=2026-11-23T10%3A00%3A15.000Z'),
    ]);
    expect(notes).toEqual([
      expect.stringMatching(/^the connection broke, reading on/),
      expect.stringMatching(/^the connection broke, reading on: Temporarily unavailable/),
    ]);
  });
});
