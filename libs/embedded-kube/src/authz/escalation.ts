import { jsonEquals } from '#lib/json';
import { forbidden, type KubeObject, listAt, notFound, type ResourceName, textAt } from '#lib/kube-semantics';
import type { UserInfo } from '../authn/user.js';
import type { Access, PolicyRule } from './access.js';
import { type Authorizer, parseRule } from './authorizer.js';

const RBAC = 'rbac.authorization.k8s.io';
const ROLES = new Set(['roles', 'clusterroles']);
const BINDINGS = new Set(['rolebindings', 'clusterrolebindings']);

const EVERYTHING: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'], resourceNames: [], nonResourceURLs: [] },
  { verbs: ['*'], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: ['*'] },
];

/**
 * No writer grants rights that it does not hold: a role may only be written with rules that its writer has himself (or
 * with the verb `escalate` on it), and only be bound by whom has its rules (or the verb `bind` on it). Throws 403.
 */
export class EscalationCheck {
  constructor(private readonly authorizer: Authorizer) {}

  check(type: ResourceName, next: KubeObject, old: KubeObject | undefined, user: UserInfo): void {
    if (type.group !== RBAC) return;
    if (ROLES.has(type.resource)) this.#checkRole(type, next, old, user);
    if (BINDINGS.has(type.resource)) this.#checkBinding(type, next, user);
  }

  #checkRole(type: ResourceName, next: KubeObject, old: KubeObject | undefined, user: UserInfo): void {
    const { name = '', namespace = '' } = next.metadata;
    const isSelecting = next['aggregationRule'] !== undefined && next['aggregationRule'] !== null;
    const isSelectedAnew =
      isSelecting && !jsonEquals(next['aggregationRule'], old?.['aggregationRule'] ?? null);
    if (old && jsonEquals(next.rules, old.rules) && !isSelectedAnew) return;
    if (this.#may(user, 'escalate', type.resource, namespace, name)) return;
    // the author of an aggregated role gets the rules of all roles that others will label for it
    if (isSelectedAnew) this.#confirm(type, name, EVERYTHING, namespace, user);
    this.#confirm(type, name, listAt(next, 'rules').map(parseRule), namespace, user);
  }

  #checkBinding(type: ResourceName, next: KubeObject, user: UserInfo): void {
    const { name = '', namespace = '' } = next.metadata;
    const kind = textAt(next, ['roleRef', 'kind']);
    const role = textAt(next, ['roleRef', 'name']);
    const resource = kind === 'ClusterRole' ? 'clusterroles' : 'roles';
    if (this.#may(user, 'bind', resource, namespace, role)) return;
    const rules = this.authorizer.roleRules(resource, namespace, role);
    if (!rules) throw notFound({ group: RBAC, resource }, role);
    this.#confirm(type, name, rules, namespace, user);
  }

  #may(user: UserInfo, verb: string, resource: string, namespace: string, name: string): boolean {
    const access: Access = {
      user,
      verb,
      isResource: true,
      group: RBAC,
      resource,
      subresource: '',
      namespace,
      name,
      path: '',
    };
    return this.authorizer.decide(access).allowed;
  }

  #confirm(
    type: ResourceName,
    name: string,
    rules: readonly PolicyRule[],
    namespace: string,
    user: UserInfo,
  ): void {
    if (ROLES.has(type.resource) && rules.length > MAX_RULES)
      throw forbidden(
        type,
        name,
        `it has ${rules.length} rules, and may have ${MAX_RULES}: name several resources, verbs and names in one rule`,
      );
    const asked = rules.reduce((sum, rule) => sum + atomCount(rule), 0);
    if (asked > MAX_ATOMS)
      throw forbidden(
        type,
        name,
        `its rules name ${asked} combinations of verbs and things; at most ${MAX_ATOMS} can be compared with the rights of user ${JSON.stringify(user.username)}: use fewer, or "*"`,
      );
    // rules for any name come first: they cover most, and an author of roles may have bound thousands for
    // single names
    const own = this.authorizer
      .rules(user, namespace)
      .toSorted((a, b) => Number(a.resourceNames.length > 0) - Number(b.resourceNames.length > 0));
    let left = MAX_COMPARISONS;
    const isHeld = (atom: PolicyRule): boolean => {
      const at = own.findIndex((rule) => covers(rule, atom));
      left -= at < 0 ? own.length : at;
      if (left < 0)
        throw forbidden(
          type,
          name,
          `its ${asked} combinations of verbs and things are too many to compare with the ${own.length} rules of user ${JSON.stringify(user.username)}: use fewer, or "*", or unbind roles`,
        );
      return at >= 0;
    };
    const missing = rules.flatMap(atoms).filter((atom) => !isHeld(atom));
    if (missing.length === 0) return;
    const groups = user.groups.map((group) => JSON.stringify(group)).join(' ');
    const lines = compact(missing).map(ruleText).sort().join('\n');
    const who = `user ${JSON.stringify(user.username)} (groups=[${groups}])`;
    throw forbidden(
      type,
      name,
      `${who} is attempting to grant RBAC permissions not currently held:\n${lines}`,
    );
  }
}

