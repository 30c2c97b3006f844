import { AGENT_VOLUMES, type RefusedObject } from '#lib/manifests';
import { listenerNameOf } from './observe.js';
import { admitDeployment, admitRevision, refuseLostListener } from './refusal.js';
import type { DeploymentWorld } from './observe.js';
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

  it.each<[string, RefusedObject, string, string]>([
    [
      'a Secret of the platform',
      { kind: 'Secret', name: 'keys', why: 'platform' },
      'SecretRefused',
      'Secret keys belongs to the platform and is given to no agent; name a Secret of your own',
    ],
    [
      'a Secret whose name is taken',
      { kind: 'Secret', name: 'b-database', why: 'reserved' },
      'SecretRefused',
      'the name b-database is one that the platform gives to a Secret of its own; choose another',
    ],
    [
      'a Secret that the platform may make',
      { kind: 'Secret', name: 'b-database', why: 'missing' },
      'SecretRefused',
      'Secret b-database does not exist, and the platform gives such names to Secrets of its own; create it before a deployment names it, or choose another name',
    ],
    [
      'the volume of a database',
      { kind: 'PersistentVolumeClaim', name: 'b-postgres', why: 'platform' },
      'VolumeRefused',
      'PersistentVolumeClaim b-postgres belongs to the platform and is given to no agent; name a PersistentVolumeClaim of your own',
    ],
    [
      'too many Secrets',
      { kind: 'too-many', count: 400 },
      'SecretRefused',
      'the resource spec names 400 Secrets; name 100 at most',
    ],
  ])('refuses a revision that names %s', (_, refusedObject, reason, message) => {
    expect(admitRevision(world({ refusedObject })).refusal).toEqual({
      type: 'RevisionReady',
      reason,
      message,
    });
  });

  it.each(['persistentVolumeClaim', 'nfs', 'csi'] as const)(
    'refuses a volume of kind %s where agents may not have it',
    (kind) => {
      const volumes = [
        { name: 'tmp', emptyDir: {} },
        { name: 'files', [kind]: {} },
      ];
      const one = deployment({ sourceConfig: { resourceSpec: { volumes } } });
      expect(admitRevision(world({ deployment: one })).refusal).toBeUndefined();
      const agentVolumes = AGENT_VOLUMES.filter((other) => other !== kind);
      expect(admitRevision(world({ deployment: one, agentVolumes })).refusal).toEqual({
        type: 'RevisionReady',
        reason: 'VolumeRefused',
        message: `volume files of kind ${kind} is not for agents of this installation; use another kind, or have AGENTPLANE_AGENT_VOLUMES (agents.volumes of the chart) changed`,
      });
    },
  );

  it('refuses what the Pod Security Standard of the namespace forbids', () => {
    const sidecars = [{ name: 'beside', image: 'i', securityContext: { privileged: true } }];
    const one = deployment({ sourceConfig: { resourceSpec: { sidecars } } });
    const refused = (more: Partial<DeploymentWorld>) =>
      admitRevision(world({ deployment: one, ...more })).refusal;
    expect(refused({ podSecurity: 'baseline' })).toEqual({
      type: 'RevisionReady',
      reason: 'PodSecurityRefused',
      message:
        'sidecars[beside].securityContext.privileged true refused: namespace ws-x enforces the Pod Security Standard baseline; remove it',
    });
    expect(refused({ podSecurity: 'restricted' })?.reason).toBe('PodSecurityRefused');
    expect(refused({ podSecurity: 'privileged' })).toBeUndefined();
    expect(refused({})).toBeUndefined();
    const remote = { apiUrl: 'http://hub' };
    const listener = { ...LISTENER, spec: { ...LISTENER.spec, remote } };
    expect(refused({ podSecurity: 'baseline', listener })).toBeUndefined();
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
