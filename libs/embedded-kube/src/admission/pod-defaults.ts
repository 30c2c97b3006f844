import { at, forbidden, type KubeObject, listAt, recordAt, textAt, withField } from '#lib/kube-semantics';
import { namedByPod } from '../pod/named-by-pod.js';
import { isUnmountable } from '../pod/unmountable-secret.js';
import type { Admission } from './admission-request.js';

const UNREACHABLE_SECONDS = 300;

/**
 * Adds the fields that a cluster's admission adds to every Pod: its service account (which must exist), its
 * priority, and how long it stays on a lost node. No token volume: the node gives the pod its kubeconfig.
 * Secrets that no pod may use are refused.
 */
export function admitPod(pod: KubeObject, { type, namespace, store }: Admission): KubeObject {
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
