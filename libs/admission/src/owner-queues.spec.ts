import { beforeEach, describe, expect, it } from '@jest/globals';
import { OwnerQueues } from './admission.js';

describe('queues of owners', () => {
  let queues: OwnerQueues<string, string>;

  beforeEach(() => {
    queues = new OwnerQueues();
    for (const name of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) queues.join(name.charAt(0), name);
  });

  /** Serves every queue until all are empty. */
  function serveAll(): readonly (string | undefined)[] {
    const served = [];
    for (const [owner] of queues.firsts()) served.push(queues.serve(owner));
    return served;
  }

  it('serves owners in turn, and each in the order of its queue', () => {
    expect(serveAll()).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
    expect(serveAll()).toEqual([]);
  });

  it('puts an owner that was served behind all others', () => {
    expect([queues.serve('b'), queues.serve('nameless')]).toEqual(['b1', undefined]);
    expect(serveAll()).toEqual(['a1', 'c1', 'b2', 'a2', 'a3']);
  });

  it('lets one leave from anywhere in its queue, once', () => {
    expect(['a2', 'c1', 'c1'].map((name) => queues.leave(name.charAt(0), name))).toEqual([true, true, false]);
    expect(['a', 'b', 'c'].map((owner) => queues.lengthOf(owner))).toEqual([2, 2, 0]);
    expect([...queues.firsts()]).toEqual([
      ['a', 'a1'],
      ['b', 'b1'],
    ]);
  });
});
