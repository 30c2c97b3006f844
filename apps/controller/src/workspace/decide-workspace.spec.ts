import { LABEL, type Namespace, type Workspace } from '#lib/resources';
import { decideWorkspace, namespaceLabels, type WorkspaceWorld } from './workspace-reconciler.js';

const TENANT = '7b0c1a52-1111-4222-8333-444455556666';

function workspace(name = 'x', created = '2026-01-02T00:00:00Z', tenantId = TENANT): Workspace {
  return {
    apiVersion: 'agentplane.dev/v1alpha1',
    kind: 'Workspace',
    metadata: { name, uid: `uid-${name}`, creationTimestamp: created },
    spec: { tenantId, plan: 'enterprise' },
  };
}

function namespace(more: Partial<Namespace['metadata']> = {}): Namespace {
  return { metadata: { name: 'ws-x', labels: namespaceLabels(workspace()), ...more } };
}

const enforcing = (level: string): Namespace =>
  namespace({ labels: { ...namespaceLabels(workspace()), 'pod-security.kubernetes.io/enforce': level } });

describe('decideWorkspace', () => {
  const ours = workspace();
  const table: [string, Partial<WorkspaceWorld>, object][] = [
    ['creates a missing namespace', {}, { kind: 'create-namespace' }],
    [
      'refuses a namespace of another owner',
      { namespace: namespace({ labels: {} }) },
      { kind: 'refuse', reason: 'NamespaceTaken' },
    ],
    [
      'refuses a namespace of another tenant',
      { namespace: namespace({ labels: { ...namespaceLabels(ours), [LABEL.tenant]: 'other' } }) },
      { kind: 'refuse', reason: 'NamespaceTaken' },
    ],
    [
      'waits for a namespace that is being deleted',
      { namespace: namespace({ deletionTimestamp: 'now' }), hasDefaultAccount: true },
      { kind: 'wait', reason: 'NamespaceMissing' },
    ],
    [
      'waits for the default account, which pods need',
      { namespace: namespace() },
      { kind: 'wait', reason: 'ServiceAccountMissing' },
    ],
    [
      'enforces the level of Pod Security on a namespace without one',
      { namespace: namespace(), hasDefaultAccount: true, podSecurity: 'baseline' },
      { kind: 'enforce', podSecurity: 'baseline' },
    ],
    [
      'enforces it in place of another one',
      { namespace: enforcing('privileged'), hasDefaultAccount: true, podSecurity: 'baseline' },
      { kind: 'enforce', podSecurity: 'baseline' },
    ],
    [
      'is ready once the namespace enforces it',
      { namespace: enforcing('baseline'), hasDefaultAccount: true, podSecurity: 'baseline' },
      { kind: 'ready' },
    ],
    [
      'leaves the level to others where the platform sets none',
      { namespace: enforcing('restricted'), hasDefaultAccount: true },
      { kind: 'ready' },
    ],
    ['is ready with both', { namespace: namespace(), hasDefaultAccount: true }, { kind: 'ready' }],
    [
      'refuses the younger of two with one tenant, however the id is written',
      { workspaces: [ours, workspace('older', '2026-01-01T00:00:00Z', TENANT.toUpperCase())] },
      { kind: 'refuse', reason: 'TenantTaken' },
    ],
    [
      'keeps the older of two with one tenant',
      {
        workspaces: [ours, workspace('younger', '2026-01-03T00:00:00Z')],
        namespace: namespace(),
        hasDefaultAccount: true,
      },
      { kind: 'ready' },
    ],
  ];
  it.each(table)('%s', (_, world, expected) => {
    const whole = {
      namespace: undefined,
      hasDefaultAccount: false,
      workspaces: [ours],
      podSecurity: undefined,
      ...world,
    };
    expect(decideWorkspace(ours, whole)).toMatchObject(expected);
  });
});
