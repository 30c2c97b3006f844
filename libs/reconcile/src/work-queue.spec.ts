import { describe, expect, it } from '@jest/globals';
import { FakeClock } from '#lib/testing';
import { WorkQueue } from './work-queue.js';

function queue(clock = new FakeClock()): { queue: WorkQueue; clock: FakeClock } {
  const options = {
    clock,
    backoff: { firstMs: 100, longestMs: 1_000 },
    bucket: { perSecond: 1, burst: 3 },
    random: () => 0.5,
  };
  return { queue: new WorkQueue(options), clock };
}

/** Immediate result of `next`; undefined when it would wait. */
async function nextNow(q: WorkQueue): Promise<string | undefined> {
  return q.depth === 0 ? undefined : await q.next();
}

describe('WorkQueue', () => {
  it('hands keys out once, in order of arrival', async () => {
    const { queue: q } = queue();
    for (const key of ['a', 'b', 'a']) q.add(key);
    expect([await nextNow(q), await nextNow(q), await nextNow(q)]).toEqual(['a', 'b', undefined]);
  });

  it('lets namespaces take turns, whatever one of them has waiting', async () => {
    const { queue: q, clock } = queue();
    for (let n = 0; n < 100; n++) q.add(`noisy/${n}`);
    await clock.advance(5);
    for (const key of ['quiet/a', 'quiet/b', 'all', 'noisy/0']) q.add(key);
    const order: (string | undefined)[] = [];
    for (let n = 0; n < 6; n++) order.push(await nextNow(q));
    expect(order).toEqual(['noisy/0', 'quiet/a', 'all', 'noisy/1', 'quiet/b', 'noisy/2']);
    expect([q.depth, q.oldestMs]).toEqual([97, 5]);
  });

  it('hands urgent keys of a namespace out first, and lets the others have every fifth turn', async () => {
    const isUrgent = (key: string): boolean => key.startsWith('ws/u');
    const q = new WorkQueue({ clock: new FakeClock(), isUrgent });
    for (const key of ['ws/a', 'ws/b', ...Array.from({ length: 9 }, (_, n) => `ws/u${n}`)]) q.add(key);
    const order: (string | undefined)[] = [];
    for (let n = 0; n < 11; n++) order.push(await nextNow(q));
    expect(order.map((key) => key?.slice(3)).join(' ')).toBe('u0 u1 u2 u3 a u4 u5 u6 u7 b u8');
  });

  it('gives keys that are set aside places of their own, and one of them at any time', async () => {
    const aside = { has: (key: string) => key.startsWith('ws/gone'), most: 2 };
    const q = new WorkQueue({ clock: new FakeClock(), aside });
    for (const key of ['ws/gone1', 'ws/gone2', 'ws/gone3', 'ws/a', 'ws/b']) q.add(key);
    const order = [await q.next(), await q.next(), await q.next(), await q.next()];
    expect(order.map((key) => key?.slice(3))).toEqual(['gone1', 'a', 'b', 'gone2']);
    const idle = q.next();
    expect(q.depth).toBe(1);
    q.add('ws/c');
    expect(await idle).toBe('ws/c');
    const next = q.next();
    q.finish('ws/gone2');
    expect(await next).toBe('ws/gone3');
  });

  it('moves a waiting key forward that has become urgent, once', async () => {
    const urgent = new Set<string>();
    const q = new WorkQueue({ clock: new FakeClock(), isUrgent: (key) => urgent.has(key) });
    for (const key of ['ws/a', 'ws/b']) q.add(key);
    urgent.add('ws/b');
    q.add('ws/b');
    expect(q.depth).toBe(2);
    expect([await nextNow(q), await nextNow(q), await nextNow(q)]).toEqual(['ws/b', 'ws/a', undefined]);
  });

  it('gives a key that was added while in flight out again after it is finished, and not before', async () => {
    const { queue: q } = queue();
    q.add('a');
    await q.next();
    q.add('a');
    q.add('a');
    q.add('b');
    expect(await q.next()).toBe('b');
    q.finish('b');
    q.finish('a');
    expect(await nextNow(q)).toBe('a');
    q.finish('a');
    expect(await nextNow(q)).toBeUndefined();
  });

  it('wakes a worker that waits', async () => {
    const { queue: q } = queue();
    const next = q.next();
    q.add('a');
    expect(await next).toBe('a');
  });

  it('adds a delayed key at the earliest of its times', async () => {
    const { queue: q, clock } = queue();
    q.addAfter('a', 500);
    q.addAfter('a', 100);
    q.addAfter('a', 900);
    await clock.advance(99);
    expect(q.depth).toBe(0);
    await clock.advance(1);
    expect(await nextNow(q)).toBe('a');
    q.finish('a');
    await clock.advance(1_000);
    expect(q.depth).toBe(0);
  });

  it('drops the delay of a key that is handed out before, since the pass decides anew', async () => {
    const { queue: q, clock } = queue();
    q.addAfter('a', 100);
    q.add('a');
    await q.next();
    q.finish('a');
    await clock.advance(1_000);
    expect(q.depth).toBe(0);
  });

  it('keeps a delay that is asked for while the key is in flight', async () => {
    const { queue: q, clock } = queue();
    q.add('a');
    await q.next();
    q.addAfter('a', 100);
    q.finish('a');
    await clock.advance(100);
    expect(await nextNow(q)).toBe('a');
  });

  it('waits longer after each failure of a key, up to the bound, and begins anew after success', () => {
    const { queue: q } = queue();
    const wide = new WorkQueue({
      clock: new FakeClock(),
      backoff: { firstMs: 100, longestMs: 500 },
      random: () => 0.5,
    });
    expect([1, 2, 3, 4, 5].map(() => wide.addFailed('a'))).toEqual([100, 200, 400, 500, 500]);
    wide.forget('a');
    expect(wide.addFailed('a')).toBe(100);
    expect(q.failures('a')).toBe(0);
  });

  it('pauses for 15 s at most after transient trouble, and begins anew once another key was handled', async () => {
    const clock = new FakeClock();
    const q = new WorkQueue({ clock, random: () => 0.5 });
    const pauses = Array.from({ length: 10 }, () => q.addFailed('a', true));
    expect(pauses.slice(-3)).toEqual([12_800, 15_000, 15_000]);
    await clock.advance(1);
    q.forget('b');
    expect(q.addFailed('a', true)).toBe(100);
    q.forget('b');
    expect(q.addFailed('a')).toBe(200);
    q.close();
  });

  it('holds the failures of all keys together to the bucket', () => {
    const { queue: q } = queue();
    expect(['a', 'b', 'c', 'd', 'e'].map((key) => q.addFailed(key))).toEqual([100, 100, 100, 1_000, 2_000]);
  });

  it('has keys wait for a burst at most, whatever others fail', () => {
    const { queue: q } = queue();
    for (let n = 0; n < 1_000; n++) q.addFailed(`noisy/${n}`);
    expect(q.addFailed('quiet/a')).toBe(3_000);
  });

  it('takes one token for a key, however often it fails before its turn', () => {
    const { queue: q } = queue();
    for (let n = 0; n < 1_000; n++) q.addFailed('noisy/a');
    expect(['a', 'b', 'c'].map((key) => q.addFailed(key))).toEqual([100, 100, 1_000]);
  });

  it('measures how long its oldest key has waited', async () => {
    const { queue: q, clock } = queue();
    expect(q.oldestMs).toBe(0);
    q.add('a');
    await clock.advance(300);
    q.add('b');
    q.add('a');
    await clock.advance(200);
    expect(q.oldestMs).toBe(500);
    await q.next();
    expect(q.oldestMs).toBe(200);
  });

  it('ends its workers and its timers when it is closed', async () => {
    const { queue: q, clock } = queue();
    const waiting = q.next();
    q.addAfter('a', 100);
    q.close();
    expect(await waiting).toBeUndefined();
    expect(await q.next()).toBeUndefined();
    expect(clock.pending).toBe(0);
  });
});
