import { Readable } from 'node:stream';
import { KubeApiError, type KubeClient } from '#lib/kube';
import type { Pod } from '#lib/resources';
import { fastClock, waitFor } from '#lib/testing';
import { followLogs, LastLines, SeenLines } from './follow-logs.js';
import { keptLines } from './kept-output.js';
import { lineTime, type LogLine, MAX_LINE_BYTES } from './log-line.js';
import { logSources } from './log-source.js';
import { readLines, readLogs } from './read-logs.js';

type LogOptions = NonNullable<Parameters<KubeClient['podLogs']>[1]>;

const second = (n: number): string => `2026-11-23T10:00:${String(n).padStart(2, '0')}.000000000Z`;

/** Containers that print what they are told to, as a node shows it. */
class Printers {
  readonly asked: LogOptions[] = [];
  readonly #lines = new Map<string, string[]>();
  readonly #open = new Map<string, Set<Readable>>();

  print(container: string, at: number, text: string): void {
    const line = `${second(at)} ${text}\n`;
    this.#lines.set(container, [...(this.#lines.get(container) ?? []), line]);
    for (const stream of this.#open.get(container) ?? []) stream.push(line);
  }

  /** Ends what is followed: `error` as a connection that breaks. */
  end(container: string, error?: Error): void {
    for (const stream of this.#open.get(container) ?? []) {
      if (error) stream.destroy(error);
      else stream.push(null);
    }
    this.#open.delete(container);
  }

  follows(container: string): boolean {
    return (this.#open.get(container)?.size ?? 0) > 0;
  }

  podLogs = async (_pod: object, options: LogOptions = {}): Promise<Readable> => {
    this.asked.push(options);
    const { container = '', tailLines, sinceTime = '', follow, signal } = options;
    if (container === 'starting') throw new KubeApiError(400, 'BadRequest', 'is waiting to start');
    if (container === 'lost') throw new KubeApiError(500, 'InternalError', 'cannot reach node n1');
    const there = (this.#lines.get(container) ?? []).filter((line) => line >= sinceTime.slice(0, 19));
    const lines = tailLines === undefined ? there : there.slice(there.length - tailLines);
    const stream = new Readable({ read: () => undefined });
    stream.push(lines.join(''));
    if (follow) {
      const open = this.#open.get(container) ?? new Set();
      this.#open.set(container, open.add(stream));
      signal?.addEventListener('abort', () => stream.destroy(new Error('aborted')), { once: true });
    } else stream.push(null);
    return stream;
  };
}

const pod = (name: string, containers: Readonly<Record<string, object>>, phase = 'Running'): Pod => ({
  metadata: { name, namespace: 'here', uid: name, resourceVersion: '1' },
  spec: { containers: Object.keys(containers).map((container) => ({ name: container })) },
  status: {
    phase: phase as 'Running',
    containerStatuses: Object.entries(containers).map(([container, more]) => ({
      name: container,
      ready: true,
      restartCount: 0,
      image: 'i',
      imageID: 'i',
      state: { running: {} },
      ...more,
    })),
  },
});

const texts = (lines: readonly LogLine[]): string[] => lines.map(({ pod: name, text }) => `${name}: ${text}`);

describe('times of lines', () => {
  it.each([
    ['2026-11-23T10:00:00Z', '2026-11-23T10:00:00.000000000Z'],
    ['2026-11-23T10:00:00.5Z', '2026-11-23T10:00:00.500000000Z'],
    ['2026-11-23T10:00:00.123456789+02:00', '2026-11-23T08:00:00.123456789Z'],
    ['2026-11-23', undefined],
    ['rpc', undefined],
  ])('reads %s', (text, expected) => expect(lineTime(text)).toBe(expected));
});

describe('lines of a log', () => {
  const linesOf = async (...chunks: (string | Buffer)[]): Promise<readonly LogLine[]> => {
    const found: LogLine[] = [];
    const stream = Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
    for await (const lines of readLines(stream, { pod: 'p', container: 'c' }, '')) found.push(...lines);
    return found;
  };

  it('joins what came in pieces, characters included', async () => {
    const whole = Buffer.from(`${second(1)} größe\n${second(2)} two\n`);
    const pieces = [...whole].map((byte) => Buffer.from([byte]));
    expect((await linesOf(...pieces)).map(({ time, text }) => [time, text])).toEqual([
      [second(1), 'größe'],
      [second(2), 'two'],
    ]);
  });

  it('cuts a long line and counts what is missing', async () => {
    const [line, next] = await linesOf(
      `${second(1)} `,
      'x'.repeat(MAX_LINE_BYTES),
      'yyy',
      `\n${second(2)} z\n`,
    );
    expect([line?.text.length, line?.cutBytes, next?.text]).toEqual([MAX_LINE_BYTES, 3, 'z']);
  });

  it('gives a line without a time that of the line before it, and keeps a line without an end', async () => {
    const lines = await linesOf(`${second(1)} one\nunable to read\n${second(2)} \u001b[31mred`);
    expect(lines.map(({ time, text }) => [time, text])).toEqual([
      [second(1), 'one'],
      [second(1), 'unable to read'],
      [second(2), '\u001b[31mred'],
    ]);
  });
});

describe('lines that were seen', () => {
  const line = (at: number, text: string): LogLine => ({ time: second(at), pod: 'p', container: 'c', text });

  it('filters lines that are read again, and passes those of the same time that came later', () => {
    const seen = new SeenLines();
    for (const one of [line(1, 'a'), line(2, 'b'), line(2, 'b')]) seen.add(one);
    const isNew = seen.resume();
    const again = [line(1, 'a'), line(2, 'b'), line(2, 'b'), line(2, 'b'), line(3, 'c')];
    expect(again.map(isNew)).toEqual([false, false, false, true, true]);
  });

  it('filters lines of the same time that were left out before them', () => {
    const seen = new SeenLines();
    seen.add(line(2, 'last'));
    const isNew = seen.resume();
    expect([line(2, 'first'), line(2, 'last'), line(2, 'next')].map(isNew)).toEqual([false, false, true]);
  });
});

describe('last lines', () => {
  it('keeps as many as fit', () => {
    const line = (text: string): LogLine => ({ time: '', pod: '', container: '', text });
    const byCount = new LastLines(3);
    for (let n = 0; n < 5_000; n++) byCount.add([line(`${n}`)]);
    expect(byCount.lines().map(({ text }) => text)).toEqual(['4997', '4998', '4999']);
    expect(byCount.isCut).toBe(false);
    const byBytes = new LastLines(100, 10_000);
    for (let n = 0; n < 50; n++) byBytes.add([line('x'.repeat(1_000))]);
    expect([byBytes.lines().length, byBytes.isCut]).toEqual([4, true]);
  });
});

describe('the logs of several containers', () => {
  const notes: string[] = [];
  const options = () => ({
    signal: new AbortController().signal,
    onNote: (note: string) => notes.push(note),
  });
  beforeEach(() => void notes.splice(0));

  const read = async (printers: Printers, pods: readonly Pod[], more: object = {}): Promise<string[]> => {
    const found: string[] = [];
    for await (const lines of readLogs(printers, logSources(pods, {}), { ...options(), ...more }))
      found.push(...texts(lines));
    return found;
  };

  it('merges them by time', async () => {
    const printers = new Printers();
    for (const [container, at] of [
      ['a', 1],
      ['b', 2],
      ['a', 3],
      ['a', 4],
      ['b', 5],
    ] as const)
      printers.print(container, at, `${at}`);
    expect(await read(printers, [pod('one', { a: {} }), pod('two', { b: {} })])).toEqual([
      'one: 1',
      'two: 2',
      'one: 3',
      'one: 4',
      'two: 5',
    ]);
    expect(await read(printers, [pod('one', { a: {} })], { since: second(3) })).toEqual(['one: 3', 'one: 4']);
  });

  it('gives others their turn while lines alternate that have come', async () => {
    const lines = (of: number): string =>
      Array.from({ length: 4_000 }, (_, at) => `${lineTime(new Date(2 * at + of).toISOString())} x\n`).join(
        '',
      );
    const podLogs = (_pod: object, { container = '' }: LogOptions = {}): Promise<Readable> =>
      Promise.resolve(Readable.from([Buffer.from(lines(container === 'a' ? 0 : 1))]));
    let [turns, isOver] = [0, false];
    const count = (): void => {
      turns++;
      if (!isOver) setImmediate(count);
    };
    count();
    const found: LogLine[] = [];
    const sources = logSources([pod('one', { a: {}, b: {} })], {});
    for await (const batch of readLogs({ podLogs }, sources, options())) found.push(...batch);
    isOver = true;
    expect(found.map(({ container }) => container).join('')).toBe('ab'.repeat(4_000));
    expect(turns).toBeGreaterThan(25);
  });

  it('leaves out one that has not started, and notes one that cannot be read', async () => {
    const printers = new Printers();
    printers.print('a', 1, 'here');
    expect(await read(printers, [pod('one', { a: {}, starting: {}, lost: {} })])).toEqual(['one: here']);
    expect(notes).toEqual([
      expect.stringMatching(/container lost of pod one failed: .*cannot reach node n1/),
    ]);
  });

  it('reads the attempt before the last of containers that have been restarted', () => {
    const pods = [pod('one', { a: { restartCount: 2 }, b: {} })];
    const sources = logSources(pods, { previous: true });
    expect(sources.map(({ container }) => container)).toEqual(['a']);
  });
});

describe('logs that are followed', () => {
  let printers: Printers;
  let pods: Pod[] | undefined;
  let seen: string[];
  let leave: () => Promise<void>;
  beforeEach(() => {
    [printers, pods, seen] = [new Printers(), [pod('one', { a: {} })], []];
  });
  afterEach(() => leave());

  const follow = (more: object = {}): Promise<void> => {
    const leaving = new AbortController();
    const batches = followLogs({
      client: printers,
      pods: async () => pods,
      endsWithPods: true,
      idleMs: 60_000,
      clock: fastClock(10),
      signal: leaving.signal,
      onNote: (note) => seen.push(`# ${note}`),
      ...more,
    });
    const done = (async () => {
      for await (const lines of batches) seen.push(...(lines.length === 0 ? ['-'] : texts(lines)));
    })();
    leave = async () => {
      leaving.abort(new Error('left'));
      await done.catch(() => undefined);
    };
    return done;
  };
  const see = (...expected: string[]) =>
    waitFor(() => seen.length >= expected.length, { what: 'the lines' }).then(() =>
      expect(seen).toEqual(expected),
    );

  it('begins with the last lines and goes on, over breaks and ends of the stream', async () => {
    for (const at of [1, 2, 3]) printers.print('a', at, `${at}`);
    void follow({ tail: 2 });
    await see('one: 2', 'one: 3');
    await waitFor(() => printers.follows('a'));
    printers.print('a', 3, 'the same second');
    await see('one: 2', 'one: 3', 'one: the same second');
    printers.end('a', new Error('ECONNRESET'));
    printers.print('a', 4, 'meanwhile');
    await waitFor(() => seen.includes('one: meanwhile'));
    printers.end('a');
    printers.print('a', 5, 'after');
    await waitFor(() => seen.includes('one: after'));
    expect(seen.filter((one) => !one.startsWith('#'))).toEqual([
      'one: 2',
      'one: 3',
      'one: the same second',
      'one: meanwhile',
      'one: after',
    ]);
    expect(seen.filter((one) => one.startsWith('#'))).toEqual([expect.stringMatching(/ECONNRESET/)]);
  });

  it('includes pods that are made meanwhile, and ends with the last pod', async () => {
    printers.print('a', 1, 'a');
    const done = follow();
    await see('one: a');
    printers.print('b', 2, 'b');
    pods = [pod('one', { a: {} }), pod('two', { b: {} })];
    await see('one: a', 'two: b');
    const ended = { state: { terminated: { exitCode: 0 } } };
    pods = [pod('one', { a: ended }, 'Succeeded'), pod('two', { b: ended }, 'Succeeded')];
    printers.end('a');
    printers.end('b');
    await waitFor(() => printers.follows('b'));
    printers.end('a');
    printers.end('b');
    await done;
    expect(seen).toEqual(['one: a', 'two: b']);
  });

  it('ends when there will be no more pods, and shows meanwhile that all is well', async () => {
    pods = [];
    const done = follow({ idleMs: 50 });
    await waitFor(() => seen.includes('-'));
    pods = undefined;
    await done;
  });

  it('goes on after a list of pods failed', async () => {
    let fails = true;
    const listed = async () => {
      if (fails) throw new Error('the API server is unavailable');
      return pods;
    };
    printers.print('a', 1, 'a');
    void follow({ pods: listed });
    await waitFor(() => seen.length > 0);
    fails = false;
    await waitFor(() => seen.includes('one: a'));
    expect(seen.filter((one) => one.startsWith('#'))).toEqual([
      '# listing pods failed, retrying: the API server is unavailable',
    ]);
  });
});

describe('kept output', () => {
  const keptOf = (data: Readonly<Record<string, string>>) => ({
    metadata: { name: 'w-00001-output', creationTimestamp: '2026-11-23T10:00:09Z' },
    data,
  });

  it('reads the end of a text that is longer than what is kept', () => {
    const lines = keptLines(keptOf({ 'a.log': '\n'.repeat(3_000_000) }), { tail: 1_000 });
    expect(lines.length).toBe(1_000);
    const numbered = Array.from({ length: 9_000 }, (_, n) => `${second(1)} ${n}\n`).join('');
    const all = keptLines(keptOf({ 'a.log': numbered })).map(({ text }) => text);
    expect([all.length, all[0], all.at(-1)]).toEqual([2_000, '7000', '8999']);
    const long = keptLines(keptOf({ 'a.log': `${'x'.repeat(3_000_000)}\n${second(2)} end` }));
    expect(long.map(({ text }) => text)).toEqual(['end']);
    expect(keptLines(keptOf({ 'a.log': 'one\n\ntwo\n', 'b.log': '' })).map(({ text }) => text)).toEqual([
      'one',
      '',
      'two',
    ]);
    expect(keptLines(keptOf({ 'a.log': 'one\n' }), { tail: 0 })).toEqual([]);
  });

  it('leaves out what is no log, and containers beyond those that are kept', () => {
    const data = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`c${n}.log`, 'x\n']));
    expect(keptLines(keptOf({ note: 'y', ...data })).map(({ container }) => container)).toEqual(
      Array.from({ length: 8 }, (_, n) => `c${n}`),
    );
  });

  it('reads the times, pod and containers of its lines', () => {
    const kept = {
      metadata: {
        name: 'w-00001-output',
        uid: 'u',
        resourceVersion: '1',
        creationTimestamp: '2026-11-23T10:00:09Z',
        annotations: { 'agentplane.dev/pod': 'w-1' },
      },
      data: { 'main.log': `${second(2)} two\n${second(3)} three\n`, 'side.log': 'untimed' },
    };
    expect(keptLines(kept).map((one) => [one.time, one.pod, one.container, one.text])).toEqual([
      [second(2), 'w-1', 'main', 'two'],
      [second(3), 'w-1', 'main', 'three'],
      [second(9), 'w-1', 'side', 'untimed'],
    ]);
    expect(keptLines(kept, { container: 'side' }).map(({ text }) => text)).toEqual(['untimed']);
  });
});
