import { setImmediate } from 'node:timers/promises';
import { EventLog } from './event-log.js';
import type { LogCursor, ReadFrom } from './log-cursor.js';
import { positionText } from './logged-event.js';

const OPENING = { event: 'metadata', data: '{"attempt":1}' };
const NOTHING = (): void => undefined;

function logOf(maxBytes = 1_000_000): EventLog {
  const log = new EventLog('run', { maxBytes });
  log.record();
  log.open(1, OPENING);
  return log;
}

/** Ids and names of everything that a reader can take now. */
function taken(cursor: LogCursor): string[] {
  const events: string[] = [];
  for (let next = cursor.take(); next; next = cursor.take())
    events.push(`${/^id: (.*)$/m.exec(next.frame.toString())?.[1] ?? 'none'} ${next.event}`);
  return events;
}

function say(log: EventLog, name: string, chars = 1): void {
  log.append({ event: name, data: JSON.stringify('x'.repeat(chars)) });
}

describe('EventLog', () => {
  const places: [string, ReadFrom, string[]][] = [
    ['from now on, after the opening', { kind: 'now' }, ['1-2 metadata', '1-3 c']],
    ['everything that is kept', { kind: 'kept' }, ['1-0 metadata', '1-1 a', '1-2 b', '1-3 c']],
    ['after a position', { kind: 'after', position: { attempt: 1, n: 1 } }, ['1-2 b', '1-3 c']],
    ['after a position that is yet to come', { kind: 'after', position: { attempt: 1, n: 3 } }, []],
  ];
  it.each(places)('gives a reader %s', (_title, from, expected) => {
    const log = logOf();
    say(log, 'a');
    say(log, 'b');
    const cursor = log.read(from, NOTHING);
    say(log, 'c');
    expect(taken(cursor)).toEqual(expected);
    expect(cursor.state).toBe('waiting');
    log.end({ body: '' });
    expect(cursor.state).toBe('ended');
  });

  it('numbers only the events that it keeps', () => {
    const log = new EventLog('run', { maxBytes: 1_000 });
    log.open(1, OPENING);
    say(log, 'unread');
    expect(log.bytes).toBe(0);
    const cursor = log.read({ kind: 'now' }, NOTHING);
    say(log, 'read');
    expect(taken(cursor)).toEqual(['1-0 metadata', '1-1 read']);
  });

  it('keeps what waits for a reader that reads, above the limit too', async () => {
    let nowMs = 0;
    const log = new EventLog('run', { maxBytes: 3_000, patience: { ms: 100, nowMs: () => nowMs } });
    log.record();
    log.open(1, OPENING);
    const slow = log.read({ kind: 'now' }, NOTHING);
    const stalled = log.read({ kind: 'now' }, NOTHING);
    expect([taken(slow), taken(stalled)]).toEqual([['1-0 metadata'], ['1-0 metadata']]);
    nowMs = 1_000; // a pause of the run is no pause of its readers
    const grow = async (...names: string[]): Promise<void> => {
      for (const name of names) {
        say(log, name, 2_000);
        await setImmediate();
        nowMs += 30;
      }
    };
    await grow('a', 'b', 'c');
    expect(taken(slow)).toEqual(['1-1 a', '1-2 b', '1-3 c']);
    await grow('d', 'e');
    expect(taken(slow)).toEqual(['1-4 d', '1-5 e']);
    expect(stalled.state).toBe('behind');
    expect(log.bytes).toBeLessThan(5_000);
  });

  it('reports a dropped place to the reader that lost it alone', async () => {
    const log = logOf(3_000);
    const slow = log.read({ kind: 'now' }, NOTHING);
    const quick = log.read({ kind: 'now' }, NOTHING);
    expect(slow.take()?.event).toBe('metadata');
    for (const name of ['a', 'b', 'c', 'd']) {
      say(log, name, 1_000);
      await setImmediate();
      taken(quick);
    }
    expect(log.bytes).toBeLessThanOrEqual(3_000);
    expect([slow.take(), slow.state]).toEqual([undefined, 'behind']);
    expect(quick.state).toBe('waiting');
  });

  it('keeps an event larger than itself until the next one comes', async () => {
    const log = logOf(1_000);
    const cursor = log.read({ kind: 'now' }, NOTHING);
    await setImmediate();
    say(log, 'large', 100_000);
    await setImmediate();
    expect(taken(cursor)).toEqual(['1-0 metadata', '1-1 large']);
    say(log, 'small');
    expect(log.bytes).toBeLessThan(1_000);
    expect(taken(cursor)).toEqual(['1-2 small']);
  });

  it('keeps what comes in one turn of the event loop, which no reader could take', () => {
    const log = logOf(1_000);
    const cursor = log.read({ kind: 'now' }, NOTHING);
    for (const name of ['a', 'b', 'c']) say(log, name, 1_000);
    expect(taken(cursor)).toHaveLength(4);
  });

  it('goes on with the next attempt, under numbers of its own', () => {
    const log = logOf();
    say(log, 'a');
    const cursor = log.read({ kind: 'after', position: { attempt: 1, n: 0 } }, NOTHING);
    log.open(2, OPENING);
    say(log, 'b');
    expect(taken(cursor)).toEqual(['1-1 a', '2-0 metadata', '2-1 b']);
    expect(positionText(log.last ?? { attempt: 0, n: 0 })).toBe('2-1');
  });

  it('shows who waits for the end nothing else', () => {
    const log = logOf();
    const results: string[] = [];
    log.whenEnded(({ body }) => results.push(body));
    const stop = log.whenEnded(() => results.push('stopped'));
    stop();
    say(log, 'a');
    log.end({ body: 'the end' });
    log.end({ body: 'another' });
    expect(results).toEqual(['the end']);
  });
});
