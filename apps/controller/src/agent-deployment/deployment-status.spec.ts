import {
  type AgentDeployment,
  type AgentRevision,
  ANNOTATION,
  type Condition,
  type Listener,
  type Workspace,
} from '#lib/resources';
import { revisionCondition, summarizeDeployment } from './deployment-status.js';
import { type DeploymentWorld, listenerNameOf } from './deployment-world.js';
import { findRefusal, findRevisionRefusal } from './refusal.js';

const NOW = new Date('2026-01-01T00:00:00Z');
const LISTENER: Listener = {
  apiVersion: 'agentplane.dev/v1alpha1',
  kind: 'Listener',
  metadata: { name: 'far', namespace: 'ws-x', uid: '33333333-3333-4333-8333-333333333333' },
  spec: { computeType: 'cluster', computeId: 'here' },
};
const WORKSPACE: Workspace = {
  apiVersion: 'agentplane.dev/v1alpha1',
  kind: 'Workspace',
  metadata: { name: 'x' },
  spec: { tenantId: 't', plan: 'enterprise' },
};

function deployment(
  spec: Partial<AgentDeployment['spec']> = {},
  metadata: Partial<AgentDeployment['metadata']> = {},
): AgentDeployment {
  return {
    apiVersion: 'agentplane.dev/v1alpha1',
    kind: 'AgentDeployment',
    metadata: {
      name: 'a',
      namespace: 'ws-x',
      uid: 'u',
      generation: 3,
      creationTimestamp: '2026-01-02T00:00:00Z',
      ...metadata,
    },
    spec: {
      source: 'external_image',
      sourceConfig: {},
      sourceRevisionConfig: { imageUri: 'i' },
      suspend: false,
      revisionHistoryLimit: 10,
      ...spec,
    },
  };
}

function revision(number: number, ...words: string[]): AgentRevision {
  const conditions: Condition[] = words.map((word) => {
    const [type = '', status = 'True', reason = 'Because'] = word.split('/');
    return { type, status: status as 'True', reason, message: 'm', lastTransitionTime: 'then' };
  });
  return {
    apiVersion: 'agentplane.dev/v1alpha1',
    kind: 'AgentRevision',
    metadata: { name: `a-${number}`, uid: `id-${number}` },
    spec: { number } as AgentRevision['spec'],
    status: { conditions },
  };
}

function world(more: Partial<DeploymentWorld> = {}): DeploymentWorld {
  return {
    deployment: deployment(),
    workspace: WORKSPACE,
    revisions: [],
    service: undefined,
    listener: LISTENER,
    siblings: [],
    ...more,
  };
}

describe('revisionCondition', () => {
  it.each([
    ['no revision yet', deployment(), undefined, 'Unknown/NoRevision'],
    ['suspended', deployment({ suspend: true }), revision(1, 'Ready'), 'False/Suspended'],
    ['serving', deployment(), revision(1, 'Ready', 'Active'), 'True/Serving'],
    ['nobody took it up', deployment(), revision(1, 'Built'), 'Unknown/AwaitingListener'],
    ['on its way up', deployment(), revision(1, 'Ready/False/Deploying'), 'Unknown/Deploying'],
    ['lost its pods', deployment(), revision(1, 'Active', 'Ready/False/Deploying'), 'False/Deploying'],
    [
      'failed',
      deployment(),
      revision(1, 'Ready/False', 'Failed/True/GraphLoadFailed'),
      'False/GraphLoadFailed',
    ],
  ])('%s', (_, one, latest, expected) => {
    const { status, reason } = revisionCondition(one, latest);
    expect(`${status}/${reason}`).toBe(expected);
  });
});

