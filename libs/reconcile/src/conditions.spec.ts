import { describe, expect, it } from '@jest/globals';
import type { Condition, KubeObject } from '#lib/resources';
import { finalizerStep } from './owner.js';
import { isStatusCurrent, observedGeneration, summarizeReady } from './ready.js';

function condition(type: string, status: Condition['status'], reason = 'Because'): Condition {
  return { type, status, reason, message: `${type} ${reason}`, lastTransitionTime: '2025-01-01T00:00:00Z' };
}

describe('summarizeReady', () => {
  const rule = { needs: ['DatabaseReady', 'RevisionReady'], failures: ['Failed'] };
  it.each<[string, Condition[], string]>([
    [
      'is True when every need is',
      [condition('DatabaseReady', 'True'), condition('RevisionReady', 'True')],
      'True Ready',
    ],
    ['is Unknown while a need is not known', [condition('DatabaseReady', 'True')], 'Unknown Pending'],
    [
      'takes status and reason of the first need that is not True',
      [condition('RevisionReady', 'Unknown', 'Later'), condition('DatabaseReady', 'False', 'NoServer')],
      'False NoServer',
    ],
    [
      'is False with the reason of a failure, whatever else is True',
      [
        condition('DatabaseReady', 'True'),
        condition('RevisionReady', 'True'),
        condition('Failed', 'True', 'CrashLoop'),
      ],
      'False CrashLoop',
    ],
    [
      'does not mind a failure that is not True',
      [condition('DatabaseReady', 'True'), condition('RevisionReady', 'True'), condition('Failed', 'False')],
      'True Ready',
    ],
  ])('%s', (_name, conditions, expected) => {
    const ready = summarizeReady(conditions, rule, 7);
    expect(`${ready.status} ${ready.reason}`).toBe(expected);
    expect(ready.observedGeneration).toBe(7);
  });
});

describe('finalizerStep', () => {
  const object = (metadata: Partial<KubeObject['metadata']>): KubeObject => ({
    metadata: { name: 'a', ...metadata },
  });
  const deletionTimestamp = '2026-01-01T00:00:00Z';
  it.each([
    ['asks for the finalizer first', object({}), 'add'],
    ['lets an object with it be reconciled', object({ finalizers: ['x/y'] }), 'proceed'],
    [
      'asks to finalize what is being deleted with it',
      object({ finalizers: ['x/y'], deletionTimestamp }),
      'finalize',
    ],
    [
      "leaves alone what is being deleted with another's",
      object({ finalizers: ['z/z'], deletionTimestamp }),
      'gone',
    ],
  ])('%s', (_name, given, expected) => expect(finalizerStep(given, 'x/y')).toBe(expected));
});

describe('observedGeneration', () => {
  const object = { metadata: { name: 'a', generation: 4 }, status: { observedGeneration: 3 } };
  it('moves only when the generation was handled to the end', () => {
    expect([observedGeneration(object, true), observedGeneration(object, false)]).toEqual([4, 3]);
    expect(isStatusCurrent(object)).toBe(false);
  });
});
