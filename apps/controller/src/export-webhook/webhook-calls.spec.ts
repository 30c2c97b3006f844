import { beforeEach, describe, expect, it } from '@jest/globals';
import type { ObjectKey } from '#lib/resources';
import type { CallOutcome } from './decide-webhook.js';
import { WebhookCalls } from './webhook-calls.js';

const OUTCOME: CallOutcome = { attempt: 1, pauseMs: 1, answer: { kind: 'accepted' } };

describe('WebhookCalls', () => {
  let calls: WebhookCalls;
  let enqueued: string[];
  beforeEach(() => {
    calls = new WebhookCalls();
    enqueued = [];
    calls.feed(({ name }) => enqueued.push(name));
  });

  const key = (name: string, namespace = 'ws-a'): ObjectKey => ({ namespace, name });
  const admit = (name: string, namespace?: string): boolean => calls.admit(key(name, namespace), name);
  const begin = (name: string, namespace?: string): ((outcome: CallOutcome) => void) => {
    const { promise, resolve } = Promise.withResolvers<CallOutcome>();
    calls.begin(key(name, namespace), () => promise);
    return resolve;
  };
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  it('admits two of a workspace, and others beside them', () => {
    expect([admit('a'), admit('b'), admit('c'), admit('d', 'ws-b')]).toEqual([true, true, false, true]);
  });

  it('admits 32 in all', () => {
    const admitted = Array.from({ length: 40 }, (_, n) => admit(`x${n}`, `ws-${n}`));
    expect(admitted.filter(Boolean)).toHaveLength(32);
  });

  it('enqueues those that wait in the order in which they came', async () => {
    admit('a');
    admit('b');
    admit('c');
    admit('d');
    begin('a')(OUTCOME);
    begin('b')(OUTCOME);
    await settled();
    expect(enqueued.filter((name) => name > 'b')).toEqual(['c', 'd']);
    expect([admit('c'), admit('d')]).toEqual([true, true]);
  });

  it('keeps the outcome of a call until it is reported', async () => {
    admit('a');
    const end = begin('a');
    expect(calls.find(key('a'), 'a')).toEqual({ isUnderWay: true, outcome: undefined });
    end(OUTCOME);
    await settled();
    expect(calls.find(key('a'), 'a')).toEqual({ isUnderWay: false, outcome: OUTCOME });
    calls.leave(key('a'));
    expect(calls.find(key('a'), 'a')).toEqual({ isUnderWay: false, outcome: undefined });
  });

  it('gives the place of one that leaves to the next', async () => {
    admit('a');
    admit('b');
    admit('c');
    calls.leave(key('a'));
    await settled();
    expect(enqueued).toEqual(['c']);
  });

  it('knows nothing of a former export of the name', async () => {
    admit('a');
    begin('a')(OUTCOME);
    await settled();
    expect(calls.find(key('a'), 'another').outcome).toBeUndefined();
  });
});
