import type { Deployment, Listener } from '#lib/resources';
import { listenerConditions, refuseListener } from './decide-listener.js';

const NOW = new Date('2026-01-01T00:01:00Z');

function listener(lastHeartbeatTime?: string, namespaces?: string[]): Listener {
  return {
    apiVersion: 'agentplane.dev/v1alpha1',
    kind: 'Listener',
    metadata: { name: 'default', namespace: 'ws-x' },
    spec: { computeType: 'cluster', computeId: 'here', ...(namespaces ? { namespaces } : {}) },
    ...(lastHeartbeatTime === undefined ? {} : { status: { lastHeartbeatTime } }),
  };
}

function workload(availableReplicas: number, observedGeneration = 1): Deployment {
  return {
    metadata: { name: 'listener-default', generation: 1 },
    spec: { selector: {}, template: { spec: { containers: [] } } },
    status: { availableReplicas, observedGeneration },
  };
}

describe('listenerConditions', () => {
  it.each([
    [
      'all is well',
      listener('2026-01-01T00:00:50Z'),
      workload(1),
      ['WorkloadReady=True/Available', 'HeartbeatFresh=True/Available'],
    ],
    [
      'its own namespace may be named',
      listener('2026-01-01T00:00:50Z', ['ws-x']),
      workload(1),
      ['WorkloadReady=True/Available', 'HeartbeatFresh=True/Available'],
    ],
    [
      'no pod, never heard of',
      listener(),
      undefined,
      ['WorkloadReady=False/Unavailable', 'HeartbeatFresh=Unknown/NoHeartbeat'],
    ],
    [
      'a status of an earlier generation does not count',
      listener('2026-01-01T00:00:50Z'),
      workload(1, 0),
      ['WorkloadReady=False/Unavailable', 'HeartbeatFresh=True/Available'],
    ],
    [
      'a heart that stopped',
      listener('2026-01-01T00:00:00Z'),
      workload(1),
      ['WorkloadReady=True/Available', 'HeartbeatFresh=False/NoHeartbeat'],
    ],
  ])('%s', (_, one, deployment, expected) => {
    const found = listenerConditions(one, deployment, NOW);
    expect(found.map(({ type, status, reason }) => `${type}=${status}/${reason}`)).toEqual(expected);
  });

  it('of one that is refused say nothing else', () => {
    const refusal = { reason: 'NotOurs', message: 'Role x belongs to somebody else' };
    expect(listenerConditions(listener('2026-01-01T00:00:50Z'), workload(1), NOW, refusal)).toEqual([
      { type: 'WorkloadReady', status: 'False', ...refusal },
    ]);
  });
});

describe('refuseListener', () => {
  const made = (name: string, second: number, metadata: object = {}): Listener => ({
    ...listener(),
    metadata: {
      name,
      namespace: 'ws-x',
      uid: name,
      creationTimestamp: `2026-01-01T00:00:0${second}Z`,
      ...metadata,
    },
  });
  const younger = made('b', 2);
  it.each<[string, Listener, readonly Listener[], string | undefined]>([
    ['alone', younger, [younger], undefined],
    ['its own namespace', listener(undefined, ['ws-x']), [], undefined],
    ['namespaces of others', listener(undefined, ['ws-x', 'kube-system']), [], 'NotSupported'],
    ['a compute id that an older one has', younger, [made('a', 1), younger], 'ComputeIdTaken'],
    ['a compute id that a younger one wants', made('a', 1), [made('a', 1), younger], undefined],
    ['a compute id that is going', younger, [made('a', 1, { deletionTimestamp: 'now' }), younger], undefined],
  ])('%s', (_, one, all, expected) => {
    expect(refuseListener(one, all)?.reason).toBe(expected);
  });
});
