import type { AgentDeployment, AgentRevision } from '#lib/resources';
import { decideDeployment, revisionHash } from './decide.js';
import type { DeploymentWorld } from './observe.js';
import { deployment, PROVISIONED, revision, world } from './testdata/sample-world.js';

const HASH = revisionHash(deployment(), {}, 'key');
const REQUEST = { id: '11111111-1111-4111-8111-111111111111', fromRevisionId: 'id-1' };

/** The revision of the present spec. */
function current(one: AgentRevision): AgentRevision {
  return {
    ...one,
    metadata: { ...one.metadata, annotations: { 'agentplane.dev/revision-hash': HASH } },
  };
}

function repeating(one: AgentRevision, redeployOf: string): AgentRevision {
  return { ...one, spec: { ...one.spec, redeployOf } };
}

function asleep(one: AgentRevision): AgentRevision {
  return { ...one, status: { ...one.status, asleepSince: '2026-01-02T00:00:00Z' } };
}

const without = (status: AgentDeployment['status']): Partial<DeploymentWorld> => ({
  deployment: deployment({}, {}, status),
});
const READY = current(revision(1, 'VariablesReady'));

describe('decideDeployment', () => {
  it.each<[string, Partial<DeploymentWorld>, object]>([
    [
      'refuses a namespace without a workspace',
      { workspace: undefined },
      { kind: 'refuse', refusal: { reason: 'WorkspaceMissing' } },
    ],
    ['begins with the tracing project', without({}), { kind: 'ensure-project', tenantId: 't' }],
    [
      'ensures the project again for a new generation',
      { deployment: deployment({}, { generation: 4 }) },
      { kind: 'ensure-project' },
    ],
    [
      'ensures a project that was deleted',
      { tracingProjectId: undefined, revisions: [READY] },
      { kind: 'ensure-project', tenantId: 't' },
    ],
    [
      'takes over a project that was deleted and made again',
      { tracingProjectId: 'p2', revisions: [READY] },
      { kind: 'ensure-project' },
    ],
    [
      'sets the password of a database again while pods wait for it',
      { revisions: [current(revision(1, 'VariablesReady', 'WorkloadsReady/False/DependencyUnavailable'))] },
      { kind: 'settled', login: { tenantId: 't', mayHaveServer: true } },
    ],
    [
      'ensures the database after the project',
      without({ ...PROVISIONED, conditions: PROVISIONED?.conditions?.slice(0, 1) ?? [] }),
      { kind: 'ensure-key-and-database', tenantId: 't', mayHaveServer: true },
    ],
    [
      'writes the URI of the database anew when the server is reached in another way',
      { database: { server: 'shared', isCurrent: false, mark: undefined }, revisions: [READY] },
      { kind: 'ensure-key-and-database', tenantId: 't', mayHaveServer: true },
    ],
    [
      'replaces pods that have a former URI of the database',
      { database: { server: 'shared', isCurrent: true, mark: 'm' }, revisions: [READY] },
      { kind: 'mark-pods', mark: 'm' },
    ],
    [
      'replaces no pods twice',
      {
        deployment: deployment({}, { annotations: { 'agentplane.dev/database': 'm' } }),
        database: { server: 'shared', isCurrent: true, mark: 'm' },
        revisions: [READY],
      },
      { kind: 'settled' },
    ],
    [
      'reports that the listener of its newest revision was deleted',
      { lostListener: 'far', revisions: [READY] },
      { kind: 'refuse', refusal: { type: 'RevisionReady', reason: 'ListenerMissing' } },
    ],
    [
      'makes a revision for another listener in place of one whose listener was deleted',
      { lostListener: 'far', revisions: [revision(1, 'VariablesReady')] },
      { kind: 'make-revision', listenerName: 'far' },
    ],
    ['mints a key that was lost', { platformKey: undefined }, { kind: 'ensure-key-and-database' }],
    [
      'looks for a missing Secret soon',
      {
        deployment: deployment({ secretsRef: { name: 's' } }),
        environment: undefined,
      },
      { kind: 'refuse', refusal: { reason: 'SecretMissing' }, lookAgainMs: 2_000 },
    ],
    [
      'refuses a Secret of the platform',
      {
        deployment: deployment({ secretsRef: { name: 's' } }),
        refusedObject: { kind: 'Secret', name: 's', why: 'platform' },
      },
      { kind: 'refuse', refusal: { reason: 'SecretRefused' } },
    ],
    [
      'makes the first revision',
      {},
      { kind: 'make-revision', revision: { number: 1 }, tenantId: 't', listenerName: 'far', hash: HASH },
    ],
    [
      'repeats a revision on request',
      { deployment: deployment({ revisionRequest: REQUEST }), revisions: [revision(1), READY] },
      { kind: 'make-revision', revision: { repeats: { metadata: { name: 'a-1' } } } },
    ],
    [
      'rejects a request for a revision that does not exist',
      {
        deployment: deployment({ revisionRequest: { ...REQUEST, fromRevisionId: 'id-9' } }),
        revisions: [READY],
      },
      { kind: 'reject-request', requestId: REQUEST.id, reason: 'RevisionMissing' },
    ],
    [
      'stores the variables of a new revision',
      { revisions: [current(revision(1))], environment: {} },
      { kind: 'store-variables', revision: { metadata: { name: 'a-1' } }, variables: {} },
    ],
    [
      'stores the repeated variables of a repeat, not the present ones',
      {
        revisions: [revision(1, 'VariablesReady'), repeating(current(revision(2)), 'a-1')],
        repeated: { A: 'MQ==' },
      },
      { kind: 'store-variables', variables: { A: 'MQ==' } },
    ],
    [
      'refuses a repeat whose variables do not exist',
      { revisions: [repeating(current(revision(2)), 'a-1')] },
      { kind: 'refuse', refusal: { reason: 'RevisionMissing' } },
    ],
    [
      'archives what is beyond the history limit',
      {
        deployment: deployment({ revisionHistoryLimit: 0 }),
        revisions: [revision(1, 'Failed'), current(revision(2, 'VariablesReady'))],
      },
      { kind: 'archive-revisions', revisions: [{ metadata: { name: 'a-1' } }], tenantId: 't' },
    ],
    [
      'settles, and looks at the tracing project every minute',
      { revisions: [READY] },
      { kind: 'settled', lookAgainMs: 60_000 },
    ],
    [
      'looks at one that sleeps every hour',
      { revisions: [asleep(READY)] },
      { kind: 'settled', lookAgainMs: 3_600_000 },
    ],
    [
      'looks at the Secret of one that sleeps every minute',
      { deployment: deployment({ secretsRef: { name: 's' } }), revisions: [asleep(READY)] },
      { kind: 'settled', lookAgainMs: 60_000 },
    ],
    [
      'settles while suspended without making a revision',
      { deployment: deployment({ suspend: true }) },
      { kind: 'settled' },
    ],
    [
      'looks at the Secret of a settled deployment every minute',
      { deployment: deployment({ secretsRef: { name: 's' } }), revisions: [READY] },
      { kind: 'settled', lookAgainMs: 60_000 },
    ],
  ])('%s', (_, more, expected) => {
    expect(decideDeployment(world(more))).toMatchObject(expected);
  });
});
