import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Deployment, Pod, ReplicaSet } from '#lib/resources';
import {
  decideRollout,
  isSameTemplate,
  type RolloutDecision,
  sortSets,
  templateHash,
} from './decide-rollout.js';
import { planProportional, planRollingUpdate, rollingBounds, type Scaling } from './plan-scaling.js';
import { progressDeadlineMs, summarizeDeployment } from './summarize-deployment.js';

const TEMPLATE = { metadata: { labels: { app: 'x' } }, spec: { containers: [{ name: 'main', image: 'b' }] } };
type Rolling = { maxSurge?: number | string; maxUnavailable?: number | string };

function deployment(
  replicas: number,
  rollingUpdate: Rolling = {},
  spec: Partial<Deployment['spec']> = {},
): Deployment {
  return {
    metadata: { namespace: 'ns', name: 'web', uid: 'd', generation: 1 },
    spec: {
      replicas,
      selector: { matchLabels: { app: 'x' } },
      template: TEMPLATE,
      strategy: { type: 'RollingUpdate', rollingUpdate },
      ...spec,
    },
  };
}
function set(
  name: string,
  replicas: number,
  available = replicas,
  more: { desired?: number; max?: number; revision?: number; age?: number } = {},
): ReplicaSet {
  const annotations = {
    ...(more.desired === undefined
      ? {}
      : { 'deployment.kubernetes.io/desired-replicas': String(more.desired) }),
    ...(more.max === undefined ? {} : { 'deployment.kubernetes.io/max-replicas': String(more.max) }),
    'deployment.kubernetes.io/revision': String(more.revision ?? 1),
  };
  return {
    metadata: {
      namespace: 'ns',
      name,
      uid: name,
      annotations,
      creationTimestamp: `2026-01-01T00:00:${String(more.age ?? 0).padStart(2, '0')}Z`,
      generation: 1,
    },
    spec: { replicas, selector: { matchLabels: { app: 'x' } }, template: TEMPLATE },
    status: { replicas, availableReplicas: available, readyReplicas: available, observedGeneration: 1 },
  };
}
const text = (scalings: readonly Scaling[]): string =>
  scalings.map(({ set: one, replicas }) => `${one.metadata.name}=${replicas}`).join(' ');

describe('rollingBounds', () => {
  it.each<[number, Rolling, number, number]>([
    [4, {}, 1, 1],
    [10, { maxSurge: '25%', maxUnavailable: '25%' }, 3, 2],
    [1, {}, 1, 0],
    [1, { maxSurge: 0, maxUnavailable: '25%' }, 0, 1],
    [3, { maxSurge: 2, maxUnavailable: 5 }, 2, 3],
  ])(
    'allows %d replicas with %j to have %d more, %d fewer',
    (replicas, rolling, maxSurge, maxUnavailable) => {
      expect(rollingBounds(deployment(replicas, rolling))).toEqual({ maxSurge, maxUnavailable });
    },
  );
});

describe('planRollingUpdate', () => {
  it.each<[string, Deployment, ReplicaSet, ReplicaSet[], string]>([
    [
      'grows the current set as far as the surge allows',
      deployment(4, { maxSurge: 1, maxUnavailable: 0 }),
      set('new', 0),
      [set('old', 4)],
      'new=1',
    ],
    [
      'waits for the new pod when nothing may be missing',
      deployment(4, { maxSurge: 1, maxUnavailable: 0 }),
      set('new', 1, 0),
      [set('old', 4)],
      '',
    ],
    [
      'shrinks the old one when the new pod serves',
      deployment(4, { maxSurge: 1, maxUnavailable: 0 }),
      set('new', 1, 1),
      [set('old', 4)],
      'old=3',
    ],
    [
      'shrinks the old one at once by what may be missing',
      deployment(4, { maxSurge: 0, maxUnavailable: 2 }),
      set('new', 0),
      [set('old', 4)],
      'old=2',
    ],
    [
      'removes sick old pods first, whatever the new ones do',
      deployment(4, { maxSurge: 1, maxUnavailable: 1 }),
      set('new', 1, 0),
      [set('old', 4, 3)],
      'old=3',
    ],
    ['shrinks a set that is larger than wanted', deployment(2), set('new', 5), [], 'new=2'],
    ['is done when all is new', deployment(3), set('new', 3), [set('old', 0)], ''],
  ])('%s', (_name, given, current, old, expected) =>
    expect(text(planRollingUpdate(given, { current, old }))).toBe(expected),
  );

  it('stays within its bounds and ends, in whatever order pods become ready', () => {
    const args = fc.tuple(
      fc.integer({ min: 1, max: 8 }),
      fc.integer({ min: 0, max: 3 }),
      fc.integer({ min: 0, max: 3 }),
      fc.infiniteStream(fc.boolean()),
    );
    fc.assert(
      fc.property(args, ([replicas, maxSurge, maxUnavailable, coins]) => {
        const given = deployment(replicas, { maxSurge, maxUnavailable });
        const bounds = rollingBounds(given);
        let [current, old] = [set('new', 0), set('old', replicas)];
        for (let step = 0; step < 500; step++) {
          for (const { set: one, replicas: size } of planRollingUpdate(given, { current, old: [old] })) {
            const next = set(one.metadata.name, size, Math.min(size, one.status?.availableReplicas ?? 0));
            if (one.metadata.name === 'new') current = next;
            else old = next;
          }
          const [news, olds] = [current.spec.replicas ?? 0, old.spec.replicas ?? 0];
          expect(news + olds).toBeLessThanOrEqual(replicas + bounds.maxSurge);
          const available = (current.status?.availableReplicas ?? 0) + (old.status?.availableReplicas ?? 0);
          expect(available).toBeGreaterThanOrEqual(replicas - bounds.maxUnavailable);
          if (news === replicas && olds === 0 && available === replicas) return;
          const ready = current.status?.availableReplicas ?? 0;
          if (ready < news && coins.next().value) current = set('new', news, ready + 1);
        }
        throw new Error('did not end');
      }),
    );
  });
});

