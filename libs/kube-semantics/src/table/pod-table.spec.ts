import { describe, expect, it } from '@jest/globals';
import { podTable } from './pod-table.js';

const NOW = new Date('2026-01-01T01:00:00Z');
const running = { running: { startedAt: '2026-01-01T00:00:00Z' } };
const container = (extra: object = {}) => ({
  name: 'main',
  ready: true,
  restartCount: 0,
  state: running,
  ...extra,
});

function cells(status: object, metadata: object = {}, spec: object = {}) {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', creationTimestamp: '2026-01-01T00:59:00Z', ...metadata },
    spec: { containers: [{ name: 'main' }], ...spec },
    status,
  };
  return podTable.cells(pod, NOW).slice(1, 4);
}

describe('the line of a pod', () => {
  it.each([
    ['a pod that waits for a node', { phase: 'Pending' }, {}, ['0/1', 'Pending', '0']],
    ['a pod that runs', { phase: 'Running', containerStatuses: [container()] }, {}, ['1/1', 'Running', '0']],
    [
      'a container that waits after a crash',
      {
        phase: 'Running',
        containerStatuses: [
          container({
            ready: false,
            restartCount: 3,
            state: { waiting: { reason: 'CrashLoopBackOff' } },
            lastState: { terminated: { finishedAt: '2026-01-01T00:58:00Z' } },
          }),
        ],
      },
      {},
      ['0/1', 'CrashLoopBackOff', '3 (2m ago)'],
    ],
    [
      'an image that cannot be pulled',
      {
        phase: 'Pending',
        containerStatuses: [container({ ready: false, state: { waiting: { reason: 'ErrImagePull' } } })],
      },
      {},
      ['0/1', 'ErrImagePull', '0'],
    ],
    [
      'a pod that has ended',
      {
        phase: 'Succeeded',
        containerStatuses: [
          container({ ready: false, state: { terminated: { exitCode: 0, reason: 'Completed' } } }),
        ],
      },
      {},
      ['0/1', 'Completed', '0'],
    ],
    [
      'an end without a reason',
      {
        phase: 'Failed',
        containerStatuses: [container({ ready: false, state: { terminated: { exitCode: 3 } } })],
      },
      {},
      ['0/1', 'ExitCode:3', '0'],
    ],
    [
      'a signal without a reason',
      {
        phase: 'Failed',
        containerStatuses: [container({ ready: false, state: { terminated: { exitCode: 137, signal: 9 } } })],
      },
      {},
      ['0/1', 'Signal:9', '0'],
    ],
    [
      'a pod that is being deleted',
      { phase: 'Running', containerStatuses: [container()] },
      { deletionTimestamp: '2026-01-01T00:59:30Z' },
      ['1/1', 'Terminating', '0'],
    ],
    ['a reason of the whole pod', { phase: 'Failed', reason: 'Evicted' }, {}, ['0/1', 'Evicted', '0']],
  ])('%s', (_, status, metadata, expected) => {
    expect(cells(status, metadata)).toEqual(expected);
  });

  it('shows the progress of the init containers', () => {
    const status = {
      phase: 'Pending',
      initContainerStatuses: [
        container({ name: 'a', state: { terminated: { exitCode: 0 } } }),
        container({ name: 'b' }),
      ],
    };
    expect(cells(status, {}, { initContainers: [{ name: 'a' }, { name: 'b' }] })).toEqual([
      '0/1',
      'Init:1/2',
      '0',
    ]);
  });
});
