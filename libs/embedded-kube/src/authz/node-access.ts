import { type KubeObject, textAt } from '#lib/kube-semantics';
import { isUnmountable, namedByPod } from '../pod/unmountable-secret.js';
import type { ObjectStore } from '../store/object-store.js';
import type { Access } from './access.js';
import { nodeOf } from '../authn/user.js';

const LEASES = 'coordination.k8s.io';
const LEASE_NAMESPACE = 'kube-node-lease';

/** The answer for a node: yes, or the reason against; undefined when the rule is not specific to nodes. */
export type NodeAnswer = { readonly allowed: boolean; readonly reason: string } | undefined;

/**
 * Decides the access of a node because of the pods that are bound to it: read them, their namespaces, and the
 * Secrets and ConfigMaps that they name, get tokens for their service accounts, write their status, end them;
 * and keep its own Node and Lease. An attacker on a node gets what its pods could get, and not all Secrets.
 * Everything that all nodes may do is in the role `system:node`.
 */
export function nodeAccess(access: Access, store: ObjectStore): NodeAnswer {
  const { user, isResource, group } = access;
  const node = nodeOf(user);
  if (!isResource || node === undefined) return undefined;
  if (group === LEASES) return ownLease(access, node);
  if (group !== '') return undefined;
  switch (access.resource) {
    case 'nodes':
      return ownNode(access, node);
    case 'pods':
      return ownPod(access, node, store);
    case 'namespaces':
      return namespaceOfPods(access, node, store);
    case 'secrets':
    case 'configmaps':
      return namedByPods(access, node, store);
    case 'serviceaccounts':
      return accountOfPods(access, node, store);
    default:
      return undefined;
  }
}

const YES = { allowed: true, reason: '' } as const;

function answer(allowed: boolean, reason: string): NodeAnswer {
  return allowed ? YES : { allowed: false, reason };
}

function ownLease({ resource, verb, namespace, name }: Access, node: string): NodeAnswer {
  if (resource !== 'leases') return undefined;
  const known = ['get', 'create', 'update', 'patch', 'delete'].includes(verb);
  // the name of an object to be created is in its body, which `checkNodeWrite` looks at
  const isOwn = namespace === LEASE_NAMESPACE && (name === node || verb === 'create');
  return answer(known && isOwn, 'can only access node lease with the same name as the requesting node');
}

function ownNode({ verb, subresource, name }: Access, node: string): NodeAnswer {
  if (verb === 'create' && subresource === '') return YES;
  const verbs =
    subresource === ''
      ? ['get', 'list', 'watch', 'update', 'patch']
      : subresource === 'status'
        ? ['get', 'update', 'patch']
        : [];
  return answer(name === node && verbs.includes(verb), `node '${node}' cannot access other nodes`);
}

function ownPod(access: Access, node: string, store: ObjectStore): NodeAnswer {
  const { verb, subresource, namespace, name } = access;
  const verbs: Readonly<Record<string, readonly string[]>> = {
    '': ['get', 'list', 'watch', 'delete'],
    status: ['get', 'update', 'patch'],
    eviction: ['create'],
  };
  if (!(Object.hasOwn(verbs, subresource) && verbs[subresource]?.includes(verb))) return undefined;
  if (verb === 'list' || verb === 'watch')
    return answer(
      access.nodeName === node,
      `can only list/watch pods with spec.nodeName field selector '${node}'`,
    );
  const pod = store.get({ resource: 'pods', namespace, name });
  // a deleted pod is answered 404, which a late node understands
  if (!pod) return answer(verb !== 'get', noRelationship(node));
  return answer(isBound(pod.object, node), `pod is not bound to node '${node}'`);
}

/**
 * Access to a namespace of its pods: its uid tells a node that the namespace replaced an earlier one of the
 * same name.
 */
function namespaceOfPods({ verb, subresource, name }: Access, node: string, store: ObjectStore): NodeAnswer {
  if (verb !== 'get' || subresource !== '') return undefined;
  return answer(podsOf(node, name, store).length > 0, noRelationship(node));
}

function namedByPods(
  { verb, resource, subresource, namespace, name }: Access,
  node: string,
  store: ObjectStore,
): NodeAnswer {
  if (!['get', 'list', 'watch'].includes(verb))
    return { allowed: false, reason: 'can only read resources of this type' };
  if (subresource !== '') return { allowed: false, reason: 'cannot read subresource' };
  if (name === '' || namespace === '')
    return { allowed: false, reason: 'can only read namespaced object of this type' };
  const kind = resource === 'secrets' ? 'secrets' : 'configmaps';
  const naming = podsOf(node, namespace, store).filter((pod) => namedByPod(pod, kind).has(name));
  if (naming.length === 0) return answer(false, noRelationship(node));
  // a pod may have been made before its Secret: what none of them may have is not given to their node either
  const found = kind === 'secrets' ? store.get({ resource: kind, namespace, name })?.object : undefined;
  if (!found || naming.some((pod) => !isUnmountable(found, pod, store))) return YES;
  return { allowed: false, reason: `type ${textAt(found, ['type'])} cannot be used by these pods` };
}

function accountOfPods(
  { verb, subresource, namespace, name }: Access,
  node: string,
  store: ObjectStore,
): NodeAnswer {
  if (verb !== 'create' || subresource !== 'token') return undefined;
  const isUsed = podsOf(node, namespace, store).some(
    (pod) => textAt(pod, ['spec', 'serviceAccountName']) === name,
  );
  return answer(isUsed, noRelationship(node));
}

function noRelationship(node: string): string {
  return `no relationship found between node '${node}' and this object`;
}

function podsOf(node: string, namespace: string, store: ObjectStore): readonly KubeObject[] {
  return store
    .list('pods', namespace)
    .map(({ object }) => object)
    .filter((pod) => isBound(pod, node));
}

function isBound(pod: KubeObject, node: string): boolean {
  return textAt(pod, ['spec', 'nodeName']) === node;
}
