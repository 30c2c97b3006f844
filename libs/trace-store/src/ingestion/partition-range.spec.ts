import { describe, expect, it } from '@jest/globals';
import { type Instant, parseInstant } from '#lib/time';
import { partitionRange, rangeOfName, rangeSuffix } from './day-partitions.js';

const at = (date: string): Instant => parseInstant(`${date}T00:00:00Z`, { zone: 'required' }) ?? 0n;
const named = (name: string) => {
  const range = rangeOfName(`runs_${name}`);
  if (!range) throw new Error(`${name} is no name of a partition`);
  return range;
};
const TODAY = at('2026-11-22');

describe('partitionRange', () => {
  it.each<[string, string, readonly string[], string]>([
    ['today', '2026-11-22', [], '20261122'],
    ['a week ago', '2026-11-15', [], '20261115'],
    ['in a week', '2026-11-29', [], '20261129'],
    ['the beginning of this month', '2026-11-03', [], '20261101_20261115'],
    ['the day before the last week', '2026-11-14', ['20261113'], '20261114'],
    ['another month', '2026-08-31', [], '20260801_20260901'],
    ['a month with days of their own', '2026-08-15', ['20260803', '20260820'], '20260804_20260820'],
    ['a day between two existing ones', '2026-08-04', ['20260803', '20260805'], '20260804'],
    ['a December', '2025-12-31', [], '20251201_20260101'],
    ['a year long past', '1999-05-05', [], '19990101_20000101'],
    ['a year with a month of its own', '1999-05-05', ['19990601_19990701'], '19990101_19990601'],
    ['the rest of this month', '2026-11-30', [], '20261130'],
    ['a month ahead', '2027-02-28', [], '20270201_20270301'],
  ])('assigns %s a range that no other partition holds', (_, day, taken, expected) => {
    expect(rangeSuffix(partitionRange(at(day), TODAY, taken.map(named)))).toBe(expected);
  });

  it('splits sixty years into few partitions that never overlap', () => {
    const taken = ['20260803', '20200229', '19990601_19990701'].map(named);
    for (let day = at('1970-01-01'); day < at('2026-11-15'); day += 86_400_000_000n) {
      if (taken.some(({ from, to }) => from <= day && day < to)) continue;
      const range = partitionRange(day, TODAY, taken);
      expect(range.from <= day && day < range.to).toBe(true);
      expect(taken.every(({ from, to }) => to <= range.from || range.to <= from)).toBe(true);
      taken.push(range);
    }
    expect(taken.length).toBeLessThan(110);
  });
});

describe('rangeOfName', () => {
  it.each(['runs_before_1970', 'runs_after_2099', 'runs'])('knows no days of %s', (name) => {
    expect(rangeOfName(name)).toBeUndefined();
  });
});
