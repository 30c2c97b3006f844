import { type AgentDeployment, type Condition, REASON } from '#lib/resources';
import { decideRollout } from './deploy-command.js';

function deployment(status: AgentDeployment['status']): AgentDeployment {
  return {
    apiVersion: 'agentplane.dev/v1alpha1',
    kind: 'AgentDeployment',
    metadata: { name: 'a', namespace: 'ws', uid: 'u', generation: 2 },
    spec: {
      source: 'internal_image',
      sourceConfig: {},
      sourceRevisionConfig: {},
      suspend: false,
      revisionHistoryLimit: 5,
    },
    status,
  };
}

function condition(type: string, status: Condition['status'], reason: string, message = ''): Condition {
  return { type, status, reason, message, lastTransitionTime: '2026-05-01T00:00:00Z' };
}

const WANTED = { generation: 2, revisionRequestId: undefined };
const READY = [condition('RevisionReady', 'True', REASON.serving), condition('Ready', 'True', REASON.ready)];

describe('decideRollout', () => {
  it('waits for the controller before it reported anything', () => {
    expect(decideRollout(deployment(undefined), WANTED)).toEqual({
      kind: 'pending',
      message: 'waiting for the controller',
    });
  });

  it('decides ready once the newest revision serves', () => {
    const status = {
      observedGeneration: 2,
      latestRevisionName: 'a-2',
      activeRevisionName: 'a-2',
      url: 'http://u',
    };
    expect(decideRollout(deployment({ ...status, conditions: READY }), WANTED)).toEqual({
      kind: 'ready',
      revision: 'a-2',
      url: 'http://u',
    });
  });

  it('waits for the address of a revision that serves', () => {
    const status = { observedGeneration: 2, latestRevisionName: 'a-2', activeRevisionName: 'a-2' };
    expect(decideRollout(deployment({ ...status, conditions: READY }), WANTED)).toEqual({
      kind: 'pending',
      message: 'a-2 waits for its address',
    });
  });

  it.each([
    ['the generation before', { observedGeneration: 1 }, WANTED],
    [
      'an earlier request for a revision',
      { observedGeneration: 2, handledRevisionRequestId: 'before' },
      { generation: 2, revisionRequestId: 'now' },
    ],
  ])('decides pending while the status is of %s', (_what, status, wanted) => {
    const names = { latestRevisionName: 'a-1', activeRevisionName: 'a-1' };
    expect(decideRollout(deployment({ ...names, ...status, conditions: READY }), wanted).kind).toBe(
      'pending',
    );
  });

  it('fails with the reason of the newest revision while the former serves', () => {
    const conditions = [
      condition('RevisionReady', 'False', REASON.graphLoadFailed, 'a-2: no such file'),
      condition('Ready', 'False', REASON.graphLoadFailed, 'a-2: no such file'),
    ];
    const status = {
      observedGeneration: 2,
      latestRevisionName: 'a-2',
      activeRevisionName: 'a-1',
      conditions,
    };
    expect(decideRollout(deployment(status), WANTED)).toEqual({
      kind: 'failed',
      reason: REASON.graphLoadFailed,
      message: 'a-2: no such file',
    });
  });

  it('fails at once with what only a person can mend', () => {
    const conditions = [condition('Ready', 'False', REASON.secretMissing, 'Secret x does not exist')];
    expect(decideRollout(deployment({ conditions }), WANTED).kind).toBe('failed');
  });
});
