import { describe, expect, it } from '@jest/globals';
import { PublicError } from '#lib/errors';
import { Admission, type AdmissionLimits, type WaitOptions } from './admission.js';

/** Work that begins when it is admitted, and ends when the test ends it. The owner is the first letter of its name. */
class Works {
  readonly begun: string[] = [];
  readonly #ends = new Map<string, () => void>();
  readonly #admission: Admission;

  constructor(limits: AdmissionLimits) {
    this.#admission = new Admission(limits);
  }

  ask(...names: string[]): this {
    for (const name of names) void this.one(name);
    return this;
  }

  one(name: string, options?: WaitOptions): Promise<void> {
    const work = (): Promise<void> => {
      this.begun.push(name);
      return new Promise((resolve) => this.#ends.set(name, resolve));
    };
    return this.#admission.run(name.charAt(0), work, options);
  }

  async end(...names: string[]): Promise<void> {
    for (const name of names) {
      this.#ends.get(name)?.();
      await new Promise(setImmediate);
    }
  }
}

describe('admission of work that waits', () => {
  it('leaves each owner half of what the others leave', () => {
    const works = new Works({ capacity: 8, halves: true });
    works.ask('a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'b1', 'b2', 'b3', 'c1', 'c2', 'd1', 'e1');
    expect(works.begun).toEqual(['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1', 'd1']);
  });

  it('serves owners round-robin, and each in its order', async () => {
    const works = new Works({ capacity: 2, halves: true }).ask('a1', 'a2', 'a3', 'b1', 'b2', 'c1');
    expect(works.begun).toEqual(['a1', 'b1']);
    await works.end('a1', 'b1', 'a2', 'b2', 'c1');
    expect(works.begun).toEqual(['a1', 'b1', 'a2', 'b2', 'c1', 'a3']);
  });

  it('admits an owner behind one that has reached its own limit', async () => {
    const works = new Works({ capacity: 3, perOwner: 2 }).ask('a1', 'a2', 'a3', 'b1', 'b2');
    expect(works.begun).toEqual(['a1', 'a2', 'b1']);
    await works.end('b1');
    expect(works.begun).toEqual(['a1', 'a2', 'b1', 'b2']);
  });

  it('serves urgent work first, beyond the limit of an owner', async () => {
    const works = new Works({ capacity: 1, perOwner: 1 }).ask('a1', 'b1');
    void works.one('s1', { isUrgent: true });
    void works.one('s2', { isUrgent: true });
    await works.end('a1', 's1', 's2');
    expect(works.begun).toEqual(['a1', 's1', 's2', 'b1']);
  });

  it('gives the place back when work fails', async () => {
    const admission = new Admission({ capacity: 1 });
    await expect(admission.run('a', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    await expect(admission.run('b', () => Promise.resolve('served'))).resolves.toBe('served');
  });

  it('forgets work that was aborted while it waited, and serves those behind it', async () => {
    const works = new Works({ capacity: 1 }).ask('a1');
    const left = new AbortController();
    const gone = works.one('a2', { signal: left.signal });
    works.ask('a3');
    left.abort(new Error('left'));
    await expect(gone).rejects.toThrow('left');
    await expect(works.one('a4', { signal: left.signal })).rejects.toThrow('left');
    await works.end('a1');
    expect(works.begun).toEqual(['a1', 'a3']);
  });

  it('keeps the place of work that was aborted after it was admitted', async () => {
    const works = new Works({ capacity: 1 }).ask('a1');
    const left = new AbortController();
    const second = works.one('a2', { signal: left.signal });
    await works.end('a1');
    left.abort(new Error('left'));
    await works.end('a2');
    await expect(second).resolves.toBeUndefined();
  });

  it('lets a large request wait for room, and those behind it wait for it', async () => {
    const bytes = new Admission({ capacity: 10 });
    const first = await bytes.enter('a', { units: 8 });
    const entered: string[] = [];
    const large = bytes.enter('b', { units: 9 }).then((place) => (entered.push('large'), place));
    const small = bytes.enter('c', { units: 1 }).then((place) => (entered.push('small'), place));
    first.keep(5);
    await new Promise(setImmediate);
    expect([entered, bytes.waitingOf('b'), bytes.waitingOf('c')]).toEqual([[], 1, 1]);
    first.release();
    await Promise.all([large, small]);
    expect([entered, bytes.held]).toEqual([['large', 'small'], 10]);
  });
});

describe('admission of requests that are refused', () => {
  it('refuses in words what does not fit, and admits anything while nothing else is held', () => {
    const bytes = new Admission({ capacity: 10, halves: true, refusal: 'no room' });
    const place = bytes.open('a');
    place.hold(8);
    place.hold(8);
    expect(() => bytes.require('b', 1)).toThrow(new PublicError('too_many', 'no room'));
    place.keep(2);
    expect([place.units, bytes.require('b', 4).units, bytes.tryEnter('b', 1)]).toEqual([2, 4, undefined]);
    place.release();
    place.release();
    expect([bytes.held, bytes.heldBy('a'), bytes.heldBy('b')]).toEqual([4, 0, 4]);
  });

  it('bounds each owner that has a name', () => {
    const places = new Admission({ capacity: 4, perOwner: 1 });
    const entered = ['a', 'a', 'b', undefined, undefined, 'c'].map((owner) => places.tryEnter(owner));
    expect(entered.map((place) => place !== undefined)).toEqual([true, false, true, true, true, false]);
    entered[0]?.release();
    expect([places.tryEnter('b', 1, 2)?.units, places.held]).toEqual([1, 4]);
  });

  it('keeps a reserve for owners that hold little', () => {
    const places = new Admission({ capacity: 3, perOwner: 3, reserve: { perOwner: 1, units: 2 } });
    const owners = ['a', 'a', 'a', 'b', 'b', 'c', 'd'];
    const entered = owners.filter((owner) => places.tryEnter(owner));
    expect(entered).toEqual(['a', 'a', 'a', 'b', 'c']);
  });
});
