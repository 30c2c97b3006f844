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
