import type { Item } from '../world/items.js';
import { ProgressMemory } from './progress-memory.js';
import { parseFilter, type Searchable } from './row-filter.js';

const ROW: Searchable = {
  text: 'ws-default sample-agent crashloop',
  valueOf: (name) => ({ state: 'CrashLoop', 'app.kubernetes.io/name': 'weather', url: '' })[name],
};

describe('parseFilter', () => {
  it.each([
    ['lets a text through that is part of it', 'SAMPLE', true],
    ['wants all words', 'sample other', false],
    ['turns a word around', '!other', true],
    ['turns a word around that matches', '!sample', false],
    ['compares a column', 'state=crash', true],
    ['compares a label', 'app.kubernetes.io/name=weather', true],
    ['finds what is not so', 'state!=ready', true],
    ['turns a comparison around', '!state=crash', false],
    ['finds what is empty', 'url=', true],
    ['finds what is not empty', 'url!=', false],
    ['takes a missing column for empty', 'bogus=', true],
  ])('%s', (_name, filter, expected) => {
    expect(parseFilter(filter)?.(ROW)).toBe(expected);
  });

  it('lets everything through for blanks and a lone mark', () => {
    expect(parseFilter('  ')).toBeUndefined();
    expect(parseFilter('!')).toBeUndefined();
  });
});

describe('ProgressMemory', () => {
  const june: Item = { metadata: { name: 'june', uid: 'u1' } };
  const added = { kind: 'added', object: june } as const;
  const record = (memory: ProgressMemory, rows: number, percent: number, atMs: number): void =>
    memory.record(added, { rows, bytes: 0, percent }, atMs);

  it('computes the rate between changes', () => {
    const memory = new ProgressMemory();
    record(memory, 0, 0, 0);
    record(memory, 20_000, 10, 2000);
    expect(memory.ratesOf(june, 2500)).toEqual([10_000]);
  });

  it('ends with a rate of zero once nothing has come for a while', () => {
    const memory = new ProgressMemory();
    record(memory, 0, 0, 0);
    record(memory, 20_000, 10, 2000);
    expect(memory.ratesOf(june, 30_000)).toEqual([10_000, 0]);
  });

  it('never lets a percentage go back', () => {
    const memory = new ProgressMemory();
    record(memory, 100, 60, 0);
    record(memory, 10, 5, 1000);
    expect(memory.percentOf(june, 5)).toBe(60);
    expect(memory.percentOf(june, 61)).toBe(61);
  });

  it('says how long it takes at this pace, and nothing when it cannot know', () => {
    const memory = new ProgressMemory();
    record(memory, 0, 0, 0);
    expect(memory.timeLeftMs(june, 0)).toBeUndefined();
    record(memory, 100, 50, 10_000);
    expect(memory.timeLeftMs(june, 10_000)).toBe(10_000);
    expect(memory.timeLeftMs(june, 14_000)).toBe(6_000);
    expect(memory.timeLeftMs(june, 200_000)).toBeUndefined();
  });

  it('forgets what was deleted, and takes one of the same name for another', () => {
    const memory = new ProgressMemory();
    record(memory, 100, 60, 0);
    memory.record({ kind: 'deleted', object: june }, undefined, 1);
    expect(memory.size).toBe(0);
    expect(memory.percentOf({ metadata: { name: 'june', uid: 'u2' } }, 1)).toBe(1);
  });

  it('remembers no more than exports exist while 10,000 come and go', () => {
    const memory = new ProgressMemory();
    for (let at = 0; at < 10_000; at++) {
      const object: Item = { metadata: { name: `x${at}`, uid: `u${at}` } };
      memory.record({ kind: 'added', object }, { rows: 1, bytes: 0, percent: 1 }, at);
      memory.record({ kind: 'deleted', object }, undefined, at);
    }
    expect(memory.size).toBe(0);
  });
});
