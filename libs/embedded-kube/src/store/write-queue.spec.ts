import { describe, expect, it } from '@jest/globals';
import type { StoredChange, StoredObject } from './stored-object.js';
import { type PendingWrite, WriteQueue } from './write-queue.js';

let revision = 0;

function write(namespace: string, letters: number): PendingWrite {
  const name = `w${++revision}`;
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace } };
  const after: StoredObject = { object, json: 'x'.repeat(letters), revision };
  const key = { resource: 'configmaps', namespace, name };
  const change: StoredChange = { type: 'ADDED', ...key, after, before: undefined };
  return { change, done: Promise.withResolvers<StoredObject>() };
}

describe('the queue of writes', () => {
  it('refuses a namespace that holds half of its letters, until they are settled', () => {
    const queue = new WriteQueue({ letters: 1_000 });
    for (let index = 0; index < 5; index++) queue.add(write('a', 100));
    expect(() => queue.add(write('a', 100))).toThrow(
      expect.objectContaining({ code: 503, details: { retryAfterSeconds: 1 } }),
    );
    queue.add(write('b', 100));
    queue.add(write('', 100));
    const batch = queue.take();
    expect(() => queue.add(write('a', 100))).toThrow('writes to namespace a, which fill the memory');
    queue.settled(batch);
    queue.add(write('a', 100));
    expect(queue.letters).toBe(100);
  });

  it('gives out batches of a bounded number of writes and letters, in their order', () => {
    const queue = new WriteQueue({ batchWrites: 3, batchLetters: 100 });
    const writes = [10, 10, 10, 10, 80, 80, 500, 10].map((letters) => write('a', letters));
    for (const one of writes) queue.add(one);
    const batches: number[][] = [];
    while (!queue.isEmpty) batches.push(queue.take().map((one) => writes.indexOf(one)));
    expect(batches).toEqual([[0, 1, 2], [3, 4], [5], [6], [7]]);
  });

  it('gives back what a withdrawn write held, and withdraws none that is being committed', () => {
    const queue = new WriteQueue();
    const [first, second] = [write('a', 10), write('a', 20)];
    queue.add(first);
    const batch = queue.take();
    queue.add(second);
    expect([queue.withdraw(first), queue.withdraw(second), queue.isEmpty]).toEqual([false, true, true]);
    expect(queue.letters).toBe(10);
    queue.settled(batch);
    expect(queue.letters).toBe(0);
  });
});
