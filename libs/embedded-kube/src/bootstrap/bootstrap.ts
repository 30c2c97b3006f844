import { jsonEquals } from '#lib/json';
import type { KubeObject, ServedType } from '#lib/kube-semantics';
import type { ObjectService } from '../registry/object-service.js';
import type { TypeRegistry } from '../registry/type-registry.js';
import { BOOTSTRAP_POLICY, type BootstrapObject } from './bootstrap-policy.js';

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
