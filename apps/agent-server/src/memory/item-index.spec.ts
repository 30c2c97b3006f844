import { FakeClock } from '#lib/testing';
import { type Scope, EVERY_ROW } from '../store/scope.js';
import { WORKER } from '../store/worker-scope.js';
import { ItemIndex } from './item-index.js';

describe('ItemIndex', () => {
  it('asks its model for one caller eight times at once, and for others meanwhile', async () => {
    const asked: string[] = [];
    const embedQuery = (text: string): Promise<never> => {
      asked.push(text);
      return new Promise(() => undefined);
    };
    const embedder = { embedDocuments: () => Promise.reject(new Error('not asked')), embedQuery };
    const clock = new FakeClock();
    const index = new ItemIndex({ dims: 2, fields: ['$'], embed: 'openai:small', embedder, clock });
    const scopeOf = (caller: string): Scope => ({ kind: 'caller', caller, filter: EVERY_ROW });
    const refused: unknown[] = [];
    const ask = (caller: string): void =>
      void index.vectorOf(scopeOf(caller), caller).catch((error: Error) => refused.push(error.message));
    for (let at = 0; at < 109; at++) ask('ann');
    ask('bob');
    await clock.advance(0);
    expect([asked.filter((text) => text === 'ann').length, asked.includes('bob')]).toEqual([8, true]);
    expect(refused).toEqual(['Embedding: 100 requests wait for their turn; retry']);
  });

  it('asks nothing for a client that has gone before its turn', async () => {
    const asked: string[] = [];
    const ends: (() => void)[] = [];
    const embedQuery = (text: string): Promise<number[]> => {
      asked.push(text);
      return new Promise((resolve) => ends.push(() => resolve([1, 0])));
    };
    const embedder = { embedDocuments: () => Promise.reject(new Error('not asked')), embedQuery };
    const clock = new FakeClock();
    const index = new ItemIndex({ dims: 2, fields: ['$'], embed: 'openai:small', embedder, clock });
    const left = new AbortController();
    const scope = (signal?: AbortSignal): Scope => ({
      kind: 'caller',
      caller: 'ann',
      filter: EVERY_ROW,
      ...(signal ? { left: signal } : {}),
    });
    const before = Array.from({ length: 8 }, () => index.vectorOf(scope(), 'before'));
    const gone = index.vectorOf(scope(left.signal), 'gone').catch(() => 'left');
    const after = index.vectorOf(scope(), 'after');
    left.abort(new Error('the client left'));
    expect(await gone).toBe('left');
    ends[0]?.();
    await before[0];
    await clock.advance(0);
    expect(asked).toEqual([...Array.from({ length: 8 }, () => 'before'), 'after']);
    for (const end of ends) end();
    await Promise.all([...before, after]);
  });

  it('takes a question back that its model does not answer', async () => {
    const clock = new FakeClock();
    const given: (AbortSignal | undefined)[] = [];
    const hang = (_: unknown, signal?: AbortSignal): Promise<never> => {
      given.push(signal);
      return new Promise(() => undefined);
    };
    const embedder = { embedDocuments: hang, embedQuery: hang };
    const index = new ItemIndex({ dims: 2, fields: ['$'], embed: 'openai:small', embedder, clock });
    const asked = [index.vectorOf(WORKER, 'a'), index.vectorsOf(WORKER, { a: 'b' }, undefined)];
    const ended = Promise.allSettled(asked);
    await clock.advance(59_999);
    expect(given.map((signal) => signal?.aborted)).toEqual([false, false]);
    await clock.advance(1);
    expect(given.map((signal) => signal?.aborted)).toEqual([true, true]);
    expect((await ended).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });
});
