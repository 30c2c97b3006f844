import type { NameRule } from '../schema/object-meta.js';

/** Names of a built-in kind. */
export interface KindNames {
  /** '' for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  readonly nameRule: NameRule;
  /** Served subresources: `status`, `scale`, `log`, `binding`, `eviction`, `token`, `finalize`. */
  readonly subresources: readonly string[];
  /** True when `metadata.generation` counts changes of this kind. */
  readonly hasGeneration: boolean;
  /** Name of its schema in the OpenAPI documents. */
  readonly definition: string;
}

type Given = Partial<Omit<KindNames, 'group' | 'version' | 'kind' | 'plural'>>;

function names(group: string, version: string, kind: string, plural: string, given: Given = {}): KindNames {
  const packageName = group === '' ? 'core' : (group.split('.')[0] ?? '');
  return {
    group,
    version,
    kind,
    plural,
    singular: kind.toLowerCase(),
    shortNames: [],
    categories: [],
    namespaced: true,
    nameRule: 'dns-subdomain',
    subresources: [],
    hasGeneration: false,
    definition: `io.k8s.api.${packageName}.${version}.${kind}`,
    ...given,
  };
}

const ALL = ['all'];
const RBAC = 'rbac.authorization.k8s.io';
const cluster = { namespaced: false } as const;
const workload = { categories: ALL, hasGeneration: true, subresources: ['status', 'scale'] } as const;

/** Every built-in kind that is stored. */
export const kindNames: readonly KindNames[] = [
  names('', 'v1', 'Namespace', 'namespaces', {
    ...cluster,
    shortNames: ['ns'],
    nameRule: 'dns-label',
    subresources: ['status', 'finalize'],
  }),
  names('', 'v1', 'Pod', 'pods', {
    shortNames: ['po'],
    categories: ALL,
    hasGeneration: true,
    subresources: ['status', 'log', 'binding', 'eviction'],
  }),
  names('', 'v1', 'Service', 'services', {
    shortNames: ['svc'],
    categories: ALL,
    nameRule: 'dns-label-1035',
    subresources: ['status'],
  }),
  names('', 'v1', 'Secret', 'secrets'),
  names('', 'v1', 'ConfigMap', 'configmaps', { shortNames: ['cm'] }),
  names('', 'v1', 'ServiceAccount', 'serviceaccounts', { shortNames: ['sa'], subresources: ['token'] }),
  names('', 'v1', 'Event', 'events', { shortNames: ['ev'] }),
  names('events.k8s.io', 'v1', 'Event', 'events', { shortNames: ['ev'] }),
  names('', 'v1', 'ResourceQuota', 'resourcequotas', { shortNames: ['quota'], subresources: ['status'] }),
  names('', 'v1', 'LimitRange', 'limitranges', { shortNames: ['limits'] }),
  names('', 'v1', 'PodTemplate', 'podtemplates', { hasGeneration: true }),
  names('', 'v1', 'Node', 'nodes', { ...cluster, shortNames: ['no'], subresources: ['status'] }),
  names('', 'v1', 'Endpoints', 'endpoints', { shortNames: ['ep'], singular: 'endpoints' }),
  names('apps', 'v1', 'Deployment', 'deployments', { ...workload, shortNames: ['deploy'] }),
  names('apps', 'v1', 'ReplicaSet', 'replicasets', { ...workload, shortNames: ['rs'] }),
  names('apps', 'v1', 'StatefulSet', 'statefulsets', { ...workload, shortNames: ['sts'] }),
  names('batch', 'v1', 'Job', 'jobs', { categories: ALL, hasGeneration: true, subresources: ['status'] }),
  names('coordination.k8s.io', 'v1', 'Lease', 'leases'),
  names(RBAC, 'v1', 'Role', 'roles', { nameRule: 'path-segment' }),
  names(RBAC, 'v1', 'ClusterRole', 'clusterroles', { ...cluster, nameRule: 'path-segment' }),
  names(RBAC, 'v1', 'RoleBinding', 'rolebindings', { nameRule: 'path-segment' }),
  names(RBAC, 'v1', 'ClusterRoleBinding', 'clusterrolebindings', { ...cluster, nameRule: 'path-segment' }),
  names('autoscaling', 'v2', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers', {
    categories: ALL,
    shortNames: ['hpa'],
    subresources: ['status'],
  }),
  names('policy', 'v1', 'PodDisruptionBudget', 'poddisruptionbudgets', {
    shortNames: ['pdb'],
    hasGeneration: true,
    subresources: ['status'],
  }),
  names('networking.k8s.io', 'v1', 'NetworkPolicy', 'networkpolicies', {
    shortNames: ['netpol'],
    hasGeneration: true,
  }),
  names('scheduling.k8s.io', 'v1', 'PriorityClass', 'priorityclasses', {
    ...cluster,
    shortNames: ['pc'],
    hasGeneration: true,
  }),
  names('storage.k8s.io', 'v1', 'StorageClass', 'storageclasses', { ...cluster, shortNames: ['sc'] }),
  names('discovery.k8s.io', 'v1', 'EndpointSlice', 'endpointslices', { hasGeneration: true }),
  names('apiextensions.k8s.io', 'v1', 'CustomResourceDefinition', 'customresourcedefinitions', {
    ...cluster,
    shortNames: ['crd', 'crds'],
    categories: ['api-extensions'],
    hasGeneration: true,
    subresources: ['status'],
    definition: 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition',
  }),
];
