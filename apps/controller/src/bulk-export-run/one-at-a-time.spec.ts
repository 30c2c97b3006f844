import { describe, expect, it } from '@jest/globals';
import { OneAtATime } from './bulk-export-run-reconciler.js';

describe('OneAtATime', () => {
  it('keeps the order of a key, whatever fails, and holds up no other', async () => {
    const turns = new OneAtATime();
    const said: string[] = [];
    const gate = Promise.withResolvers<void>();
    const first = turns.do('a', () => gate.promise);
    const second = turns.do('a', () => Promise.reject(new Error(`after ${said.join(' ')}`)));
    const third = turns.do('a', async () => void said.push('third'));
    await turns.do('b', async () => void said.push('other'));
    gate.resolve();
    await first;
    await expect(second).rejects.toThrow('after other');
    await third;
    expect(said).toEqual(['other', 'third']);
  });
});
