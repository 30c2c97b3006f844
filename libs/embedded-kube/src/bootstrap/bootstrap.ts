import { jsonEquals } from '#lib/json';
import type { KubeObject, ServedType } from '#lib/kube-semantics';
import type { ObjectService } from '../registry/object-service.js';
import type { TypeRegistry } from '../registry/type-registry.js';
import { KUBELET_CLIENT, SERVICE_PROXY } from '../authn/user.js';

/** Objects of `rbac.authorization.k8s.io/v1` that a cluster has from its start. */
interface BootstrapObject {
  readonly resource: 'clusterroles' | 'clusterrolebindings';
  readonly kind: 'ClusterRole' | 'ClusterRoleBinding';
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

const READ = ['get', 'list', 'watch'];
const WRITE = ['create', 'delete', 'deletecollection', 'patch', 'update'];
const WORKLOADS = [
  {
    apiGroups: [''],
    resources: ['configmaps', 'endpoints', 'events', 'pods', 'pods/log', 'services', 'serviceaccounts'],
  },
  { apiGroups: ['events.k8s.io'], resources: ['events'] },
  { apiGroups: ['networking.k8s.io'], resources: ['networkpolicies'] },
  { apiGroups: ['policy'], resources: ['poddisruptionbudgets'] },
  {
    apiGroups: ['apps'],
    resources: ['deployments', 'deployments/scale', 'replicasets', 'replicasets/scale'],
  },
  { apiGroups: ['batch'], resources: ['jobs'] },
];
/** Limits of a namespace, which only the operator of the cluster sets. */
const BOUNDS = { apiGroups: [''], resources: ['limitranges', 'resourcequotas'] };
/**
 * Status that nodes report: a user who could write it could end the count of a pod's ports, or redirect
 * others to ports of their choice.
 */
const REPORTED = { apiGroups: [''], resources: ['pods/status'] };

function rules(verbs: readonly string[], list: readonly object[]): readonly object[] {
  return list.map((rule) => ({ ...rule, verbs }));
}

function role(name: string, rolesRules: readonly object[]): BootstrapObject {
  return { resource: 'clusterroles', kind: 'ClusterRole', name, body: { rules: rolesRules } };
}

const AGGREGATE_TO = 'rbac.authorization.k8s.io/aggregate-to-';

/**
 * A role of people with its own rules; the role `NAME` gets them, and those of every other role that is
 * labelled for it.
 */
function part(name: string, rolesRules: readonly object[]): BootstrapObject {
  const labels = { [`${AGGREGATE_TO}${name}`]: 'true' };
  return { ...role(`system:aggregate-to-${name}`, rolesRules), labels };
}

/** @param within the role that has all of this one's rules */
function aggregate(name: string, within?: string): BootstrapObject {
  const matchLabels = { [`${AGGREGATE_TO}${name}`]: 'true' };
  return {
    resource: 'clusterroles',
    kind: 'ClusterRole',
    name,
    ...(within === undefined ? {} : { labels: { [`${AGGREGATE_TO}${within}`]: 'true' } }),
    body: { aggregationRule: { clusterRoleSelectors: [{ matchLabels }] } },
  };
}

/** @param kind kind of the names */
function binding(
  name: string,
  roleName: string,
  names: readonly string[],
  kind: 'Group' | 'User' = 'Group',
): BootstrapObject {
  const apiGroup = 'rbac.authorization.k8s.io';
  return {
    resource: 'clusterrolebindings',
    kind: 'ClusterRoleBinding',
    name,
    body: {
      roleRef: { apiGroup, kind: 'ClusterRole', name: roleName },
      subjects: names.map((subject) => ({ apiGroup, kind, name: subject })),
    },
  };
}

const DISCOVERY_PATHS = [
  '/api',
  '/api/*',
  '/apis',
  '/apis/*',
  '/healthz',
  '/livez',
  '/openapi',
  '/openapi/*',
  '/readyz',
  '/version',
  '/version/',
];
const PUBLIC_PATHS = ['/healthz', '/livez', '/readyz', '/version', '/version/'];

/**
 * Rules of every node. Its rights on the pods bound to it, and on its own Node and Lease, are not in roles.
 */
const NODE_RULES = [
  { apiGroups: [''], resources: ['services'], verbs: READ },
  { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch', 'update'] },
  { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
  { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
];

/** Services are served from the pods' own ports, and say where in an annotation, the one thing that may be written. */
const PROXY_RULES = [
  { apiGroups: [''], resources: ['services', 'pods'], verbs: READ },
  { apiGroups: [''], resources: ['services/status'], verbs: ['patch'] },
  { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch', 'update'] },
];

const BOOTSTRAP_POLICY: readonly BootstrapObject[] = [
  role('cluster-admin', [
    { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
    { nonResourceURLs: ['*'], verbs: ['*'] },
  ]),
  aggregate('admin'),
  part('admin', [
    ...rules([...READ, ...WRITE], WORKLOADS),
    { apiGroups: [''], resources: ['secrets', 'serviceaccounts/token'], verbs: [...READ, ...WRITE] },
    { apiGroups: [''], resources: ['namespaces'], verbs: READ },
    {
      apiGroups: ['rbac.authorization.k8s.io'],
      resources: ['roles', 'rolebindings'],
      verbs: [...READ, ...WRITE],
    },
  ]),
  aggregate('edit', 'admin'),
  part('edit', [
    ...rules([...READ, ...WRITE], WORKLOADS),
    { apiGroups: [''], resources: ['secrets'], verbs: [...READ, ...WRITE] },
    { apiGroups: [''], resources: ['namespaces'], verbs: READ },
  ]),
  aggregate('view', 'edit'),
  part('view', [
    ...rules(READ, [...WORKLOADS, REPORTED, BOUNDS]),
    { apiGroups: [''], resources: ['namespaces'], verbs: READ },
  ]),
  role('system:basic-user', [
    {
      apiGroups: ['authorization.k8s.io'],
      resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'],
      verbs: ['create'],
    },
    { apiGroups: ['authentication.k8s.io'], resources: ['selfsubjectreviews'], verbs: ['create'] },
  ]),
  role('system:discovery', [{ nonResourceURLs: DISCOVERY_PATHS, verbs: ['get'] }]),
  role('system:public-info-viewer', [{ nonResourceURLs: PUBLIC_PATHS, verbs: ['get'] }]),
  role('system:auth-delegator', [
    { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
    { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
  ]),
  role('system:node', NODE_RULES),
  role('system:node-proxier', PROXY_RULES),
  // a node reviews the user who wants to read its logs
  role('agentplane:node-logs', [{ apiGroups: [''], resources: ['nodes/proxy'], verbs: ['get'] }]),
  binding('cluster-admin', 'cluster-admin', ['system:masters']),
  binding('system:basic-user', 'system:basic-user', ['system:authenticated']),
  binding('system:discovery', 'system:discovery', ['system:authenticated']),
  binding('system:public-info-viewer', 'system:public-info-viewer', [
    'system:authenticated',
    'system:unauthenticated',
  ]),
  binding('system:node', 'system:node', ['system:nodes']),
  binding('system:node-proxier', 'system:node-proxier', [SERVICE_PROXY], 'User'),
  binding('agentplane:node-logs', 'agentplane:node-logs', [KUBELET_CLIENT], 'User'),
];

const MANAGER = 'kube-apiserver';
const NAMESPACES = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];
const BOOTSTRAPPING = { 'kubernetes.io/bootstrapping': 'rbac-defaults' };

/** Clients look for it; nothing listens at it, since the server's address is in every kubeconfig. */
const KUBERNETES: KubeObject = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'kubernetes', labels: { component: 'apiserver', provider: 'kubernetes' } },
  spec: { ports: [{ name: 'https', port: 443, protocol: 'TCP' }] },
};

/** Makes what a cluster has from its start, and brings its roles up to date: namespaces, the Service of the API server, the default policy. */
export async function bootstrap(types: TypeRegistry, objects: ObjectService): Promise<void> {
  const namespaces = types.findServed('', 'v1', 'namespaces');
  if (namespaces) {
    for (const name of NAMESPACES) {
      if (objects.find({ served: namespaces, namespace: '', name })) continue;
      const given = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
      await objects.create(namespaces, '', given, { manager: MANAGER });
    }
  }
  const services = types.findServed('', 'v1', 'services');
  if (services && !objects.find({ served: services, namespace: 'default', name: 'kubernetes' }))
    await objects.create(services, 'default', KUBERNETES, { manager: MANAGER });
  for (const each of BOOTSTRAP_POLICY) {
    const served = types.findServed('rbac.authorization.k8s.io', 'v1', each.resource);
    if (served) await ensurePolicy(served, each, objects);
  }
}

async function ensurePolicy(
  served: ServedType,
  { kind, name, labels, body }: BootstrapObject,
  objects: ObjectService,
): Promise<void> {
  const found = objects.find({ served, namespace: '', name });
  if (!found) {
    const given = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind,
      metadata: { name, labels: { ...BOOTSTRAPPING, ...labels } },
      ...body,
    };
    await objects.create(served, '', given, { manager: MANAGER });
    return;
  }
  // subjects may have been added by people and stay; rules of these roles are ours, or the aggregating controller's
  if (kind !== 'ClusterRole') return;
  const { object } = found;
  const isSame = Object.entries(body).every(([field, value]) => jsonEquals(object[field], value));
  const isLabelled = Object.entries(labels ?? {}).every(
    ([label, value]) => object.metadata.labels?.[label] === value,
  );
  if (isSame && isLabelled) return;
  const change = (current: KubeObject): KubeObject => ({
    ...current,
    ...body,
    metadata: { ...current.metadata, labels: { ...current.metadata.labels, ...labels } },
  });
  await objects.update({ served, namespace: '', name }, change, { manager: MANAGER });
}
