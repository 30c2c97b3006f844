import {
  findCondition,
  isConditionTrue,
  removeCondition,
  setCondition,
  updateConditions,
} from './condition.js';

const THEN = new Date('2026-01-01T00:00:00.123Z');
const NOW = new Date('2026-01-02T00:00:00Z');
const draft = { type: 'Ready', status: 'True', reason: 'A', message: 'a' } as const;

describe('conditions', () => {
  const list = setCondition([], draft, THEN);

  it('get the time of their first status, in whole seconds', () => {
    expect(list).toEqual([{ ...draft, lastTransitionTime: '2026-01-01T00:00:00Z' }]);
  });
  it('keeps the time of a condition while only reason and message change', () => {
    const next = setCondition(list, { ...draft, reason: 'B' }, NOW);
    expect(next).toEqual([{ ...draft, reason: 'B', lastTransitionTime: '2026-01-01T00:00:00Z' }]);
  });
  it('move their time with their status, and leave the old list alone', () => {
    const next = setCondition(list, { ...draft, status: 'False' }, NOW);
    expect(findCondition(next, 'Ready')?.lastTransitionTime).toBe('2026-01-02T00:00:00Z');
    expect(isConditionTrue(list, 'Ready')).toBe(true);
  });
  it('change together: some are set, some go, others stay', () => {
    const before = setCondition(
      setCondition(list, { ...draft, type: 'Failed' }, THEN),
      { ...draft, type: 'Other' },
      THEN,
    );
    const said = { status: 'False', reason: 'B', message: 'b' } as const;
    expect(updateConditions(before, { Ready: said, Failed: undefined, New: said }, 3, NOW)).toEqual([
      { type: 'Ready', ...said, observedGeneration: 3, lastTransitionTime: '2026-01-02T00:00:00Z' },
      { ...draft, type: 'Other', lastTransitionTime: '2026-01-01T00:00:00Z' },
      { type: 'New', ...said, observedGeneration: 3, lastTransitionTime: '2026-01-02T00:00:00Z' },
    ]);
  });
  it('keeps the order of conditions, and removes one by its type', () => {
    const two = setCondition(list, { ...draft, type: 'Other' }, NOW);
    expect(setCondition(two, { ...draft, status: 'Unknown' }, NOW).map(({ type }) => type)).toEqual([
      'Ready',
      'Other',
    ]);
    expect(removeCondition(two, 'Ready').map(({ type }) => type)).toEqual(['Other']);
  });
});
