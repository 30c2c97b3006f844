import { describe, expect, it } from '@jest/globals';
import { ValuePlaces } from './value-places.js';

function place(places: ValuePlaces, value: string): number {
  const bytes = Buffer.from(`before${value}behind`);
  return places.place(bytes, 6, bytes.length - 12);
}

describe('places of values', () => {
  it('numbers values in order of appearance, and the same value alike', () => {
    const places = new ValuePlaces();
    const values = ['b', 'a', '', 'b', 'aa', '', 'x'.repeat(65), 'x'.repeat(64), 'a', 'x'.repeat(65)];
    expect(values.map((value) => place(places, value))).toEqual([0, 1, 2, 0, 3, 2, 4, 5, 1, 4]);
    expect(places.size).toBe(6);
  });

  it('keeps the numbers of many values of every length', () => {
    const places = new ValuePlaces();
    const values = Array.from({ length: 20_000 }, (_, n) => `${'y'.repeat(n % 90)}${n}`);
    const numbers = values.map((_, n) => n);
    expect(values.map((value) => place(places, value))).toEqual(numbers);
    expect(values.map((value) => place(places, value))).toEqual(numbers);
  });

  it('distinguishes values that differ in one byte anywhere', () => {
    const places = new ValuePlaces();
    const values = Array.from({ length: 200 }, (_, n) => `${'z'.repeat(n)}!${'z'.repeat(199 - n)}`);
    expect(new Set(values.map((value) => place(places, value))).size).toBe(200);
  });

  it('begins anew when it is cleared', () => {
    const places = new ValuePlaces();
    for (let n = 0; n < 1_000; n++) place(places, `${n}`);
    places.clear();
    expect([places.size, place(places, '7'), place(places, '8'), place(places, '7')]).toEqual([0, 0, 1, 0]);
  });
});
