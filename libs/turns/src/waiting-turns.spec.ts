import { describe, expect, it } from '@jest/globals';
import { WaitingTurns } from './waiting-turns.js';

describe('waiting turns', () => {
  it('forgets who has left, and serves the others', async () => {
    const turns = new WaitingTurns<string>();
    const left = new AbortController();
    const began: string[] = [];
    const waits = (owner: string, name: string, signal?: AbortSignal): Promise<unknown> =>
      turns.wait(owner, signal).then(
        () => began.push(name),
        (reason: Error) => began.push(`${name} ${reason.message}`),
      );
    const all = [waits('a', 'a1', left.signal), waits('a', 'a2'), waits('b', 'b1', left.signal)];
    expect([...turns.owners()]).toEqual(['a', 'b']);
    left.abort(new Error('left'));
    expect([turns.lengthOf('a'), turns.lengthOf('b'), turns.isEmpty]).toEqual([1, 0, false]);
    expect([turns.begin('b'), turns.begin('a'), turns.isEmpty]).toEqual([false, true, true]);
    await Promise.all(all);
    expect(began.sort()).toEqual(['a1 left', 'a2', 'b1 left']);
  });

  it('takes no one in who has left before', async () => {
    const turns = new WaitingTurns<string>();
    await expect(turns.wait('a', AbortSignal.abort(new Error('left')))).rejects.toThrow('left');
    expect(turns.isEmpty).toBe(true);
  });

  it('keeps the turn of one who leaves once it has come', async () => {
    const turns = new WaitingTurns<string>();
    const left = new AbortController();
    const turn = turns.wait('a', left.signal);
    expect(turns.begin('a')).toBe(true);
    left.abort(new Error('left'));
    await expect(turn).resolves.toBeUndefined();
  });
});
