import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLogger } from '#lib/telemetry';
import { FakeClock, temporaryFolder, waitFor } from '#lib/testing';
import { FRAMES_FD } from '../protocol/descriptors.js';
import { encodeFrames } from '../protocol/frame.js';
import { fromHost, type FromHost } from '../protocol/messages.js';
import { GraphHosts, type GraphHostsParts } from './graph-hosts.js';

const folder = temporaryFolder();

/** The bytes of a message as a script writes them. */
function bytesOf(message: FromHost): string {
  return `Buffer.from('${encodeFrames([fromHost(message)]).toString('hex')}', 'hex')`;
}

describe('GraphHosts', () => {
  const clock = new FakeClock();
  let hosts: GraphHosts;

  const starts = (): number => readFileSync(join(folder, 'starts')).length;

  /** Begins hosts that load nothing, answer nothing, and report their threads. */
  async function begin(threads: { most: number; waiting: number; givenUp: number }): Promise<void> {
    const script = `const fs = require('node:fs');
      fs.appendFileSync('starts', 'a');
      fs.writeSync(${FRAMES_FD}, ${bytesOf({ kind: 'loaded', packages: [] })});
      const health = ${bytesOf({ kind: 'health', lagMs: 0, heapShare: 0, threads })};
      setInterval(() => fs.writeSync(${FRAMES_FD}, health), 10);`;
    hosts = new GraphHosts({
      ...{ count: 1, maxRuns: 10, order: { folder, maxTextBytes: 1_000_000, graphs: [] } },
      program: { command: process.execPath, args: ['-e', script], environment: {}, instead: {} },
      ownUrl: new Promise<string>(() => undefined),
      ...{ clock, log: createLogger('test', 'silent') },
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
