import { type KubeObject, listAt, textAt, textsAt } from '#lib/kube-semantics';
import { MASTERS, type UserInfo, nodeOf } from '../authn/user.js';
import type { ObjectStore } from '../store/object-store.js';
import { type Access, allows, type PolicyRule } from './access.js';
import { isUnmountable, namedByPod } from '../pod/unmountable-secret.js';

const LEASES = 'coordination.k8s.io';
const LEASE_NAMESPACE = 'kube-node-lease';

/** The answer for a node: yes, or the reason against; undefined when the rule is not specific to nodes. */
type NodeAnswer = { readonly allowed: boolean; readonly reason: string } | undefined;

/**
 * Decides the access of a node because of the pods that are bound to it: read them, their namespaces, and the
 * Secrets and ConfigMaps that they name, get tokens for their service accounts, write their status, end them;
 * and keep its own Node and Lease. An attacker on a node gets what its pods could get, and not all Secrets.
 * Everything that all nodes may do is in the role `system:node`.
 */
function nodeAccess(access: Access, store: ObjectStore): NodeAnswer {
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

const RBAC = 'rbac.authorization.k8s.io';

export interface AccessAnswer {
  readonly allowed: boolean;
  readonly reason: string;
}

/**
 * Role-based access control over the Roles and bindings in the store, and what nodes may do for their pods.
 * `system:masters` may do everything.
 */
export class Authorizer {
  constructor(private readonly store: ObjectStore) {}

  decide(access: Access): AccessAnswer {
    const { user } = access;
    if (user.groups.includes(MASTERS)) return { allowed: true, reason: '' };
    const ofNode = nodeAccess(access, this.store);
    if (ofNode?.allowed) return ofNode;
    for (const { rules, reason } of this.#grants(user, access.namespace)) {
      if (rules.some((rule) => allows(rule, access))) return { allowed: true, reason };
    }
    return { allowed: false, reason: ofNode?.reason ?? '' };
  }

  /** Every rule that a user has in a namespace. */
  rules(user: UserInfo, namespace: string): readonly PolicyRule[] {
    const all = { verbs: ['*'], apiGroups: ['*'], resources: ['*'], resourceNames: [], nonResourceURLs: [] };
    const everything = [all, { ...all, apiGroups: [], resources: [], nonResourceURLs: ['*'] }];
    const granted = [...this.#grants(user, namespace)].flatMap(({ rules }) => rules);
    return user.groups.includes(MASTERS) ? [...everything, ...granted] : granted;
  }

  *#grants(user: UserInfo, namespace: string): Generator<{ rules: readonly PolicyRule[]; reason: string }> {
    const names = namesOf(user);
    yield* this.#grantsOf(`clusterrolebindings.${RBAC}`, '', names);
    if (namespace !== '') yield* this.#grantsOf(`rolebindings.${RBAC}`, namespace, names);
  }

  /**
   * Grants of the user; only the first of many bindings of one role counts, since an author of bindings may
   * make thousands.
   */
  *#grantsOf(
    resource: string,
    namespace: string,
    names: ReadonlySet<string>,
  ): Generator<{ rules: readonly PolicyRule[]; reason: string }> {
    const kind = namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding';
    const suffix = namespace === '' ? '' : `/${namespace}`;
    const seen = new Set<string>();
    for (const { object: binding } of this.store.list(resource, namespace)) {
      const subjects = subjectsOf(binding, namespace);
      const subject = firstOf(names, subjects);
      const role = roleText(binding);
      if (subject === undefined || seen.has(role)) continue;
      seen.add(role);
      const reason = `RBAC: allowed by ${kind} "${binding.metadata.name ?? ''}${suffix}" of ${role} to ${subject}`;
      yield { rules: this.#rulesOf(binding, namespace), reason };
    }
  }

  /** The rules of a role; undefined when no role has that name. */
  roleRules(
    resource: 'roles' | 'clusterroles',
    namespace: string,
    name: string,
  ): readonly PolicyRule[] | undefined {
    const scope = resource === 'clusterroles' ? '' : namespace;
    const role = this.store.get({ resource: `${resource}.${RBAC}`, namespace: scope, name });
    return role && rulesOf(role.object);
  }

  #rulesOf(binding: KubeObject, namespace: string): readonly PolicyRule[] {
    const resource = textAt(binding, ['roleRef', 'kind']) === 'ClusterRole' ? 'clusterroles' : 'roles';
    return this.roleRules(resource, namespace, textAt(binding, ['roleRef', 'name'])) ?? [];
  }
}

/** Reads a rule of a role. */
export function parseRule(rule: unknown): PolicyRule {
  return {
    verbs: textsAt(rule, 'verbs'),
    apiGroups: textsAt(rule, 'apiGroups'),
    resources: textsAt(rule, 'resources'),
    resourceNames: textsAt(rule, 'resourceNames'),
    nonResourceURLs: textsAt(rule, 'nonResourceURLs'),
  };
}

// asked for by every request; what is stored is a value, so that what was read of it stays true
const parsedRules = new WeakMap<KubeObject, readonly PolicyRule[]>();
const knownSubjects = new WeakMap<KubeObject, ReadonlySet<string>>();

function rulesOf(role: KubeObject): readonly PolicyRule[] {
  const known = parsedRules.get(role);
  if (known) return known;
  const rules = listAt(role, 'rules').map(parseRule);
  parsedRules.set(role, rules);
  return rules;
}

const ACCOUNT = /^system:serviceaccount:([^:]*):(.*)$/s;

/** Names of a user that a binding may contain, in the words of reasons. */
function namesOf({ username, groups }: UserInfo): ReadonlySet<string> {
  const [, namespace, account] = ACCOUNT.exec(username) ?? [];
  return new Set([
    `User "${username}"`,
    ...groups.map((group) => `Group "${group}"`),
    ...(account === undefined ? [] : [`ServiceAccount "${account}/${namespace}"`]),
  ]);
}

/** A name that is among the subjects. The fewer of both are gone through: a review may name a hundred thousand groups. */
function firstOf(names: ReadonlySet<string>, subjects: ReadonlySet<string>): string | undefined {
  const [few, many] = names.size <= subjects.size ? [names, subjects] : [subjects, names];
  for (const one of few) if (many.has(one)) return one;
  return undefined;
}

/** Subjects that a binding names, in the same words. */
function subjectsOf(binding: KubeObject, namespace: string): ReadonlySet<string> {
  const known = knownSubjects.get(binding);
  if (known) return known;
  const subjects = new Set(
    listAt(binding, 'subjects').map((subject) => {
      const kind = textAt(subject, ['kind']);
      const name = textAt(subject, ['name']);
      if (kind !== 'ServiceAccount') return `${kind} "${name}"`;
      return `${kind} "${name}/${textAt(subject, ['namespace']) || namespace}"`;
    }),
  );
  knownSubjects.set(binding, subjects);
  return subjects;
}

function roleText(binding: KubeObject): string {
  return `${textAt(binding, ['roleRef', 'kind'])} "${textAt(binding, ['roleRef', 'name'])}"`;
}
