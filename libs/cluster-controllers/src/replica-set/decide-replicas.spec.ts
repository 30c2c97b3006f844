import { describe, expect, it } from '@jest/globals';
import type { Pod, ReplicaSet } from '#lib/resources';
import { matchesSelector, planClaim } from '../workload/claim.js';
import { decideReplicas } from './replica-set-controller.js';

const set = (replicas: number): ReplicaSet => ({
  metadata: { name: 's', uid: 's' },
  spec: { replicas, selector: { matchLabels: { app: 'x' } }, template: { spec: { containers: [] } } },
});
interface Traits {
  readonly phase?: 'Pending' | 'Running' | 'Failed';
  readonly ready?: boolean;
  readonly nodeName?: string;
  readonly restarts?: number;
  readonly cost?: string;
  readonly created?: string;
  readonly deleted?: boolean;
}
const pod = (
  name: string,
  {
    phase = 'Running',
    ready = true,
    nodeName = 'n',
    restarts = 0,
    cost,
    created = '2026-01-01T00:00:00Z',
    deleted,
  }: Traits = {},
): Pod => ({
  metadata: {
    name,
    uid: name,
    creationTimestamp: created,
    annotations: cost === undefined ? {} : { 'controller.kubernetes.io/pod-deletion-cost': cost },
    ...(deleted ? { deletionTimestamp: created } : {}),
  },
  spec: { containers: [], nodeName },
  status: {
    phase,
    conditions: [
      { type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: '2026-01-01T00:00:00Z' },
    ],
    containerStatuses: [{ name: 'main', image: '', imageID: '', ready, restartCount: restarts }],
  },
});

describe('decideReplicas', () => {
  it.each<[string, ReplicaSet, Pod[], string]>([
    ['makes what is missing', set(3), [pod('a')], 'create 2'],
    [
      'does not count what ended or is being deleted',
      set(2),
      [pod('a', { phase: 'Failed' }), pod('b', { deleted: true })],
      'create 2',
    ],
    ['is content with the right number', set(1), [pod('a')], 'none'],
    ['deletes pods without a node first', set(1), [pod('a'), pod('b', { nodeName: '' })], 'delete b'],
    [
      'then those that do not run',
      set(1),
      [pod('a'), pod('b', { phase: 'Pending', ready: false })],
      'delete b',
    ],
    ['then those that are not ready', set(1), [pod('a'), pod('b', { ready: false })], 'delete b'],
    ['then the cheapest', set(1), [pod('a', { cost: '5' }), pod('b', { cost: '-5' })], 'delete b'],
    ['then those that restarted most', set(1), [pod('a'), pod('b', { restarts: 3 })], 'delete b'],
    ['then the youngest', set(1), [pod('a'), pod('b', { created: '2026-01-02T00:00:00Z' })], 'delete b'],
    [
      'does nothing once it is going',
      { ...set(1), metadata: { name: 's', deletionTimestamp: 'x' } },
      [],
      'none',
    ],
    ['makes no more than 500 at once', set(2_000), [], 'create 500'],
  ])('%s', (_name, given, pods, expected) => {
    const decision = decideReplicas(given, pods);
    const detail =
      decision.kind === 'create'
        ? ` ${decision.count}`
        : decision.kind === 'delete'
          ? ` ${decision.pods.map(({ metadata }) => metadata.name).join()}`
          : '';
    expect(`${decision.kind}${detail}`).toBe(expected);
  });
});

describe('planClaim', () => {
  const owner = { metadata: { name: 's', uid: 's' } };
  const ownerRef = {
    group: 'apps',
    version: 'v1',
    plural: 'replicasets',
    kind: 'ReplicaSet',
    namespaced: true,
  };
  const child = (name: string, app: string, uid?: string): Pod => ({
    metadata: {
      name,
      labels: { app },
      ...(uid
        ? {
            ownerReferences: [
              { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: uid, uid, controller: true },
            ],
          }
        : {}),
    },
    spec: { containers: [] },
  });
  it('keeps its own matching pods, adopts matching orphans, releases its own others and leaves the rest', () => {
    const plan = planClaim({ owner, ownerRef, selector: { matchLabels: { app: 'x' } } }, [
      child('mine', 'x', 's'),
      child('orphan', 'x'),
      child('lost', 'y', 's'),
      child('foreign', 'x', 't'),
      child('stranger', 'y'),
    ]);
    const names = (children: readonly Pod[]): string => children.map(({ metadata }) => metadata.name).join();
    expect([names(plan.ours), names(plan.adopt), names(plan.release)]).toEqual(['mine', 'orphan', 'lost']);
  });
});

describe('matchesSelector', () => {
  it.each<[string, Parameters<typeof matchesSelector>[0], boolean]>([
    ['nothing matches an empty selector', {}, false],
    ['labels match', { matchLabels: { app: 'x' } }, true],
    ['every label must match', { matchLabels: { app: 'x', tier: 'b' } }, false],
    ['In', { matchExpressions: [{ key: 'app', operator: 'In', values: ['x', 'y'] }] }, true],
    [
      'NotIn, also for a label that is not there',
      { matchExpressions: [{ key: 'zone', operator: 'NotIn', values: ['x'] }] },
      true,
    ],
    ['Exists', { matchExpressions: [{ key: 'zone', operator: 'Exists' }] }, false],
    ['DoesNotExist', { matchExpressions: [{ key: 'zone', operator: 'DoesNotExist' }] }, true],
  ])('%s', (_name, selector, expected) => expect(matchesSelector(selector, { app: 'x' })).toBe(expected));
});