describe('planProportional', () => {
  it.each<[string, Deployment, ReplicaSet | undefined, ReplicaSet[], string]>([
    ['gives the only set the number', deployment(5), set('new', 3), [], 'new=5'],
    [
      'shuts the old ones down when the current one is full',
      deployment(3),
      set('new', 3),
      [set('old', 2)],
      'new=3 old=0',
    ],
    [
      'shares growth by size',
      deployment(20, { maxSurge: 0 }),
      set('new', 4, 2, { max: 10, desired: 10 }),
      [set('old', 6, 6, { max: 10, desired: 10 })],
      'old=12 new=8',
    ],
    [
      'shares shrinking by size',
      deployment(5, { maxSurge: 0 }),
      set('new', 4, 2, { max: 10, desired: 10 }),
      [set('old', 6, 6, { max: 10, desired: 10 })],
      'old=3 new=2',
    ],
    [
      'scales to nothing',
      deployment(0),
      set('new', 4, 4, { max: 10, desired: 10 }),
      [set('old', 6, 6, { max: 10, desired: 10 })],
      'old=0 new=0',
    ],
  ])('%s', (_name, given, current, old, expected) =>
    expect(text(planProportional(given, { current, old }))).toBe(expected),
  );
});

describe('decideRollout', () => {
  const running: Pod = { metadata: { name: 'p' }, spec: { containers: [] }, status: { phase: 'Running' } };
  const finished: Pod = { ...running, status: { phase: 'Failed' } };
  const recreate = { strategy: { type: 'Recreate' } } as const;
  const describeDecision = (decision: RolloutDecision): string => {
    switch (decision.kind) {
      case 'none':
        return 'none';
      case 'create':
        return `create ${decision.replicas}`;
      case 'scale':
        return `scale ${text(decision.scalings)}`;
      case 'clean-up':
        return `clean up ${decision.sets.map(({ metadata }) => metadata.name).join()}`;
      default:
        return decision satisfies never;
    }
  };
  const complete = (replicas: number, spec: Partial<Deployment['spec']> = {}): Deployment => ({
    ...deployment(replicas, {}, spec),
    status: { replicas, updatedReplicas: replicas, availableReplicas: replicas, observedGeneration: 1 },
  });
  const deleting = { ...deployment(2), metadata: { name: 'web', deletionTimestamp: '2026-01-01T00:00:00Z' } };
  it.each<[string, Deployment, ReplicaSet | undefined, ReplicaSet[], Pod[], string]>([
    ['makes the first set with all replicas', deployment(3), undefined, [], [], 'create 3'],
    [
      'makes a new set as large as the surge allows',
      deployment(4, { maxSurge: 1 }),
      undefined,
      [set('old', 4)],
      [],
      'create 1',
    ],
    [
      'shuts the old sets down first where pods must not overlap',
      deployment(2, {}, recreate),
      undefined,
      [set('old', 2)],
      [running],
      'scale old=0',
    ],
    [
      'waits for the last old pod where pods must not overlap',
      deployment(2, {}, recreate),
      undefined,
      [set('old', 0)],
      [running],
      'none',
    ],
    [
      'does not wait for old pods that finished',
      deployment(2, {}, recreate),
      undefined,
      [set('old', 0)],
      [finished],
      'create 2',
    ],
    [
      'makes nothing while paused',
      deployment(2, {}, { paused: true }),
      undefined,
      [set('old', 2)],
      [],
      'none',
    ],
    [
      'follows a change of replicas before anything else',
      deployment(6),
      set('new', 1, 1, { desired: 4, max: 5 }),
      [set('old', 3, 3, { desired: 4, max: 5 })],
      [],
      'scale old=6 new=2',
    ],
    ['does nothing about a deployment that is going', deleting, undefined, [], [], 'none'],
    [
      'removes empty sets over the limit, lowest revision first',
      complete(1, { revisionHistoryLimit: 1 }),
      set('new', 1),
      [set('x', 0, 0, { revision: 3 }), set('y', 0, 0, { revision: 2 })],
      [],
      'clean up y',
    ],
    [
      'keeps sets that still have pods',
      complete(1, { revisionHistoryLimit: 0 }),
      set('new', 1),
      [{ ...set('x', 0), status: { replicas: 1, observedGeneration: 1 } }],
      [],
      'none',
    ],
  ])('%s', (_name, given, current, old, oldPods, expected) => {
    expect(describeDecision(decideRollout(given, { current, old }, oldPods))).toBe(expected);
  });
});

