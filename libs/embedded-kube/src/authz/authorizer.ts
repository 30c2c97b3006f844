import { type KubeObject, listAt, textAt, textsAt } from '#lib/kube-semantics';
import { MASTERS, type UserInfo } from '../authn/user.js';
import type { ObjectStore } from '../store/object-store.js';
import { type Access, allows, type PolicyRule } from './access.js';
import { nodeAccess } from './node-access.js';

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
    for (const { object: binding } of this.store.list(`clusterrolebindings.${RBAC}`)) {
      if (!isBound(binding, user, '')) continue;
      const reason = `RBAC: allowed by ClusterRoleBinding "${binding.metadata.name ?? ''}" of ${roleText(binding)} to ${subjectText(binding, user, '')}`;
      yield { rules: this.#rulesOf(binding, ''), reason };
    }
    if (namespace === '') return;
    for (const { object: binding } of this.store.list(`rolebindings.${RBAC}`, namespace)) {
      if (!isBound(binding, user, namespace)) continue;
      const reason = `RBAC: allowed by RoleBinding "${binding.metadata.name ?? ''}/${namespace}" of ${roleText(binding)} to ${subjectText(binding, user, namespace)}`;
      yield { rules: this.#rulesOf(binding, namespace), reason };
    }
  }

  /** The rules of a role; undefined when there is none of that name. */
  roleRules(
    resource: 'roles' | 'clusterroles',
    namespace: string,
    name: string,
  ): readonly PolicyRule[] | undefined {
    const scope = resource === 'clusterroles' ? '' : namespace;
    const role = this.store.get({ resource: `${resource}.${RBAC}`, namespace: scope, name });
    return role && listAt(role.object, 'rules').map(parseRule);
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

function isBound(binding: KubeObject, user: UserInfo, namespace: string): boolean {
  return listAt(binding, 'subjects').some((subject) => isSubject(subject, user, namespace));
}

function isSubject(subject: unknown, user: UserInfo, namespace: string): boolean {
  const name = textAt(subject, ['name']);
  switch (textAt(subject, ['kind'])) {
    case 'User':
      return name === user.username;
    case 'Group':
      return user.groups.includes(name);
    case 'ServiceAccount':
      return user.username === `system:serviceaccount:${textAt(subject, ['namespace']) || namespace}:${name}`;
    default:
      return false;
  }
}

function roleText(binding: KubeObject): string {
  return `${textAt(binding, ['roleRef', 'kind'])} "${textAt(binding, ['roleRef', 'name'])}"`;
}

function subjectText(binding: KubeObject, user: UserInfo, namespace: string): string {
  const subject = listAt(binding, 'subjects').find((each) => isSubject(each, user, namespace));
  const kind = textAt(subject, ['kind']);
  const name = textAt(subject, ['name']);
  return kind === 'ServiceAccount'
    ? `ServiceAccount "${name}/${textAt(subject, ['namespace']) || namespace}"`
    : `${kind} "${name}"`;
}
