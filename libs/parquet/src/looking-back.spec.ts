import { describe, expect, it } from '@jest/globals';
import { LookingBack } from './looking-back.js';

describe('a column that may look back', () => {
  it('tries it on the first long page of every sixteenth row group', () => {
    const column = new LookingBack();
    const tried = Array.from({ length: 40 }, (_, group) => {
      const pages = [column.takeTrial(), column.takeTrial()];
      expect(pages[1]).toBe(false);
      column.endGroup();
      return pages[0] ? [group] : [];
    });
    expect(tried.flat()).toEqual([0, 16, 32]);
  });

  it('does so until a trial speaks against it, and again once one speaks for it', () => {
    const column = new LookingBack();
    const after = (pays: boolean | undefined): boolean => {
      column.heed(pays);
      return column.isWorthwhile;
    };
    expect([undefined, false, undefined, true, undefined].map(after)).toEqual([
      true,
      false,
      false,
      true,
      true,
    ]);
  });
});
