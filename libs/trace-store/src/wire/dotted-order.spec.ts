import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { instantOf } from '#lib/time';
import { ancestorsIn, buildDottedOrder, parseDottedOrder } from './dotted-order.js';

const segment = (id: string): string => `20261120T215904635001Z${id}`;

describe('a dotted order', () => {
  it('names the root, the parent and the run, and how many stand above it', () => {
    const [root, parent, id] = [randomUUID(), randomUUID(), randomUUID()] as const;
    const text = [root, parent, id].map((one) => segment(one.toUpperCase())).join('.');
    const startTime = instantOf(new Date('2026-11-20T21:59:04.635Z')) + 1n;
    expect(parseDottedOrder(text)).toEqual({
      text,
      id,
      startTime,
      traceId: root,
      parentRunId: parent,
      ancestors: 2,
    });
    expect(ancestorsIn(text)).toEqual([root, parent]);
    const alone = buildDottedOrder(startTime, id, undefined);
    expect(parseDottedOrder(alone)).toMatchObject({ id, traceId: id, parentRunId: undefined, ancestors: 0 });
    expect(ancestorsIn(alone)).toEqual([]);
    expect(parseDottedOrder(buildDottedOrder(0n, id, undefined))).toMatchObject({ startTime: 0n });
  });

  it('holds no list of the ids above it until they are written', () => {
    const ids = Array.from({ length: 1_000 }, () => randomUUID());
    const parsed = parseDottedOrder(ids.map(segment).join('.'));
    expect(parsed).toMatchObject({ ancestors: 999 });
    expect(Object.values(parsed ?? {}).filter((one) => typeof one === 'object')).toEqual([]);
  });

  it.each([
    ['nothing', ''],
    ['a segment without a time', `${randomUUID()}.${segment(randomUUID())}`],
    ['a last segment without an id', `${segment(randomUUID())}.20261120T215904635001Z`],
    ['a time that is none', `20261320T215904635001Z${randomUUID()}`],
    ['an empty segment', `${segment(randomUUID())}..${segment(randomUUID())}`],
    ['1,001 segments', Array.from({ length: 1_001 }, () => segment(randomUUID())).join('.')],
  ])('takes none with %s', (_what, text) => {
    expect(parseDottedOrder(text)).toBeUndefined();
  });
});
