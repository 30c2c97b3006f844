import { FakeClock } from '#lib/testing';
import { ItemIndex } from './item-index.js';

describe('ItemIndex', () => {
  it('takes a question back that its model does not answer', async () => {
    const clock = new FakeClock();
    const given: (AbortSignal | undefined)[] = [];
    const hang = (_: unknown, signal?: AbortSignal): Promise<never> => {
      given.push(signal);
      return new Promise(() => undefined);
    };
    const embedder = { embedDocuments: hang, embedQuery: hang };
    const index = new ItemIndex({ dims: 2, fields: ['$'], embed: 'openai:small', embedder, clock });
    const asked = [index.vectorOf('a'), index.vectorsOf({ a: 'b' }, undefined)];
    const ended = Promise.allSettled(asked);
    await clock.advance(59_999);
    expect(given.map((signal) => signal?.aborted)).toEqual([false, false]);
    await clock.advance(1);
    expect(given.map((signal) => signal?.aborted)).toEqual([true, true]);
    expect((await ended).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });
});
