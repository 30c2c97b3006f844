import {
  at,
  forbidden,
  type KubeObject,
  listAt,
  notFound,
  recordAt,
  type ResourceType,
  textAt,
  withField,
} from '#lib/kube-semantics';
import type { Clock } from '#lib/time';
import { isUnmountable, namedByPod } from '../pod/unmountable-secret.js';
import type { ObjectStore } from '../store/object-store.js';

/** Input of an admission rule for a create. */
interface Admission {
  readonly type: ResourceType;
  readonly namespace: string;
  readonly store: ObjectStore;
}

/** Services have no virtual address here: on one machine a Service is reached by its loopback port. */
function admitService(service: KubeObject): KubeObject {
  const spec = recordAt(service, 'spec');
  if (textAt(spec, ['type'], 'ClusterIP') === 'ExternalName') return service;
  const clusterIP = textAt(spec, ['clusterIP']) || 'None';
  return withField(service, 'spec', {
    clusterIPs: [clusterIP],
    ipFamilies: ['IPv4'],
    ipFamilyPolicy: 'SingleStack',
    ...spec,
    clusterIP,
  });
}

/** Nothing is created in a namespace that does not exist or is going away. */
function admitNamespace(object: KubeObject, { type, namespace, store }: Admission): void {
  if (!type.namespaced) return;
  const found = store.get({ resource: 'namespaces', namespace: '', name: namespace });
  if (!found) throw notFound({ group: '', resource: 'namespaces' }, namespace);
  if (found.object.metadata.deletionTimestamp === undefined) return;
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  throw forbidden(type, object.metadata.name ?? '', why, [
    {
      reason: 'NamespaceTerminating',
      message: `namespace ${namespace} is being terminated`,
      field: 'metadata.namespace',
    },
  ]);
}

const UNREACHABLE_SECONDS = 300;

/**
 * Adds the fields that a cluster's admission adds to every Pod: its service account (which must exist), its
 * priority, and how long it stays on a lost node. No token volume: the node gives the pod its kubeconfig.
 * Secrets that no pod may use are refused.
 */
function admitPod(pod: KubeObject, { type, namespace, store }: Admission): KubeObject {
  const spec = recordAt(pod, 'spec');
  const serviceAccountName = textAt(spec, ['serviceAccountName']) || 'default';
  const account = store.get({ resource: 'serviceaccounts', namespace, name: serviceAccountName });
  if (!account) {
    const why = `error looking up service account ${namespace}/${serviceAccountName}: serviceaccount "${serviceAccountName}" not found`;
    throw forbidden(type, pod.metadata.name ?? '', why);
  }
  refuseUnmountable(pod, { type, namespace, store });
  return withField(pod, 'spec', {
    preemptionPolicy: 'PreemptLowerPriority',
    priority: 0,
    // the account's wish, where the pod has none: a cluster leaves the token volume out, here the node reads the field
    ...(at(account.object, 'automountServiceAccountToken') === false
      ? { automountServiceAccountToken: false }
      : {}),
    ...spec,
    serviceAccountName,
    serviceAccount: serviceAccountName,
    tolerations: withNodeTolerations(listAt(spec, 'tolerations')),
  });
}

function refuseUnmountable(pod: KubeObject, { type, namespace, store }: Admission): void {
  for (const name of namedByPod(pod, 'secrets')) {
    const secret = store.get({ resource: 'secrets', namespace, name });
    if (!secret || !isUnmountable(secret.object, pod, store)) continue;
    const why = `Secret "${name}" of type ${textAt(secret.object, ['type'])} cannot be used by pods`;
    throw forbidden(type, pod.metadata.name ?? '', why);
  }
}

function withNodeTolerations(tolerations: readonly unknown[]): readonly unknown[] {
  const added = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']
    .filter((key) => !tolerations.some((toleration) => isTolerated(toleration, key)))
    .map((key) => ({ effect: 'NoExecute', key, operator: 'Exists', tolerationSeconds: UNREACHABLE_SECONDS }));
  return [...tolerations, ...added];
}

function isTolerated(toleration: unknown, key: string): boolean {
  const effect = textAt(toleration, ['effect']);
  const ownKey = at(toleration, 'key');
  return (
    (ownKey === key || ownKey === undefined || ownKey === '') && (effect === '' || effect === 'NoExecute')
  );
}

const PATIENCE_MS = 2000;

/**
 * Waits a moment for the service account `default`: it is made by a controller just after its namespace, and a person
 * who applies a namespace and a pod together should not have to try twice.
 */
export async function awaitDefaultAccount(
  pod: KubeObject,
  namespace: string,
  store: ObjectStore,
  clock: Clock,
): Promise<void> {
  const name = textAt(pod, ['spec', 'serviceAccountName']) || 'default';
  const key = { resource: 'serviceaccounts', namespace, name };
  if (
    name !== 'default' ||
    store.get(key) ||
    !store.get({ resource: 'namespaces', namespace: '', name: namespace })
  )
    return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const unsubscribe = store.subscribe((change) => {
    if (change.resource === key.resource && change.namespace === namespace && change.name === name) resolve();
  });
  const cancel = clock.after(PATIENCE_MS, resolve);
  await promise;
  cancel();
  unsubscribe();
}

/** The object as the cluster's rules complete it. Throws when they refuse it. */
export function admitNew(object: KubeObject, admission: Admission): KubeObject {
  admitNamespace(object, admission);
  if (admission.type.group !== '') return object;
  if (admission.type.resource === 'pods') return admitPod(object, admission);
  if (admission.type.resource === 'services') return admitService(object);
  return object;
}
