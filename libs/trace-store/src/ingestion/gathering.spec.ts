import { setImmediate } from 'node:timers/promises';
import { FakeClock } from '#lib/testing';
import { Gathering, type Weight } from './gathering.js';

const LIGHT: Weight = { operations: 1, bytes: 100 };
const HEAVY: Weight = { operations: 100, bytes: 100 };

describe('the gathering of requests', () => {
  /** Ends what is under way, the oldest first. */
  let end: (() => void)[] = [];
  let performed: (readonly string[])[] = [];
  const store = async (requests: readonly string[]): Promise<readonly PromiseSettledResult<string>[]> => {
    performed.push(requests);
    await new Promise<void>((resolve) => end.push(resolve));
    if (requests.includes('all fail')) throw new Error('unavailable');
    return requests.map((request) =>
      request === 'wrong'
        ? { status: 'rejected', reason: new Error('it is wrong') }
        : { status: 'fulfilled', value: `${request} is stored` },
    );
  };
  beforeEach(() => {
    [end, performed] = [[], []];
  });

  it('performs a request at once, and those together that come meanwhile', async () => {
    const gathering = new Gathering<string, string>({ after: () => () => undefined });
    const first = gathering.add('line', 'a', LIGHT, store);
    const others = ['b', 'wrong', 'd'].map((name) => gathering.add('line', name, LIGHT, store));
    const settled = Promise.allSettled(others);
    expect(performed).toEqual([['a']]);
    end.shift()?.();
    expect(await first).toBe('a is stored');
    end.shift()?.();
    expect((await settled).map((one) => (one.status === 'fulfilled' ? one.value : one.status))).toEqual([
      'b is stored',
      'rejected',
      'd is stored',
    ]);
    expect(performed).toEqual([['a'], ['b', 'wrong', 'd']]);
  });

  it('keeps lines apart, and lets heavy requests wait for none', () => {
    const gathering = new Gathering<string, string>({ after: () => () => undefined });
    for (const [line, name, weight] of [
      ['one', 'a', LIGHT],
      ['other', 'b', LIGHT],
      ['one', 'c', HEAVY],
      ['one', 'd', LIGHT],
    ] as const)
      void gathering.add(line, name, weight, store);
    expect(performed).toEqual([['a'], ['b'], ['c']]);
  });

  it('lets none wait longer than a moment for one that lasts', async () => {
    const clock = new FakeClock();
    const gathering = new Gathering<string, string>(clock);
    void gathering.add('line', 'lasts', LIGHT, store);
    void gathering.add('line', 'b', LIGHT, store);
    await clock.advance(50);
    expect(performed).toEqual([['lasts'], ['b']]);
  });

  it('performs no more together than one transaction should hold', async () => {
    const gathering = new Gathering<string, string>({ after: () => () => undefined });
    const many = Array.from({ length: 1 + 250 }, (_one, n) => gathering.add('line', `${n}`, LIGHT, store));
    while (performed.flat().length < many.length) {
      end.shift()?.();
      await setImmediate();
    }
    expect(performed.map(({ length }) => length)).toEqual([1, 200, 50]);
  });

  it('fails all that went together when none could be stored', async () => {
    const gathering = new Gathering<string, string>({ after: () => () => undefined });
    void gathering.add('line', 'a', LIGHT, store);
    const two = ['all fail', 'c'].map((name) => gathering.add('line', name, LIGHT, store));
    const settled = Promise.allSettled(two);
    end.shift()?.();
    await setImmediate();
    end.shift()?.();
    expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });
});
