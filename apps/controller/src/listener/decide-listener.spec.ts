import type { Deployment, Listener } from '#lib/resources';
import { listenerConditions } from './decide-listener.js';

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
    [
      'namespaces of others are refused',
      listener('2026-01-01T00:00:50Z', ['ws-x', 'kube-system']),
      workload(1),
      ['WorkloadReady=False/NotSupported'],
    ],
  ])('%s', (_, one, deployment, expected) => {
    const found = listenerConditions(one, deployment, NOW);
    expect(found.map(({ type, status, reason }) => `${type}=${status}/${reason}`)).toEqual(expected);
  });
});
