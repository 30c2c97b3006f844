import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { itLong } from '#lib/testing';
import { type Health, lastWordOn, SimulatedRollout, type Step } from './testdata/simulated-rollout.js';

const HEALTHS: readonly Health[] = ['starting', 'ready', 'ready', 'ready', 'crashing', 'broken'];

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 2, arbitrary: fc.constant({ kind: 'revision' } as const) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('repeat' as const), back: fc.integer({ min: 0, max: 4 }) }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('health' as const),
      back: fc.integer({ min: 0, max: 3 }),
      health: fc.constantFrom(...HEALTHS),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('suspend' as const), isSuspended: fc.boolean() }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('time' as const),
      seconds: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 20, max: 400 })),
    }),
  },
  { weight: 10, arbitrary: fc.constant({ kind: 'pass' } as const) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('pass' as const),
      diesAt: fc.record({ write: fc.integer({ min: 0, max: 8 }), isDone: fc.boolean() }),
    }),
  },
);

/** Checks the invariants after every step, however it ended. */
function checkStep(rollout: SimulatedRollout, words: Map<string, string>, step: Step): void {
  for (const revision of rollout.revisions) {
    const { name } = revision.metadata;
    const word = lastWordOn(revision);
    // what was said for good is never taken back
    if (words.get(name) === 'Failed') expect([name, word]).toEqual([name, 'Failed']);
    if (word !== undefined) words.set(name, word);
  }
  const { target, pods } = rollout;
  if (!target) return;
  expect([...pods.keys()]).toContain(target.workload);
  if (step.kind !== 'pass' || step.diesAt) return;
  const serving = rollout.revisions.filter(({ status }) => status?.serving);
  expect(serving.map(({ metadata }) => metadata.name)).toEqual([target.revision]);
  if (!rollout.isSuspended) expect([target, pods.get(target.workload)]).toEqual([target, 1]);
}

async function check(steps: readonly Step[]): Promise<void> {
  const rollout = new SimulatedRollout();
  const words = new Map<string, string>();
  await rollout.perform({ kind: 'revision' });
  for (const one of steps) {
    await rollout.perform(one);
    checkStep(rollout, words, one);
  }
  await rollout.settle();
  for (const move of rollout.moves)
    expect(move).toEqual({ to: expect.any(String), isReady: true, hasFailed: false });
  const newest = rollout.revisions.at(-1);
  const name = newest?.metadata.name;
  if (newest && lastWordOn(newest) === undefined) expect(rollout.target?.revision).toBe(name);
  // what does not serve has no pods, and what never may has no Deployment
  for (const [workload, replicas] of rollout.pods)
    expect([workload, replicas]).toEqual([workload, workload === rollout.target?.workload ? 1 : 0]);
  for (const revision of rollout.revisions)
    if (lastWordOn(revision) !== undefined && revision.metadata.name !== rollout.target?.workload)
      expect([...rollout.pods.keys()]).not.toContain(revision.metadata.name);
}

const sequences = fc.array(step, { minLength: 10, maxLength: 80 });

describe('a simulated rollout', () => {
  it('serves what is ready and newest, and never what has failed, wherever the listener dies', async () => {
    await fc.assert(fc.asyncProperty(sequences, check), { numRuns: 300 });
  });

  it('reports the pods that a start begins in the pass that begins it', async () => {
    const rollout = new SimulatedRollout();
    for (const step of [
      { kind: 'revision' },
      { kind: 'pass' },
      { kind: 'suspend', isSuspended: true },
      { kind: 'pass' },
      { kind: 'pass' },
      { kind: 'suspend', isSuspended: false },
    ] as const)
      await rollout.perform(step);
    expect(rollout.revisions[0]?.status?.replicas).toBe(0);
    await rollout.pass();
    expect(rollout.revisions[0]?.status).toMatchObject({ replicas: 1, readyReplicas: 0 });
  });

  itLong('serves so in ten thousand sequences', async () => {
    await fc.assert(fc.asyncProperty(sequences, check), { numRuns: 10_000 });
  });
});
