import { jest } from '@jest/globals';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { waitFor } from '#lib/testing';
import { newId, storeFixture } from '../../testdata/store-fixture.js';
import { appendRunEvents } from '../store/statement/run-events.js';
import { WORKER } from '../store/worker-scope.js';
import { RunLogs } from './run-logs.js';
import { RunReading } from './run-reading.js';

const store = storeFixture(10);
const MEGABYTE = 2 ** 20;
const LIMITS = { runBytes: MEGABYTE, processBytes: MEGABYTE, keptMs: 60_000, resumableMs: 60_000 };

describe('earlier output', () => {
  it('reaches readers a few at a time, and is not read for those that have left', async () => {
    const runId = newId();
    const data = JSON.stringify('x'.repeat(MEGABYTE));
    await appendRunEvents(WORKER, store.sql, [
      { runId, position: { attempt: 1, n: 0 }, event: 'values', data, isRepeated: false },
    ]);
    const logs = new RunLogs(systemClock, LIMITS);
    const log = logs.open(runId);
    log.events.restart({ attempt: 1, n: 5 });
    const ask = store.sql.asWorker.bind(store.sql);
    let atOnce = 0;
    let most = 0;
    let reads = 0;
    const spy = jest.spyOn(store.sql, 'asWorker').mockImplementation(async (...given) => {
      reads++;
      most = Math.max(most, ++atOnce);
      await new Promise((resolve) => setImmediate(resolve));
      return ask(...given).finally(() => atOnce--);
    });
    const follower = { isLive: false, follows: () => false, ask: async () => undefined };
    const parts = { sql: store.sql, logs, follower, clock: systemClock, log: createLogger('test', 'silent') };
    const from = { kind: 'after', position: { attempt: 1, n: -1 } } as const;
    const read = (): RunReading => new RunReading(log, from, () => undefined, parts as never);
    const readings = Array.from({ length: 20 }, read);
    for (const reading of readings) expect(reading.take()).toBeUndefined();
    const [, , , ...left] = readings.slice(10);
    for (const reading of left) reading.close();
    const staying = readings.slice(0, 13);
    const served = new Set<RunReading>();
    await waitFor(async () => {
      for (const reading of staying) if (!served.has(reading) && reading.take()) served.add(reading);
      return served.size === staying.length;
    });
    expect([most, reads]).toEqual([2, 13]);
    spy.mockRestore();
    for (const reading of staying) reading.close();
  });
});
