import { beforeEach, describe, expect, it } from '@jest/globals';
import { WaitingLines } from './waiting-lines.js';

describe('waiting lines', () => {
  let lines: WaitingLines<string, string>;

  beforeEach(() => {
    lines = new WaitingLines();
    for (const name of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) lines.join(name.charAt(0), name);
  });

  /** Serves every line that is met until none is left. */
  function serveAll(): readonly (string | undefined)[] {
    const served = [];
    for (const [owner] of lines.firsts()) served.push(lines.serve(owner));
    return served;
  }

  it('serves owners in turn, and each in the order of its line', () => {
    expect(serveAll()).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
    expect(lines.isEmpty).toBe(true);
  });

  it('puts an owner that was served behind all others', () => {
    expect([lines.serve('b'), lines.serve('nameless')]).toEqual(['b1', undefined]);
    expect(serveAll()).toEqual(['a1', 'c1', 'b2', 'a2', 'a3']);
  });

  it('lets one leave from anywhere in its line, once', () => {
    expect(['a2', 'c1', 'c1'].map((name) => lines.leave(name.charAt(0), name))).toEqual([true, true, false]);
    expect(['a', 'b', 'c'].map((owner) => lines.lengthOf(owner))).toEqual([2, 2, 0]);
    expect([...lines.firsts()]).toEqual([
      ['a', 'a1'],
      ['b', 'b1'],
    ]);
  });
});
