import type { Tenant } from './tenant.js';

/** Who makes a forbidden call. */
export type Caller = 'anonymous' | 'namespaceAdmin' | 'listener' | 'node';

/** A call that must be refused. */
export interface KubeRow {
  readonly what: string;
  readonly as: Caller;
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** 403 unless said otherwise. */
  readonly status?: number;
}

const CORE = '/api/v1';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const AGENTPLANE = '/apis/agentplane.dev/v1alpha1';
const RBAC_GROUP = 'rbac.authorization.k8s.io';
const MERGE = { 'content-type': 'application/merge-patch+json' };

const binding = (role: object, subjects: object[], name = 'attack') => ({
  apiVersion: `${RBAC_GROUP}/v1`,
  kind: 'RoleBinding',
  metadata: { name },
  roleRef: { apiGroup: RBAC_GROUP, ...role },
  subjects,
});
const role = (rules: object[]) => ({
  apiVersion: `${RBAC_GROUP}/v1`,
  kind: 'Role',
  metadata: { name: 'attack' },
  rules,
});
const pod = (spec: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'attack' },
  spec: { containers: [{ name: 'a', image: 'sample-agent' }], ...spec },
});
const tokenRequest = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };

export const PUBLIC_PATHS = ['/healthz', '/livez', '/readyz', '/version'];

const ANONYMOUS_PATHS = [
  '/',
  '/api',
  '/api/v1',
  '/apis',
  '/openapi/v2',
  '/openapi/v3',
  '/metrics',
  '/logs',
  '/debug/pprof/',
  `${CORE}/namespaces`,
  `${CORE}/secrets`,
  `${CORE}/pods`,
  `${CORE}/nodes`,
  `${CORE}/serviceaccounts`,
  `${AGENTPLANE}/workspaces`,
  `${AGENTPLANE}/agentdeployments`,
  `${RBAC}/clusterroles`,
];

export function kubeRows(attacker: Tenant, victim: Tenant, nodeName: string): readonly KubeRow[] {
  return [
    ...ANONYMOUS_PATHS.map((path): KubeRow => ({
      what: `reads ${path}`,
      as: 'anonymous',
      method: 'GET',
      path,
    })),
    {
      what: 'impersonates a master',
      as: 'anonymous',
      method: 'GET',
      path: `${CORE}/secrets`,
      headers: { 'impersonate-user': 'admin', 'impersonate-group': 'system:masters' },
    },
    ...impersonations(),
    ...namespaceAdminRows(attacker.namespace, victim),
    ...listenerRows(attacker.namespace, victim),
    ...nodeRows(attacker.namespace, nodeName),
  ];
}

function impersonations(): KubeRow[] {
  const who: readonly Readonly<Record<string, string>>[] = [
    { 'impersonate-user': 'admin', 'impersonate-group': 'system:masters' },
    { 'impersonate-user': 'system:serviceaccount:agentplane-system:controller' },
    { 'impersonate-user': 'system:node:other', 'impersonate-group': 'system:nodes' },
  ];
  return (['namespaceAdmin', 'listener', 'node'] as const).flatMap((as) =>
    who.map((headers) => ({
      what: `impersonates ${headers['impersonate-user']}`,
      as,
      method: 'GET',
      path: `${CORE}/namespaces`,
      headers,
    })),
  );
}

