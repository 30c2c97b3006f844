import { beforeEach, describe, expect, it } from '@jest/globals';
import type { AgentDeployment, AgentRevision, Listener, ListenerReport } from '#lib/resources';
import { ListenerReports } from './listener-reports.js';

const REVISION = {
  metadata: { name: 'a-00001', namespace: 'ws-x', uid: 'r' },
  spec: { deploymentName: 'a', listenerName: 'far' },
} as AgentRevision;
const DEPLOYMENTS = ['a', 'other'].map(
  (name) => ({ metadata: { name, namespace: 'ws-x', uid: `d-${name}` } }) as AgentDeployment,
);

describe('ListenerReports', () => {
  const events: string[] = [];
  let reports: ListenerReports;

  beforeEach(() => {
    events.length = 0;
    reports = new ListenerReports({
      deployments: { find: ({ name }) => DEPLOYMENTS.find(({ metadata }) => metadata.name === name) },
      events: {
        record: ({ kind }, { metadata }, { reason, message }) =>
          void events.push(`${kind} ${metadata.name} ${reason}: ${message}`),
      },
    });
  });

  const report = (id: string, more: Partial<ListenerReport> = {}): ListenerReport => ({
    id,
    kind: 'AgentRevision',
    name: 'a-00001',
    uid: 'r',
    type: 'Warning',
    reason: 'Crashed',
    message: `message ${id}`,
    ...more,
  });
  const record = (...all: readonly ListenerReport[]): void =>
    reports.record(
      { metadata: { name: 'far', namespace: 'ws-x', uid: 'l' }, status: { reports: all } } as Listener,
      [REVISION],
    );

  it('makes an event of each report, once, with the name of its listener', () => {
    record();
    record(report('1'));
    record(report('1'), report('2', { kind: 'AgentDeployment', name: 'a', uid: 'd-a' }));
    expect(events).toEqual([
      'AgentRevision a-00001 Crashed: listener far: message 1',
      'AgentDeployment a Crashed: listener far: message 2',
    ]);
  });

  it('leaves what stood there before this process to the process before', () => {
    record(report('1'));
    record(report('1'), report('2'));
    expect(events).toEqual(['AgentRevision a-00001 Crashed: listener far: message 2']);
  });

  it.each<[string, Partial<ListenerReport>]>([
    ['a deployment of another listener', { kind: 'AgentDeployment', name: 'other', uid: 'd-other' }],
    ['a revision of another listener', { name: 'other-00001', uid: 'o' }],
    ['an earlier object of the name', { uid: 'former' }],
  ])('ignores reports about %s', (_what, more) => {
    record();
    record(report('1', more));
    expect(events).toEqual([]);
  });
});
