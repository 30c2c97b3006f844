import { setImmediate } from 'node:timers/promises';
import { FakeClock } from '#lib/testing';
import { RunLogs, type RunLog } from './run-logs.js';

const TIMES = { keptMs: 60_000, resumableMs: 600_000 };
const OPENING = { event: 'metadata', data: '{}' };

function logsOf(processBytes: number, clock = new FakeClock()): RunLogs {
  return new RunLogs(clock, { runBytes: processBytes, processBytes, ...TIMES });
}

function atWork(logs: RunLogs, runId: string): RunLog {
  const log = Object.assign(logs.open(runId), { isAtWork: true });
  logs.record(log);
  log.events.open(1, OPENING);
  return log;
}

function say({ events }: RunLog, chars: number): void {
  events.append({ event: 'custom', data: JSON.stringify('x'.repeat(chars)) });
}

describe('RunLogs', () => {
  it('counts logs that hold next to nothing, and forgets those that ended first', () => {
    const logs = logsOf(1_000_000);
    for (let n = 0; n < 5_000; n++) {
      atWork(logs, `run ${n}`);
      logs.end(`run ${n}`, { body: '' });
    }
    expect(logs.bytes).toBeLessThanOrEqual(1_000_000);
    expect(logs.all.length).toBeLessThan(1_000);
    expect([logs.find('run 0'), logs.find('run 4999')]).toEqual([undefined, expect.anything()]);
  });

  it('keeps a log until those who await its end have it', () => {
    const logs = logsOf(10_000);
    const awaited = atWork(logs, 'awaited');
    awaited.isAtWork = false;
    const results: string[] = [];
    awaited.events.whenEnded(({ body }) => results.push(body));
    logs.release(awaited);
    say(atWork(logs, 'large'), 20_000);
    logs.end('awaited', { body: 'the end' });
    expect(results).toEqual(['the end']);
  });

  it('keeps the result of a forgotten log for those that hold it', () => {
    const logs = logsOf(10_000);
    const log = Object.assign(logs.open('joined'), { isAtWork: true });
    logs.end('joined', { body: 'the end' });
    expect(logs.find('joined')).toBeUndefined();
    const results: string[] = [];
    log.events.whenEnded(({ body }) => results.push(body));
    expect(results).toEqual(['the end']);
    expect(logs.bytes).toBe(0);
  });

  it('counts results, and forgets those that only readers wait for who take nothing', async () => {
    const clock = new FakeClock();
    const logs = logsOf(1_000_000, clock);
    const stalled = Array.from({ length: 100 }, (_, n) => {
      const log = atWork(logs, `stalled ${n}`);
      const cursor = log.events.read({ kind: 'kept' }, () => undefined);
      cursor.take();
      say(log, 50_000);
      return { log, cursor };
    });
    await clock.advance(11_000);
    const readers = ['reading', 'done'].map((runId) => {
      const log = atWork(logs, runId);
      return { log, cursor: log.events.read({ kind: 'kept' }, () => undefined) };
    });
    for (const { log, cursor } of readers) {
      say(log, 50_000);
      cursor.take();
    }
    for (const { log } of [...stalled, ...readers]) logs.end(log.runId, { body: 'x'.repeat(50_000) });
    expect(logs.bytes).toBeLessThanOrEqual(1_000_000);
    expect(readers.map(({ cursor }) => cursor.take()?.frame.length)).toEqual([50_032, 50_032]);
    expect(readers.map(({ log }) => log.events.result?.body.length)).toEqual([50_000, 50_000]);
    expect(stalled[0]?.cursor.state).toBe('behind');
    expect(stalled[0]?.log.events.result?.body).toContain('OutputLost');
  });

  it('takes the largest logs down and leaves small ones whole', async () => {
    const logs = logsOf(100_000);
    const small = atWork(logs, 'small');
    say(small, 1_000);
    const large = ['one', 'two'].map((runId) => atWork(logs, runId));
    for (let n = 0; n < 100; n++) {
      for (const log of large) say(log, 1_000);
      await setImmediate();
    }
    expect(logs.bytes).toBeLessThanOrEqual(100_000);
    expect(small.events.at(1)).toBeDefined();
    for (const { events } of large) expect(events.bytes).toBeGreaterThan(30_000);
  });

  it('looks at all logs seldom, also when nothing can be dropped', () => {
    const logs = logsOf(1_000_000);
    const many = Array.from({ length: 2_000 }, (_, n) => atWork(logs, `run ${n}`));
    let looks = 0;
    for (const { events } of many) {
      const drop = events.dropOldest.bind(events);
      events.dropOldest = () => {
        looks++;
        return drop();
      };
    }
    // all in one iteration of the event loop, whose events stay
    for (let n = 0; n < 10; n++) for (const log of many) say(log, 10);
    expect(looks).toBeLessThan(200_000);
  });
});
