import { listenerNameOf } from './observe.js';
import { admitDeployment, admitRevision, refuseLostListener } from './refusal.js';
import { deployment, LISTENER, revision, TRUSTING, world } from './testdata/sample-world.js';

describe('refusal', () => {
  const older = deployment({ name: 'a' }, { name: 'b', uid: 'v', creationTimestamp: '2026-01-01T00:00:00Z' });
  it.each([
    ['nothing', world(), undefined],
    ['a missing workspace', world({ workspace: undefined }), 'WorkspaceMissing'],
    ['an older deployment of the name', world({ siblings: [older] }), 'NameTaken'],
    [
      'nothing, once the holder of the name is being deleted',
      world({ siblings: [{ ...older, metadata: { ...older.metadata, deletionTimestamp: 'now' } }] }),
      undefined,
    ],
  ])('refuses a deployment because of %s', (_, one, expected) => {
    expect(admitDeployment(one).refusal?.reason).toBe(expected);
  });

  it.each([
    ['nothing', world(), undefined],
    ['a missing listener', world({ listener: undefined }), 'ListenerMissing'],
    ['a missing Secret', world({ environment: undefined }), 'SecretMissing'],
    ['a variable of the platform', world({ environment: { PORT: 'MQ==' } }), 'ReservedEnvironment'],
    ['a dangerous variable', world({ environment: { NODE_OPTIONS: 'MQ==' } }), 'DangerousEnvironment'],
    [
      'nothing, for a dangerous variable that the workspace allows',
      world({ environment: { LD_PRELOAD: 'MQ==' }, workspace: TRUSTING }),
      undefined,
    ],
    [
      'another namespace',
      world({ deployment: deployment({ sourceConfig: { listenerConfig: { clusterNamespace: 'other' } } }) }),
      'NotSupported',
    ],
  ])('refuses a revision because of %s', (_, one, expected) => {
    expect(admitRevision(one).refusal?.reason).toBe(expected);
  });

  it('reports a listener that does not exist while its revision serves', () => {
    const one = revision(1, 'Ready', 'Active');
    const serving = { ...one, status: { ...one.status, serving: true } };
    const untended = 'the pods of a-1 run on, and what happens to them is not reported or mended';
    expect(admitRevision(world({ listener: undefined, revisions: [serving] })).refusal?.message).toBe(
      `Listener default does not exist in this namespace; create it or name another; ${untended}`,
    );
    expect(refuseLostListener(world({ lostListener: 'far', revisions: [serving] }))).toEqual({
      type: 'RevisionReady',
      reason: 'ListenerMissing',
      message: `Listener far of revision a-1 does not exist in this namespace; create it, or request a new revision for another; ${untended}`,
    });
    expect(refuseLostListener(world({ revisions: [serving] }))).toBeUndefined();
  });

  it.each([
    ['default', deployment(), 'Listener default does not exist'],
    ['the one that is named', deployment({ listenerRef: { name: 'near' } }), 'Listener near does not exist'],
    [
      'the one with the id',
      deployment({ sourceConfig: { listenerId: '4' } }),
      'Listener with id 4 does not exist',
    ],
  ])('names the missing listener: %s', (_, one, expected) => {
    expect(admitRevision(world({ deployment: one, listener: undefined })).refusal?.message).toContain(
      expected,
    );
  });

  it.each([
    ['default', deployment(), 'default'],
    ['the one that is named', deployment({ listenerRef: { name: 'near' } }), 'near'],
    ['the one with the id', deployment({ sourceConfig: { listenerId: LISTENER.metadata.uid ?? '' } }), 'far'],
    ['none', deployment({ sourceConfig: { listenerId: '4' } }), undefined],
  ])('finds the listener: %s', (_, one, expected) => {
    expect(listenerNameOf(one, [LISTENER])).toBe(expected);
  });
});
