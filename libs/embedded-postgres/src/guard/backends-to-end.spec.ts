import { backendsToEnd, type LockHolder } from './backends-to-end.js';

const BUDGET = { perRole: 100, all: 250 };

const holders = (...given: readonly (readonly [role: string, locks: number])[]): LockHolder[] =>
  given.map(([role, locks], index) => ({ pid: index + 1, role, locks }));

describe('backendsToEnd', () => {
  it.each([
    ['ends no backend within the budget', holders(['a', 100], ['b', 100]), []],
    ['ends the backend that holds most of its role', holders(['a', 30], ['a', 500], ['b', 60]), [2]],
    ['ends as few as needed of a role with many', holders(['a', 60], ['a', 70], ['a', 40]), [2]],
    ['ends what is beyond the share of all roles', holders(['a', 90], ['b', 80], ['c', 99]), [3]],
    ['ends nothing where nothing is held', [], []],
  ])('%s', (_, given, pids) => {
    expect(backendsToEnd(given, BUDGET).map(({ pid }) => pid)).toEqual(pids);
  });
});