describe('summarizeDeployment', () => {
  const service = {
    metadata: { name: 'a', namespace: 'ws-x', annotations: { [ANNOTATION.loopbackPort]: '41300' } },
    spec: { ports: [{ port: 80 }] },
  };
  const findings = {
    conditions: [
      { type: 'TracingProjectReady', status: 'True', reason: 'A', message: '' },
      { type: 'DatabaseReady', status: 'True', reason: 'B', message: '' },
      { type: 'RevisionReady', status: 'True', reason: 'C', message: '' },
    ] as const,
    tracingProjectId: 'p',
    handledRevisionRequestId: undefined,
    isHandled: true,
  };

  it('names the newest and the serving revision, and where to call it', () => {
    const revisions = [revision(1, 'Active', 'Ready'), revision(2)];
    const status = summarizeDeployment(world({ service }), { ...findings, revisions }, 'loopback', NOW);
    expect(status).toMatchObject({
      observedGeneration: 3,
      activeRevisionName: 'a-1',
      activeRevisionId: 'id-1',
      latestRevisionName: 'a-2',
      url: 'http://127.0.0.1:41300',
    });
    expect(status.conditions?.map(({ type, status: is }) => `${type}=${is}`)).toEqual([
      'TracingProjectReady=True',
      'DatabaseReady=True',
      'RevisionReady=True',
      'Ready=True',
    ]);
    expect(Object.keys(status)).not.toContain('handledRevisionRequestId');
  });
  it('has no address before anything served', () => {
    const status = summarizeDeployment(
      world({ service }),
      { ...findings, revisions: [revision(1)] },
      'loopback',
      NOW,
    );
    expect(status.url).toBeUndefined();
  });
  it('keeps the generation back while a pass did not come to its end', () => {
    const status = summarizeDeployment(
      world(),
      { ...findings, revisions: [], isHandled: false, conditions: [] },
      'loopback',
      NOW,
    );
    expect(status.observedGeneration).toBeUndefined();
    expect(status.conditions?.map(({ type, status: is }) => `${type}=${is}`)).toEqual(['Ready=Unknown']);
  });
});

describe('refusals', () => {
  const older = deployment({ name: 'a' }, { name: 'b', uid: 'v', creationTimestamp: '2026-01-01T00:00:00Z' });
  it.each([
    ['none', world(), undefined],
    ['no workspace', world({ workspace: undefined }), 'WorkspaceMissing'],
    ['an older one has the name', world({ siblings: [older] }), 'NameTaken'],
    [
      'a name is free once its holder goes',
      world({ siblings: [{ ...older, metadata: { ...older.metadata, deletionTimestamp: 'now' } }] }),
      undefined,
    ],
  ])('of the deployment: %s', (_, one, expected) => {
    expect(findRefusal(one)?.reason).toBe(expected);
  });

  it.each([
    ['none', world(), {}, undefined],
    ['git', world({ deployment: deployment({ source: 'git_host' }) }), {}, 'SourceNotSupported'],
    ['no listener', world({ listener: undefined }), {}, 'ListenerMissing'],
    ['no Secret', world(), undefined, 'SecretMissing'],
    ['a variable of the platform', world(), { PORT: 'MQ==' }, 'ReservedEnvironment'],
    [
      'another namespace',
      world({ deployment: deployment({ sourceConfig: { listenerConfig: { clusterNamespace: 'other' } } }) }),
      {},
      'NotSupported',
    ],
  ])('of a revision: %s', (_, one, environment, expected) => {
    expect(findRevisionRefusal(one, environment)?.reason).toBe(expected);
  });

  it.each([
    ['default', deployment(), 'there is no Listener default in'],
    ['the one that is named', deployment({ listenerRef: { name: 'near' } }), 'there is no Listener near in'],
    ['the one with the id', deployment({ sourceConfig: { listenerId: '4' } }), 'no Listener with id 4 in'],
  ])('names a listener that is missing: %s', (_, one, expected) => {
    expect(findRevisionRefusal(world({ deployment: one, listener: undefined }), {})?.message).toContain(
      expected,
    );
  });

  it.each([
    ['default', deployment(), 'default'],
    ['the one that is named', deployment({ listenerRef: { name: 'near' } }), 'near'],
    ['the one with the id', deployment({ sourceConfig: { listenerId: LISTENER.metadata.uid ?? '' } }), 'far'],
    ['nobody', deployment({ sourceConfig: { listenerId: '4' } }), undefined],
  ])('the listener is %s', (_, one, expected) => {
    expect(listenerNameOf(one, [LISTENER])).toBe(expected);
  });
});
