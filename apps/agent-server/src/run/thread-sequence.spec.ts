import fc from 'fast-check';
import { isAfter, type Position } from '../log/logged-event.js';
import { lastSequenceOf, placeOf, positionOf, sequenceOf } from './protocol-reading.js';

const event = fc.record({
  place: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 2 ** 23 + 5 })),
  attempt: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 200 })),
  n: fc.oneof(
    fc.integer({ min: 0, max: 5 }),
    fc.integer({ min: 65_530, max: 65_540 }),
    fc.integer({ min: 2 ** 20 - 5, max: 2 ** 20 + 5 }),
    fc.integer({ min: 0, max: 2 ** 23 + 5 }),
  ),
});

interface Placed extends Position {
  readonly place: number;
}

function comesAfter(one: Placed, other: Placed): boolean {
  return one.place === other.place ? isAfter(one, other) : one.place > other.place;
}

describe('the number of an event of a thread', () => {
  it('grows with the place of the run and the position in it, and never repeats', () => {
    fc.assert(
      fc.property(event, event, (one, other) => {
        const [first, second] = [sequenceOf(one.place, one), sequenceOf(other.place, other)];
        if (first === undefined || second === undefined) return;
        expect(first > second).toBe(comesAfter(one, other));
        expect(first < second).toBe(comesAfter(other, one));
        if (one.place < other.place) expect(lastSequenceOf(one.place)).toBeLessThan(second);
      }),
      { numRuns: 5_000 },
    );
  });

  it('names the run and the position again, and is held exactly', () => {
    fc.assert(
      fc.property(event, ({ place, ...position }) => {
        const sequence = sequenceOf(place, position);
        if (sequence === undefined) return;
        expect(Number.isSafeInteger(lastSequenceOf(place))).toBe(true);
        expect(sequence).toBeLessThan(lastSequenceOf(place));
        expect([placeOf(sequence), positionOf(sequence)]).toEqual([place, position]);
      }),
    );
  });

  const outside: [string, number, Position][] = [
    ['a run above the last place', 2 ** 23, { attempt: 1, n: 0 }],
    ['an attempt above the last', 1, { attempt: 128, n: 0 }],
    ['an event above the last', 1, { attempt: 1, n: 2 ** 23 }],
    ['the number behind everything', 1, { attempt: 127, n: 2 ** 23 - 1 }],
  ];
  it.each(outside)('ends before %s', (_title, place, position) => {
    expect(sequenceOf(place, position)).toBeUndefined();
  });
});
