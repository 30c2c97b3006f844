import { describe, expect, it } from '@jest/globals';
import { WaitingError } from '#lib/errors';
import { ServerTurns } from './provision.js';

describe('ServerTurns', () => {
  it('lets no more than two wait for servers, and goes on when one has answered or failed', async () => {
    const turns = new ServerTurns();
    const [first, second] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
    const asked = [turns.take(() => first.promise), turns.take(() => second.promise)];
    await expect(turns.take(() => Promise.resolve('third'))).rejects.toThrow(WaitingError);
    first.resolve('first');
    await expect(asked[0]).resolves.toBe('first');
    await expect(turns.take(() => Promise.resolve('third'))).resolves.toBe('third');
    second.reject(new Error('gone'));
    await expect(asked[1]).rejects.toThrow('gone');
    await expect(turns.take(() => Promise.resolve('fourth'))).resolves.toBe('fourth');
  });
});
