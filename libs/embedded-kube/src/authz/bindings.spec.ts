import { describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#lib/kube-semantics';
import type { ObjectStore } from '../store/object-store.js';
import { Authorizer } from './authorizer.js';
import { EscalationCheck } from './escalation.js';

const RBAC = 'rbac.authorization.k8s.io';
const MANY = 2_000;

function stored(kind: string, name: string, body: object): KubeObject {
  return { apiVersion: `${RBAC}/v1`, kind, metadata: { name, namespace: 'space' }, ...body };
}

/** @param read called for each role that is read */
function storeOf(objects: readonly KubeObject[], read = (): void => undefined): ObjectStore {
  const of = (kind: string) =>
    objects.filter((object) => object.kind === kind).map((object) => ({ object, json: '', revision: 1 }));
  const [bindings, roles] = [of('RoleBinding'), of('Role')];
  return {
    list: (resource: string) => (resource === `rolebindings.${RBAC}` ? bindings : []),
    get: ({ name }: { name: string }) => {
      read();
      return roles.find(({ object }) => object.metadata.name === name);
    },
  } as unknown as ObjectStore;
}

const access = (user: string, groups: readonly string[], resource: string) => ({
  user: { username: user, groups },
  verb: 'get',
  isResource: true,
  group: '',
  resource,
  subresource: '',
  namespace: 'space',
  name: '',
  path: '',
});
const role = (name: string, resources: readonly string[]) =>
  stored('Role', name, {
    rules: resources.map((one) => ({ verbs: ['get'], apiGroups: [''], resources: [one] })),
  });
const binding = (name: string, of: string, subjects: readonly object[]) =>
  stored('RoleBinding', name, { roleRef: { apiGroup: RBAC, kind: 'Role', name: of }, subjects });

describe('Authorizer', () => {
  const store = storeOf([
    role('pods', ['pods']),
    role('maps', ['configmaps']),
    binding('a', 'pods', [{ kind: 'User', name: 'ann' }]),
    binding('b', 'pods', [{ kind: 'Group', name: 'crew' }]),
    binding('c', 'maps', [{ kind: 'ServiceAccount', name: 'robot' }]),
    binding('d', 'maps', [{ kind: 'ServiceAccount', name: 'guest', namespace: 'other' }]),
  ]);

  it.each([
    ['a user', 'ann', [], 'pods', 'RBAC: allowed by RoleBinding "a/space" of Role "pods" to User "ann"'],
    [
      'a group',
      'bob',
      ['crew'],
      'pods',
      'RBAC: allowed by RoleBinding "b/space" of Role "pods" to Group "crew"',
    ],
    [
      'an account of the namespace',
      'system:serviceaccount:space:robot',
      [],
      'configmaps',
      'RBAC: allowed by RoleBinding "c/space" of Role "maps" to ServiceAccount "robot/space"',
    ],
    [
      'an account of another namespace',
      'system:serviceaccount:other:guest',
      [],
      'configmaps',
      'RBAC: allowed by RoleBinding "d/space" of Role "maps" to ServiceAccount "guest/other"',
    ],
  ])('allows %s what a binding gives', (_, user, groups, resource, reason) => {
    expect(new Authorizer(store).decide(access(user, groups, resource))).toEqual({ allowed: true, reason });
    expect(new Authorizer(store).decide(access(user, groups, 'secrets')).allowed).toBe(false);
  });

  it.each([
    ['an account of the same name elsewhere', 'system:serviceaccount:other:robot'],
    ['a user with the name of a group', 'crew'],
    ['a user with the name of an account', 'robot'],
  ])('allows nothing to %s', (_, user) => {
    for (const resource of ['pods', 'configmaps'])
      expect(new Authorizer(store).decide(access(user, [], resource)).allowed).toBe(false);
  });

  it('reads a role once a request, however many bindings name it', () => {
    const rules = Array.from({ length: 200 }, (_, at) => `things${at}`);
    const subjects = Array.from({ length: 50 }, (_, at) => ({ kind: 'User', name: `user${at}` }));
    let reads = 0;
    const crowded = new Authorizer(
      storeOf(
        [
          role('large', rules),
          ...Array.from({ length: MANY }, (_, at) => binding(`b${at}`, 'large', subjects)),
        ],
        () => reads++,
      ),
    );
    for (let count = 1; count <= 3; count++) {
      expect(crowded.decide(access('user49', [], 'secrets')).allowed).toBe(false);
      expect(reads).toBe(count);
    }
  });

  it('asks no binding about each of the groups that a review names', () => {
    let reads = 0;
    const groups = new Proxy(
      Array.from({ length: 100_000 }, (_, at) => `group${at}`),
      { get: (all, key) => (reads++, Reflect.get(all, key) as unknown) },
    );
    const bindings = Array.from({ length: 500 }, (_, at) =>
      binding(`b${at}`, 'pods', [{ kind: 'Group', name: `other${at}` }]),
    );
    const last = binding('z', 'maps', [{ kind: 'Group', name: 'group99999' }]);
    const crowded = new Authorizer(storeOf([role('maps', ['configmaps']), ...bindings, last]));
    expect(crowded.decide(access('ann', groups, 'configmaps')).allowed).toBe(true);
    expect(reads).toBeLessThan(10 * groups.length);
  });
});

describe('EscalationCheck', () => {
  const roles = { group: RBAC, resource: 'roles' };
  const names = (count: number, per: number): readonly object[] =>
    Array.from({ length: count }, (_, at) => ({
      verbs: ['get'],
      apiGroups: [''],
      resources: ['configmaps'],
      resourceNames: Array.from({ length: per }, (_each, n) => `n${at}-${n}`),
    }));
  const ann = { username: 'ann', groups: [] };

  it('refuses a role with more rules than requests of all whom it is bound to should be compared with', () => {
    const check = new EscalationCheck(
      new Authorizer(
        storeOf([role('maps', ['configmaps']), binding('a', 'maps', [{ kind: 'User', name: 'ann' }])]),
      ),
    );
    const write = (rules: readonly object[]) => () =>
      check.check(roles, stored('Role', 'new', { rules }), undefined, ann);
    expect(write(names(200, 1))).not.toThrow();
    expect(write(names(201, 1))).toThrow(/it has 201 rules, and may have 200/);
  });

  it('ends a comparison with the rules of thousands of bound roles', () => {
    const subjects = [{ kind: 'User', name: 'ann' }];
    const own = Array.from({ length: 20_000 }, (_, at) => [
      stored('Role', `r${at}`, {
        rules: [{ verbs: ['get'], apiGroups: [''], resources: ['configmaps'], resourceNames: [`m${at}`] }],
      }),
      binding(`b${at}`, `r${at}`, subjects),
    ]).flat();
    const byName = new Map(own.map((object) => [object.metadata.name, object]));
    const store = {
      ...storeOf(own),
      get: ({ name }: { name: string }) => ({ object: byName.get(name), json: '', revision: 1 }),
    } as unknown as ObjectStore;
    const check = new EscalationCheck(new Authorizer(store));
    expect(() =>
      check.check(roles, stored('Role', 'new', { rules: names(1, 5_000) }), undefined, ann),
    ).toThrow(
      /its 5000 combinations of verbs and things are too many to compare with the 20000 rules of user "ann"/,
    );
  });
});
