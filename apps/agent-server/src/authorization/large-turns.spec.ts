import { setImmediate as settled } from 'node:timers/promises';
import { FakeClock } from '#lib/testing';
import { isLongerThan, LargeTurns } from './handler-process.js';

describe('LargeTurns', () => {
  const never = new AbortController().signal;
  let clock: FakeClock;
  let turns: LargeTurns;
  let asked: string[];

  beforeEach(() => {
    [clock, asked] = [new FakeClock(), []];
    turns = new LargeTurns(clock);
  });

  /** A question that is answered by `answer`. */
  function perform(
    name: string,
    signal = never,
    caller = 'alice',
  ): { readonly ended: Promise<string>; readonly answer: () => void } {
    const { promise, resolve } = Promise.withResolvers<string>();
    const ended = turns.perform(
      caller,
      () => {
        asked.push(name);
        return promise;
      },
      signal,
    );
    return { ended, answer: () => resolve(name) };
  }

  it('asks the next question once the one before is answered', async () => {
    const [first] = [perform('a'), perform('b')];
    await settled();
    expect(asked).toEqual(['a']);
    first.answer();
    expect(await first.ended).toBe('a');
    await settled();
    expect(asked).toEqual(['a', 'b']);
    expect(clock.pending).toBe(1);
  });

  it('asks the next question after two seconds', async () => {
    perform('a');
    perform('b');
    await clock.advance(1_999);
    expect(asked).toEqual(['a']);
    await clock.advance(1);
    expect(asked).toEqual(['a', 'b']);
  });

  it('serves callers in turn, however many questions one of them has', async () => {
    const [first] = ['a1', 'a2', 'a3'].map((name) => perform(name, never, 'a'));
    perform('b1', never, 'b');
    first?.answer();
    await settled();
    for (let turn = 0; turn < 3; turn++) await clock.advance(2_000);
    expect(asked).toEqual(['a1', 'a2', 'b1', 'a3']);
  });

  it('gives up a question that is aborted, before its turn or at it', async () => {
    const [atTurn, before] = [new AbortController(), new AbortController()];
    perform('a', atTurn.signal);
    const { ended } = perform('b', before.signal);
    perform('c');
    before.abort(new Error('refused'));
    await expect(ended).rejects.toThrow('refused');
    expect(asked).toEqual(['a']);
    atTurn.abort();
    await settled();
    expect(asked).toEqual(['a', 'c']);
  });
});

describe('isLongerThan', () => {
  it.each<[string, unknown, boolean]>([
    ['a text', 'a'.repeat(1_001), true],
    ['a short text', 'a'.repeat(900), false],
    ['a text in objects and lists', { a: [{ b: 'a'.repeat(1_001) }] }, true],
    ['many small members', Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`a${at}`, at])), true],
    ['many items', Array.from({ length: 1_001 }, () => 1), true],
    ['a small object', { a: [1, null, true, { b: 'c' }] }, false],
  ])('judges %s', (_title, value, expected) => {
    expect(isLongerThan(value, 1_000)).toBe(expected);
  });
});
