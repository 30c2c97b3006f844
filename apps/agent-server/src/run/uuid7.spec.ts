import { uuid7 } from './requested-run.js';

const TIME = new Date('2026-11-22T10:00:00.123Z');

describe('uuid7', () => {
  it('makes uuids of version 7 that begin with their time and never repeat', () => {
    const ids = Array.from({ length: 1_000 }, () => uuid7(TIME));
    for (const id of ids) {
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      expect(parseInt(id.slice(0, 13).replace('-', ''), 16)).toBe(TIME.getTime());
    }
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('sorts by the time of making', () => {
    const ids = [0, 1, 2, 1_000_000].map((ms) => uuid7(new Date(TIME.getTime() + ms)));
    expect([...ids].sort()).toEqual(ids);
  });
});
