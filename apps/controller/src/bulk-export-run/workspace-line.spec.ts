import { describe, expect, it } from '@jest/globals';
import { WorkspaceLine } from './run-places.js';

describe('WorkspaceLine', () => {
  let nowMs = 0;
  const key = (namespace: string) => ({ namespace, name: 'x' });
  /** Workspaces that wait, with what they have at work. */
  function line(...namespaces: readonly string[]): WorkspaceLine {
    const made = new WorkspaceLine({ monotonicMs: () => nowMs });
    for (const namespace of namespaces) made.wait(key(namespace));
    return made;
  }
  const none = (): number => 0;

  it('serves workspaces in turn, however often one asks', () => {
    const waiting = line('a', 'b', 'c');
    const served: string[] = [];
    for (let turn = 0; turn < 7; turn++) {
      const { namespace = '' } = waiting.first(none) ?? {};
      served.push(namespace);
      waiting.begin(namespace);
      // it has more to do, and asks again at once
      waiting.wait(key(namespace));
    }
    expect(served.join('')).toBe('abcabca');
  });

  it('counts those that come before', () => {
    const waiting = line('a', 'b', 'c');
    waiting.begin('a');
    waiting.wait(key('a'));
    expect(['a', 'b', 'c'].map((one) => waiting.ahead(one, none))).toEqual([2, 0, 1]);
  });

  it('keeps no place for a workspace whose run cannot begin', () => {
    const waiting = line('a', 'b');
    waiting.leave({ namespace: 'a', name: 'another run' });
    expect(waiting.ahead('b', none)).toBe(1);
    waiting.leave(key('a'));
    expect([waiting.ahead('b', none), waiting.first(none)]).toEqual([0, key('b')]);
  });

  it('has those first that have fewer runs at work', () => {
    const atWork = (namespace: string): number => (namespace === 'a' ? 2 : 1);
    expect(line('a', 'b').ahead('a', atWork)).toBe(1);
    expect(line('a', 'b').first(atWork)).toEqual(key('b'));
  });

  it('forgets a workspace that has not looked for long', () => {
    const waiting = line('a', 'b');
    nowMs += 11_000;
    waiting.wait(key('b'));
    expect([waiting.ahead('b', none), waiting.first(none)]).toEqual([0, key('b')]);
  });
});
