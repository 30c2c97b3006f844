import type { Deployment, Listener } from '#lib/resources';
import { listenerConditions, refuseListener } from './decide-listener.js';

const STALE = '2026-01-01T00:00:00Z';

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
      'reports a running pod and a fresh heartbeat',
      listener('2026-01-01T00:00:50Z'),
      workload(1),
      ['WorkloadReady=True/Available', 'HeartbeatFresh=True/Available'],
    ],
    [
      'accepts its own namespace in spec.namespaces',
      listener('2026-01-01T00:00:50Z', ['ws-x']),
      workload(1),
      ['WorkloadReady=True/Available', 'HeartbeatFresh=True/Available'],
    ],
    [
      'reports a missing pod and a missing heartbeat',
      listener(),
      undefined,
      ['WorkloadReady=False/Unavailable', 'HeartbeatFresh=Unknown/NoHeartbeat'],
    ],
    [
      'ignores the status of an earlier generation',
      listener('2026-01-01T00:00:50Z'),
      workload(1, 0),
      ['WorkloadReady=False/Unavailable', 'HeartbeatFresh=True/Available'],
    ],
    [
      'reports a stale heartbeat',
      listener(STALE),
      workload(1),
      ['WorkloadReady=True/Available', 'HeartbeatFresh=False/NoHeartbeat'],
    ],
  ])('%s', (_, one, deployment, expected) => {
    const found = listenerConditions(one, deployment, one.status?.lastHeartbeatTime !== STALE);
    expect(found.map(({ type, status, reason }) => `${type}=${status}/${reason}`)).toEqual(expected);
  });

  it('reports a refusal and nothing else', () => {
    const refusal = { reason: 'NotOurs', message: 'Role x belongs to another owner' };
    expect(listenerConditions(listener('2026-01-01T00:00:50Z'), workload(1), true, refusal)).toEqual([
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
    ['accepts a listener alone in its namespace', younger, [younger], undefined],
    ['accepts its own namespace', listener(undefined, ['ws-x']), [], undefined],
    ['refuses namespaces of others', listener(undefined, ['ws-x', 'kube-system']), [], 'NotSupported'],
    ['refuses a compute id of an older listener', younger, [made('a', 1), younger], 'ComputeIdTaken'],
    ['accepts a compute id that a younger listener wants', made('a', 1), [made('a', 1), younger], undefined],
    [
      'accepts a compute id of a listener that is being deleted',
      younger,
      [made('a', 1, { deletionTimestamp: 'now' }), younger],
      undefined,
    ],
  ])('%s', (_, one, all, expected) => {
    expect(refuseListener(one, all)?.reason).toBe(expected);
  });
});