/** Far more than the roles of a cluster have. A few kilobytes of lists multiply to billions, which would fill all memory. */
const MAX_ATOMS = 10_000;

/**
 * Limit of comparisons of atoms with rules of the writer: some tenths of a second, in which no other request
 * is served.
 */
const MAX_COMPARISONS = 500_000;
/** Every request looks at all rules of its sender. A dozen times as many as the largest role that Kubernetes brings. */
const MAX_RULES = 200;

/** Number of `atoms`. */
function atomCount({ verbs, nonResourceURLs, apiGroups, resources, resourceNames }: PolicyRule): number {
  const things = apiGroups.length * resources.length * Math.max(1, resourceNames.length);
  return verbs.length * (nonResourceURLs.length + things);
}

/** One verb on one thing. */
function atoms(rule: PolicyRule): readonly PolicyRule[] {
  const none = { apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: [] };
  const names = rule.resourceNames.length > 0 ? rule.resourceNames.map((name) => [name]) : [[]];
  return rule.verbs.flatMap((verb) => [
    ...rule.nonResourceURLs.map((url) => ({ ...none, verbs: [verb], nonResourceURLs: [url] })),
    ...rule.apiGroups.flatMap((group) =>
      rule.resources.flatMap((resource) =>
        names.map((resourceNames) => ({
          ...none,
          verbs: [verb],
          apiGroups: [group],
          resources: [resource],
          resourceNames,
        })),
      ),
    ),
  ]);
}

function covers(rule: PolicyRule, atom: PolicyRule): boolean {
  if (!hasAll(rule.verbs, atom.verbs)) return false;
  if (atom.nonResourceURLs.length > 0)
    return atom.nonResourceURLs.every((url) => rule.nonResourceURLs.some((own) => urlCovers(own, url)));
  return (
    hasAll(rule.apiGroups, atom.apiGroups) &&
    atom.resources.every((resource) => resourceCovers(rule.resources, resource)) &&
    (rule.resourceNames.length === 0 ||
      (atom.resourceNames.length > 0 && hasAll(rule.resourceNames, atom.resourceNames)))
  );
}

function hasAll(own: readonly string[], asked: readonly string[]): boolean {
  return own.includes('*') || asked.every((each) => own.includes(each));
}

function resourceCovers(own: readonly string[], asked: string): boolean {
  const [, subresource] = asked.split('/');
  return (
    own.includes('*') ||
    own.includes(asked) ||
    (subresource !== undefined && own.includes(`*/${subresource}`))
  );
}

function urlCovers(own: string, asked: string): boolean {
  return own === '*' || own === asked || (own.endsWith('*') && asked.startsWith(own.slice(0, -1)));
}

/** Rules for the same thing with their verbs put together. */
function compact(list: readonly PolicyRule[]): readonly PolicyRule[] {
  const byThing = new Map<string, PolicyRule>();
  for (const atom of list) {
    const { verbs, ...thing } = atom;
    const key = JSON.stringify(thing);
    const known = byThing.get(key);
    byThing.set(key, { ...atom, verbs: [...new Set([...(known?.verbs ?? []), ...verbs])] });
  }
  return [...byThing.values()];
}

function ruleText(rule: PolicyRule): string {
  const parts: readonly (readonly [string, readonly string[]])[] = [
    ['APIGroups', rule.apiGroups],
    ['Resources', rule.resources],
    ['NonResourceURLs', rule.nonResourceURLs],
    ['ResourceNames', rule.resourceNames],
    ['Verbs', rule.verbs],
  ];
  const shown = parts.filter(([, values]) => values.length > 0);
  return `{${shown.map(([word, values]) => `${word}:[${values.map((value) => JSON.stringify(value)).join(' ')}]`).join(', ')}}`;
}
