import { describe, expect, it } from '@jest/globals';
import type { Pod, PodSpec } from '#lib/resources';
import type { ContainerPhase, ContainerView } from '../container/container-view.js';
import { type PodView, summarizePod } from './summarize-pod.js';

const NOW = new Date('2026-03-01T12:00:00.123Z');
const WAITING: ContainerPhase = { kind: 'waiting', reason: 'ContainerCreating' };
const RUNNING: ContainerPhase = { kind: 'running', startedAt: NOW };
const ended = (exitCode: number): ContainerPhase => ({ kind: 'terminated', result: { exitCode } });

function container(phase: ContainerPhase, more: Partial<ContainerView> = {}): ContainerView {
  return {
    name: 'main',
    image: 'x',
    containerId: undefined,
    phase,
    last: undefined,
    restartCount: 0,
    isStarted: phase.kind === 'running',
    isReady: phase.kind === 'running',
    ...more,
  };
}

function pod(restartPolicy: PodSpec['restartPolicy'] = 'Always', status: Pod['status'] = {}): Pod {
  return { metadata: { name: 'p' }, spec: { containers: [], restartPolicy }, status };
}

const view = (containers: readonly ContainerView[], more: Partial<PodView> = {}): PodView => ({
  startTime: NOW,
  init: [],
  containers,
  isTerminating: false,
  ...more,
});

const crashed = container(
  { kind: 'waiting', reason: 'CrashLoopBackOff' },
  { last: { exitCode: 1 }, restartCount: 1 },
);

describe('phase of a pod', () => {
  it.each<[string, Pod, PodView, string]>([
    ['nothing runs yet', pod(), view([container(WAITING)]), 'Pending'],
    ['one of two runs', pod(), view([container(RUNNING), container(WAITING)]), 'Pending'],
    ['everything runs', pod(), view([container(RUNNING), container(RUNNING)]), 'Running'],
    ['a container waits to be restarted', pod(), view([crashed]), 'Running'],
    ['an ended container will be restarted', pod('Always'), view([container(ended(0))]), 'Running'],
    ['all ended well', pod('Never'), view([container(ended(0)), container(ended(0))]), 'Succeeded'],
    ['one of two ended badly', pod('Never'), view([container(ended(0)), container(ended(1))]), 'Failed'],
    ['one ended badly, one runs', pod('Never'), view([container(ended(1)), container(RUNNING)]), 'Running'],
    ['a failed one will be tried again', pod('OnFailure'), view([container(ended(1))]), 'Running'],
    [
      'an init container failed for good',
      pod('Never'),
      view([container(WAITING)], { init: [container(ended(1))] }),
      'Failed',
    ],
    [
      'an init container will be tried again',
      pod(),
      view([container(WAITING)], { init: [crashed] }),
      'Pending',
    ],
    [
      'a deleted pod whose container ended well',
      pod(),
      view([container(ended(0))], { isTerminating: true }),
      'Succeeded',
    ],
    [
      'a verdict while a container still runs',
      pod(),
      view([container(RUNNING)], { verdict: { reason: 'DeadlineExceeded', message: '' } }),
      'Running',
    ],
    [
      'a verdict when all have ended',
      pod(),
      view([container(ended(0))], { verdict: { reason: 'DeadlineExceeded', message: '' } }),
      'Failed',
    ],
  ])('%s', (_name, of, seen, phase) => {
    expect(summarizePod(of, seen, NOW).phase).toBe(phase);
  });
});

describe('conditions of a pod', () => {
  const statuses = (status: Pod['status']): Record<string, string> =>
    Object.fromEntries((status?.conditions ?? []).map((condition) => [condition.type, condition.status]));

  it.each<[string, PodView, Record<string, string>]>([
    [
      'all ready',
      view([container(RUNNING)]),
      { Initialized: 'True', ContainersReady: 'True', Ready: 'True' },
    ],
    [
      'one not ready',
      view([container(RUNNING), container(RUNNING, { isReady: false })]),
      { Initialized: 'True', ContainersReady: 'False', Ready: 'False' },
    ],
    [
      'init still runs',
      view([container(WAITING)], { init: [container(RUNNING)] }),
      { Initialized: 'False', ContainersReady: 'False', Ready: 'False' },
    ],
    [
      'terminating',
      view([container(RUNNING)], { isTerminating: true }),
      { Initialized: 'True', ContainersReady: 'True', Ready: 'False' },
    ],
  ])('%s', (_name, seen, expected) => {
    expect(statuses(summarizePod(pod(), seen, NOW))).toEqual(expected);
  });

  it('keeps conditions of other writers, and the time of unchanged ones', () => {
    const scheduled = {
      type: 'PodScheduled',
      status: 'True',
      lastTransitionTime: '2026-03-01T11:00:00Z',
    } as const;
    const ready = { type: 'Ready', status: 'True', lastTransitionTime: '2026-03-01T11:30:00Z' } as const;
    const before = pod('Always', { conditions: [scheduled, ready] });
    const { conditions } = summarizePod(before, view([container(RUNNING)]), NOW);
    expect(conditions).toContainEqual(scheduled);
    expect(conditions).toContainEqual(ready);
    expect(conditions?.find(({ type }) => type === 'Initialized')?.lastTransitionTime).toBe(
      '2026-03-01T12:00:00Z',
    );
  });
});

describe('status of a container', () => {
  it.each<[string, Partial<ContainerView>]>([
    ['what it waits for', { phase: { kind: 'waiting', reason: 'ErrImagePull', message: 'm'.repeat(1e6) } }],
    ['how it ended', { phase: { kind: 'terminated', result: { exitCode: 1, message: 'm'.repeat(1e6) } } }],
    ['how it ended before', { last: { exitCode: 1, message: 'm'.repeat(1e6) } }],
    ['its image', { image: 'i'.repeat(1e6) }],
  ])('stays small, however long %s is', (_what, more) => {
    const status = summarizePod(pod(), view([container(WAITING, more)]), NOW);
    expect(JSON.stringify(status).length).toBeLessThan(12_000);
    expect(JSON.stringify(status)).toMatch(/[im]{4096}/);
  });
});