function namespaceAdminRows(own: string, { namespace: other }: Tenant): KubeRow[] {
  const subjects = [{ kind: 'ServiceAccount', name: 'owner', namespace: own }];
  const as = 'namespaceAdmin';
  const bindings = `${RBAC}/namespaces/${own}/rolebindings`;
  const roles = `${RBAC}/namespaces/${own}/roles`;
  const post = (what: string, path: string, body: object, status = 403): KubeRow => ({
    what,
    as,
    method: 'POST',
    path,
    body,
    status,
  });
  const read = (what: string, path: string): KubeRow => ({ what, as, method: 'GET', path });
  return [
    post('binds cluster-admin', bindings, binding({ kind: 'ClusterRole', name: 'cluster-admin' }, subjects)),
    post(
      'binds the controller',
      bindings,
      binding({ kind: 'ClusterRole', name: 'agentplane-controller' }, subjects),
    ),
    post('binds system:node', bindings, binding({ kind: 'ClusterRole', name: 'system:node' }, subjects)),
    post('makes a role of everything', roles, role([{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }])),
    post(
      'makes a role that binds',
      roles,
      role([{ apiGroups: [RBAC_GROUP], resources: ['roles', 'clusterroles'], verbs: ['bind', 'escalate'] }]),
    ),
    post(
      'makes a role that impersonates',
      roles,
      role([{ apiGroups: [''], resources: ['users', 'groups'], verbs: ['impersonate'] }]),
    ),
    post(
      'makes a role for nodes',
      roles,
      role([{ apiGroups: [''], resources: ['nodes/proxy'], verbs: ['get'] }]),
    ),
    post(
      'makes a role of a group it has not',
      roles,
      role([
        { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: ['get'] },
      ]),
    ),
    post('makes a cluster role', `${RBAC}/clusterroles`, { ...role([]), kind: 'ClusterRole' }),
    post('makes a cluster binding', `${RBAC}/clusterrolebindings`, {
      ...binding({ kind: 'ClusterRole', name: 'view' }, subjects),
      kind: 'ClusterRoleBinding',
    }),
    {
      what: 'changes cluster-admin',
      as,
      method: 'PATCH',
      path: `${RBAC}/clusterroles/view`,
      body: { rules: [] },
      headers: MERGE,
    },
    {
      what: "changes its binding's role",
      as,
      method: 'PATCH',
      path: `${bindings}/owner`,
      headers: MERGE,
      status: 422,
      body: { roleRef: { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name: 'cluster-admin' } },
    },
    post('makes a workspace', `${AGENTPLANE}/workspaces`, {
      apiVersion: 'agentplane.dev/v1alpha1',
      kind: 'Workspace',
      metadata: { name: 'third' },
      spec: { tenantId: '00000000-0000-4000-8000-000000000000' },
    }),
    post('makes a definition', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'a.b.c' },
      spec: {},
    }),
    post('makes a namespace', `${CORE}/namespaces`, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'third' },
    }),
    post('reviews tokens', '/apis/authentication.k8s.io/v1/tokenreviews', {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token: 'x' },
    }),
    post('makes a pod elsewhere', `${CORE}/namespaces/${other}/pods`, pod()),
    post(
      'uses an account that is not here',
      `${CORE}/namespaces/${own}/pods`,
      pod({ serviceAccountName: 'controller' }),
    ),
    post(
      'takes a token elsewhere',
      `${CORE}/namespaces/${other}/serviceaccounts/listener-default/token`,
      tokenRequest,
    ),
    post(
      'takes a token of the controller',
      `${CORE}/namespaces/agentplane-system/serviceaccounts/controller/token`,
      tokenRequest,
    ),
    post('binds a pod to a node', `${CORE}/namespaces/${own}/pods/attack/binding`, {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name: 'attack' },
      target: { kind: 'Node', name: 'x' },
    }),
    { what: 'ends another namespace', as, method: 'DELETE', path: `${CORE}/namespaces/${other}` },
    { what: 'ends all Secrets elsewhere', as, method: 'DELETE', path: `${CORE}/namespaces/${other}/secrets` },
    read('lists all Secrets', `${CORE}/secrets`),
    read('lists Secrets elsewhere', `${CORE}/namespaces/${other}/secrets`),
    read('watches Secrets elsewhere', `${CORE}/namespaces/${other}/secrets?watch=true`),
    read('reads a Secret elsewhere', `${CORE}/namespaces/${other}/secrets/local-destination`),
    read('reads logs elsewhere', `${CORE}/namespaces/${other}/pods/any/log`),
    read('lists agents elsewhere', `${AGENTPLANE}/namespaces/${other}/agentdeployments`),
    read('lists workspaces', `${AGENTPLANE}/workspaces`),
    read('lists nodes', `${CORE}/nodes`),
    read('reaches a node', `${CORE}/nodes/any/proxy/containerLogs`),
    read('reads metrics', '/metrics'),
  ];
}

