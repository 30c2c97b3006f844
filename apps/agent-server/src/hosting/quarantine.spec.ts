import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createLogger } from '#lib/telemetry';
import { FakeClock, temporaryFolder, waitFor } from '#lib/testing';
import { FRAMES_FD, encodeFrames } from '../protocol/frame.js';
import { fromHost } from '../protocol/messages.js';
import type { GraphProcessParts } from './graph-process.js';
import { Quarantine } from './graph-hosts.js';

describe('Quarantine', () => {
  const folder = temporaryFolder();

  it('forgets runs that do not come back within an hour', async () => {
    const clock = new FakeClock(new Date('2026-01-01T12:00:00Z'));
    const quarantine = new Quarantine({ clock } as unknown as GraphProcessParts);
    for (let crash = 0; crash < 100; crash++) {
      quarantine.accuse([`run ${crash}.1`, `run ${crash}.2`]);
      await clock.advance(60_000);
    }
    expect(quarantine.has('run 0.1')).toBe(false);
    expect(quarantine.has('run 99.2')).toBe(true);
    expect(quarantine.size).toBeLessThanOrEqual(2 * 61);
  });

  it('refuses a place whose process cannot be started after a pause that grows, and goes on with the next', async () => {
    const clock = new FakeClock();
    const parts = { clock, order: { folder: '/' } } as unknown as GraphProcessParts;
    const quarantine = new Quarantine(parts); // without a program
    for (const [run, leastMs, mostMs] of [
      ['a', 80, 120],
      ['b', 160, 240],
    ] as const) {
      const { host, leave } = quarantine.enter(run);
      let isRefused = false;
      const refused = expect(host.finally(() => (isRefused = true))).rejects.toThrow();
      await clock.advance(leastMs);
      expect(isRefused).toBe(false);
      await clock.advance(mostMs - leastMs);
      await refused;
      leave(false);
    }
  });

  it('goes on with the next group once everybody has left a host that does not load', async () => {
    const loaded = encodeFrames([fromHost({ kind: 'loaded', packages: [] })]).toString('hex');
    const script = `const fs = require('node:fs');
      const isFirst = !fs.existsSync('started');
      fs.writeFileSync('started', '');
      if (!isFirst) fs.writeSync(${FRAMES_FD}, Buffer.from('${loaded}', 'hex'));
      setInterval(() => undefined, 1_000);`;
    const clock = new FakeClock();
    const quarantine = new Quarantine({
      order: { folder, maxTextBytes: 1_000_000, graphs: [] },
      program: { command: process.execPath, args: ['-e', script], environment: {}, instead: {} },
      ownUrl: new Promise<string>(() => undefined),
      clock,
      log: createLogger('test', 'silent'),
    } as unknown as GraphProcessParts);
    const first = quarantine.enter('a');
    const second = quarantine.enter('b');
    await waitFor(() => existsSync(join(folder, 'started')));
    first.leave(false);
    await clock.advance(10_000); // until it is killed
    const host = await second.host;
    host.kill();
    await host.ended;
    second.leave(false);
  });
});