describe('summarizeDeployment', () => {
  const at = (seconds: number): Date => new Date(Date.UTC(2026, 0, 1, 0, 0, seconds));
  const progressing = (given: Deployment, current: ReplicaSet, seconds: number): string => {
    const status = summarizeDeployment(given, { current, old: [] }, undefined, at(seconds));
    const condition = status.conditions?.find(({ type }) => type === 'Progressing');
    return `${condition?.status} ${condition?.reason}`;
  };
  const slow = (reason: string, spec: Partial<Deployment['spec']> = {}): Deployment => ({
    ...deployment(2, {}, { progressDeadlineSeconds: 10, ...spec }),
    status: {
      replicas: 2,
      updatedReplicas: 2,
      readyReplicas: 1,
      availableReplicas: 1,
      conditions: [
        {
          type: 'Progressing',
          status: 'True',
          reason,
          message: '',
          lastUpdateTime: '2026-01-01T00:00:00Z',
          lastTransitionTime: '2026-01-01T00:00:00Z',
        },
      ],
    },
  });
  it.each<[string, Deployment, ReplicaSet, number, string]>([
    [
      'stays while the time is not over',
      slow('ReplicaSetUpdated'),
      set('new', 2, 1),
      10,
      'True ReplicaSetUpdated',
    ],
    [
      'times out without progress',
      slow('ReplicaSetUpdated'),
      set('new', 2, 1),
      11,
      'False ProgressDeadlineExceeded',
    ],
    [
      'counts one more available pod as progress',
      slow('ReplicaSetUpdated'),
      { ...set('new', 2, 2), status: { replicas: 2, readyReplicas: 2, availableReplicas: 1 } },
      11,
      'True ReplicaSetUpdated',
    ],
    [
      'is available when all are',
      slow('ReplicaSetUpdated'),
      set('new', 2, 2),
      11,
      'True NewReplicaSetAvailable',
    ],
    [
      'does not time out once it was complete',
      slow('NewReplicaSetAvailable'),
      set('new', 2, 1),
      99,
      'True NewReplicaSetAvailable',
    ],
    [
      'says that it is paused',
      slow('ReplicaSetUpdated', { paused: true }),
      set('new', 2, 1),
      1,
      'Unknown DeploymentPaused',
    ],
    ['says that it goes on', slow('DeploymentPaused'), set('new', 2, 1), 1, 'Unknown DeploymentResumed'],
    [
      'has no Progressing condition without a deadline',
      slow('ReplicaSetUpdated', { progressDeadlineSeconds: 2_147_483_647 }),
      set('new', 2, 1),
      99,
      'undefined undefined',
    ],
  ])('%s', (_name, given, current, seconds, expected) =>
    expect(progressing(given, current, seconds)).toBe(expected),
  );

  it('returns the time of the next look', () => {
    const given = slow('ReplicaSetUpdated');
    const status = summarizeDeployment(given, { current: set('new', 2, 1), old: [] }, undefined, at(5));
    expect(progressDeadlineMs(given, status)).toBe(at(10).getTime());
  });
});

describe('templateHash', () => {
  it('ignores the hash label, absent values, the order of keys and an empty creation time', () => {
    const a = {
      metadata: { labels: { x: '1', y: '2', 'pod-template-hash': 'z' } },
      spec: { containers: [] },
    };
    const b = { spec: { containers: [] }, metadata: { creationTimestamp: null, labels: { y: '2', x: '1' } } };
    expect(isSameTemplate(a, b)).toBe(true);
    expect(templateHash(a)).toBe(templateHash(b));
    expect(templateHash(a, 1)).not.toBe(templateHash(a));
    expect(templateHash(a)).toMatch(/^[a-z0-9]{10}$/);
    expect(isSameTemplate(a, TEMPLATE)).toBe(false);
  });

  it('reads a large template once, however many replica sets are compared with it', () => {
    const env = Array.from({ length: 20_000 }, (_, at) => ({ name: `V${at}`, value: 'x' }));
    let reads = 0;
    const container = {
      name: 'main',
      image: 'b',
      get env() {
        reads++;
        return env;
      },
    };
    const template = { ...TEMPLATE, spec: { containers: [container] } };
    const sets = Array.from({ length: 2_000 }, (_, at) => set(`old${at}`, 0));
    expect(sortSets(deployment(1, {}, { template }), sets)).toMatchObject({ current: undefined, old: sets });
    expect(reads).toBeLessThan(10);
  });
});