function listenerRows(own: string, { namespace: other }: Tenant): KubeRow[] {
  const as = 'listener';
  const subjects = [{ kind: 'ServiceAccount', name: 'listener-default', namespace: own }];
  const read = (path: string): KubeRow => ({ what: `reads ${path}`, as, method: 'GET', path });
  return [
    read(`${CORE}/secrets`),
    read(`${CORE}/namespaces/${own}/secrets`),
    read(`${CORE}/namespaces/${own}/secrets/any`),
    read(`${CORE}/namespaces/${other}/pods`),
    read(`${AGENTPLANE}/namespaces/${other}/agentrevisions`),
    read(`${AGENTPLANE}/workspaces`),
    read(`${CORE}/nodes`),
    {
      what: 'takes a token',
      as,
      method: 'POST',
      path: `${CORE}/namespaces/${own}/serviceaccounts/default/token`,
      body: tokenRequest,
    },
    {
      what: 'makes a role',
      as,
      method: 'POST',
      path: `${RBAC}/namespaces/${own}/roles`,
      body: role([{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }]),
    },
    {
      what: 'makes a binding',
      as,
      method: 'POST',
      path: `${RBAC}/namespaces/${own}/rolebindings`,
      body: binding({ kind: 'ClusterRole', name: 'admin' }, subjects),
    },
    { what: 'enters a pod', as, method: 'POST', path: `${CORE}/namespaces/${own}/pods/any/exec?command=id` },
    {
      what: 'makes a deployment elsewhere',
      as,
      method: 'POST',
      path: `/apis/apps/v1/namespaces/${other}/deployments`,
      body: {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'attack' },
        spec: {
          selector: { matchLabels: { a: 'b' } },
          template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'a', image: 'a' }] } },
        },
      },
    },
  ];
}

function nodeRows(own: string, nodeName: string): KubeRow[] {
  const as = 'node';
  const read = (path: string): KubeRow => ({ what: `reads ${path}`, as, method: 'GET', path });
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'other' } };
  return [
    read(`${CORE}/secrets`),
    read(`${CORE}/namespaces/${own}/secrets`),
    read(`${CORE}/namespaces/ws-default/secrets/local-destination`),
    read(`${AGENTPLANE}/workspaces`),
    read(`${AGENTPLANE}/agentdeployments`),
    read(`${RBAC}/clusterroles`),
    read(`${CORE}/nodes/other`),
    read(`${CORE}/pods`),
    read(`${CORE}/namespaces/${own}/pods`),
    {
      what: 'takes a token that is bound to no pod',
      as,
      method: 'POST',
      path: `${CORE}/namespaces/${own}/serviceaccounts/listener-default/token`,
      body: { ...tokenRequest, spec: { expirationSeconds: 4_000_000_000 } },
    },
    {
      what: 'leads a Service elsewhere',
      as,
      method: 'PATCH',
      path: `${CORE}/namespaces/ws-default/services/any`,
      body: { spec: { selector: {} } },
      headers: MERGE,
    },
    {
      what: 'makes a pod',
      as,
      method: 'POST',
      path: `${CORE}/namespaces/${own}/pods`,
      body: pod({ nodeName }),
    },
    {
      what: 'writes the status of another node',
      as,
      method: 'PATCH',
      path: `${CORE}/nodes/other/status`,
      body: node,
      headers: MERGE,
    },
    {
      what: 'takes a token of an account without a pod here',
      as,
      method: 'POST',
      path: `${CORE}/namespaces/kube-system/serviceaccounts/default/token`,
      body: tokenRequest,
    },
    {
      what: 'takes a token of the controller',
      as,
      method: 'POST',
      path: `${CORE}/namespaces/agentplane-system/serviceaccounts/controller/token`,
      body: tokenRequest,
    },
    {
      what: 'binds cluster-admin',
      as,
      method: 'POST',
      path: `${RBAC}/clusterrolebindings`,
      body: {
        ...binding({ kind: 'ClusterRole', name: 'cluster-admin' }, [
          { apiGroup: RBAC_GROUP, kind: 'User', name: `system:node:${nodeName}` },
        ]),
        kind: 'ClusterRoleBinding',
      },
    },
    {
      what: 'writes a Secret',
      as,
      method: 'POST',
      path: `${CORE}/namespaces/${own}/secrets`,
      body: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'attack' } },
    },
  ];
}
