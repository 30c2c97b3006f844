import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createLogger } from '#lib/telemetry';
import { FakeClock, temporaryFolder, waitFor } from '#lib/testing';
import { FRAMES_FD, encodeFrames } from '../protocol/frame.js';
import type { Outcome } from '../protocol/execution.js';
import { fromHost, type FromHost } from '../protocol/messages.js';
import { type ClaimedRun, RunInput } from '../store/row/claimed-run.js';
import { GraphHosts, type GraphHostsParts } from './graph-hosts.js';

const folder = temporaryFolder();

/** The bytes of a message as a script writes them. */
function bytesOf(...frames: Parameters<typeof fromHost>): string {
  return `Buffer.from('${encodeFrames([fromHost(...frames)]).toString('hex')}', 'hex')`;
}

const outcome: FromHost = {
  kind: 'outcome',
  outcome: {
    kind: 'ended',
    end: { status: 'success', threadStatus: 'idle' },
    bodyChars: 2,
    values: 'none',
    interruptsChars: 0,
  },
};

const sink = { isWanted: () => false, isAwaited: () => false, emit: () => undefined };

describe('GraphHosts', () => {
  const clock = new FakeClock();
  let hosts: GraphHosts;
  let logged: string[] = [];

  const started = (): string[] => readFileSync(join(folder, 'starts'), 'utf8').trimEnd().split('\n');
  const starts = (): number => started().length;
  const kill = (nth: number, signal: NodeJS.Signals): unknown => process.kill(Number(started()[nth]), signal);
  const perform = (runId: string): Promise<Outcome> => {
    const input = new RunInput('{"metadata":{},"kwargs":{}}');
    return hosts.execution({ runId, attempt: 1, input } as ClaimedRun, sink, async () => undefined).perform();
  };

  /**
   * Begins hosts that load nothing, answer nothing, and report their threads.
   * @param nth one of their processes alone reports them, and those after it end their runs
   */
  async function begin(threads: { most: number; waiting: number; givenUp: number }, nth = 0): Promise<void> {
    rmSync(join(folder, 'starts'), { force: true });
    logged = [];
    const script = `const fs = require('node:fs');
      fs.appendFileSync('starts', process.pid + '\\n');
      const place = fs.readFileSync('starts', 'utf8').split('\\n').indexOf(String(process.pid)) + 1;
      fs.writeSync(${FRAMES_FD}, ${bytesOf({ kind: 'loaded', packages: [] })});
      const health = ${bytesOf({ kind: 'health', lagMs: 0, heapShare: 0, threads })};
      const ends = Buffer.concat([${bytesOf(outcome, 1, '{}')}, ${bytesOf(outcome, 2, '{}')}]);
      setInterval(() => {
        if (${nth} === 0 || place === ${nth}) fs.writeSync(${FRAMES_FD}, health);
        else if (place > ${nth}) fs.writeSync(${FRAMES_FD}, ends);
      }, 10);`;
    hosts = new GraphHosts({
      count: 1,
      hasSpare: true,
      maxRuns: 10,
      order: { folder, maxTextBytes: 1_000_000, graphs: [] },
      program: { command: process.execPath, args: ['-e', script], environment: {}, instead: {} },
      ownUrl: new Promise<string>(() => undefined),
      clock,
      log: Object.assign(createLogger('test', 'silent'), {
        info: (_fields: object, message: string) => logged.push(message),
      }),
    } as unknown as GraphHostsParts);
    await hosts.load();
  }

  afterEach(async () => {
    const stopped = hosts.stop();
    await clock.advance(10_000);
    await stopped;
  });

  it('replaces a host whose threads are lost, once a call has waited for one for half a minute', async () => {
    await begin({ most: 64, waiting: 1, givenUp: 64 });
    await waitFor(async () => hosts.note?.includes('64 of 64 threads hold nodes') ?? false);
    expect(starts()).toBe(1);
    await waitFor(async () => {
      await clock.advance(5_000);
      return starts() > 1;
    });
  });

  it('replaces a host of accused runs whose threads are lost, and charges none of them', async () => {
    await begin({ most: 64, waiting: 1, givenUp: 64 }, 2);
    const settled = async <T>(all: Promise<T>): Promise<T> => {
      let isOver = false;
      void all.finally(() => (isOver = true));
      await waitFor(async () => {
        await clock.advance(5_000);
        return isOver;
      });
      return all;
    };
    const uncharged = expect.objectContaining({ kind: 'crashed', isCharged: false });
    const together = ['a', 'b', 'c', 'd'].map(perform);
    kill(0, 'SIGKILL');
    expect(await Promise.all(together)).toEqual([uncharged, uncharged, uncharged, uncharged]);

    const [first, second] = [['a', 'b'].map(perform), ['c', 'd'].map(perform)];
    await waitFor(() => starts() === 2);
    await clock.advance(200); // until the other host is replaced
    await waitFor(() => hosts.note?.includes('64 of 64 threads hold nodes'));
    const ended = expect.objectContaining({ kind: 'ended', body: '{}' });
    expect(await settled(Promise.all([...first, ...second]))).toEqual([uncharged, uncharged, ended, ended]);
    expect(await settled(Promise.all(['a', 'b'].map(perform)))).toEqual([ended, ended]);
  });

  it('puts a host that has loaded in the place of one that ends, once one has ended', async () => {
    await begin({ most: 64, waiting: 0, givenUp: 0 });
    const isServed = (): boolean => Number.isFinite(hosts.lagMs);
    kill(0, 'SIGKILL');
    await waitFor(() => !isServed());
    await clock.advance(200);
    await waitFor(isServed);
    expect(starts()).toBe(2);
    await clock.advance(10_000);
    await waitFor(() => starts() === 3);
    await waitFor(() => logged.includes('spare graph host ready'));
    logged = [];
    kill(1, 'SIGKILL');
    await waitFor(() => hosts.note === undefined && isServed() && logged.at(-1) === 'graph host ready');
    expect(starts()).toBe(3);
  });

  it('puts a host that has loaded in the place of one that hangs, whose runs stay in it', async () => {
    await begin({ most: 64, waiting: 0, givenUp: 0 }, 1);
    const stuck = perform('a');
    kill(0, 'SIGSTOP');
    await clock.advance(6_000);
    expect(hosts.note).toContain('has not answered for 6 s');
    await waitFor(async () => {
      await clock.advance(1_000);
      return logged.includes('spare graph host ready');
    });
    await clock.advance(1_000);
    await waitFor(() => logged.at(-1) === 'graph host ready');
    expect(await perform('b')).toMatchObject({ kind: 'ended' });
    expect(hosts.note).toContain('one of its 1 runs executes without a pause');
    kill(0, 'SIGKILL');
    expect(await stuck).toMatchObject({ kind: 'crashed' });
    expect(hosts.note).toBeUndefined();
    expect(starts()).toBe(2);
  });

  it('gives a question up that a host does not answer within a minute', async () => {
    await begin({ most: 64, waiting: 0, givenUp: 0 });
    const answer = hosts.ask('schemas', { graphId: 'a' });
    const ended = expect(answer).rejects.toThrow('did not answer the question about the schemas within 60 s');
    for (let part = 0; part < 3; part++) {
      await clock.advance(20_000);
      await waitFor(async () => hosts.lagMs < 1_000);
    }
    await ended;
  });
});
