import { describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#lib/kube-semantics';
import type { ObjectStore } from '../store/object-store.js';
import { Authorizer } from './authorizer.js';

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
  ...{ user: { username: user, groups }, verb: 'get', isResource: true, group: '', resource },
  ...{ subresource: '', namespace: 'space', name: '', path: '' },
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
});
