import { LABEL, type Namespace, type Workspace } from '#lib/resources';
import { decideWorkspace, namespaceLabels, type WorkspaceWorld } from './decide-workspace.js';

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

describe('decideWorkspace', () => {
  const ours = workspace();
  const table: [string, Partial<WorkspaceWorld>, object][] = [
    ['without a namespace one is made', {}, { kind: 'create-namespace' }],
    [
      'a namespace of somebody else is left alone',
      { namespace: namespace({ labels: {} }) },
      { kind: 'refuse', reason: 'NamespaceTaken' },
    ],
    [
      'a namespace of another tenant is left alone',
      { namespace: namespace({ labels: { ...namespaceLabels(ours), [LABEL.tenant]: 'other' } }) },
      { kind: 'refuse', reason: 'NamespaceTaken' },
    ],
    [
      'a namespace on its way out is waited for',
      { namespace: namespace({ deletionTimestamp: 'now' }), hasDefaultAccount: true },
      { kind: 'wait', reason: 'NamespaceMissing' },
    ],
    [
      'without the default account no pod could be made',
      { namespace: namespace() },
      { kind: 'wait', reason: 'ServiceAccountMissing' },
    ],
    ['with both it is ready', { namespace: namespace(), hasDefaultAccount: true }, { kind: 'ready' }],
    [
      'the younger of two with one tenant is refused, however the id is written',
      { workspaces: [ours, workspace('older', '2026-01-01T00:00:00Z', TENANT.toUpperCase())] },
      { kind: 'refuse', reason: 'TenantTaken' },
    ],
    [
      'the older of two with one tenant stays',
      {
        workspaces: [ours, workspace('younger', '2026-01-03T00:00:00Z')],
        namespace: namespace(),
        hasDefaultAccount: true,
      },
      { kind: 'ready' },
    ],
  ];
  it.each(table)('%s', (_, world, expected) => {
    const whole = { namespace: undefined, hasDefaultAccount: false, workspaces: [ours], ...world };
    expect(decideWorkspace(ours, whole)).toMatchObject(expected);
  });
});
