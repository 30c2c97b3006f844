import { describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#lib/kube-semantics';
import { listenerAccounts } from './listener-accounts.js';
import { OpenWatches } from './open-watches.js';

/** Accounts named `listener-NAME` are those of Listeners: all have the label, and a reference where a Listener exists. */
function openWatches(listeners: readonly string[] = []) {
  const labels = { 'app.kubernetes.io/component': 'listener' };
  const stored = (resource: string, namespace: string, object: KubeObject) => ({
    key: { resource, namespace, name: object.metadata.name ?? '' },
    revision: 1,
    object,
    json: '',
  });
  const listenersIn = (namespace: string) =>
    listeners
      .map((one) => one.split('/'))
      .filter(([of]) => of === namespace)
      .map(([, name = '']) =>
        stored('listeners.agentplane.dev', namespace, {
          apiVersion: 'agentplane.dev/v1alpha1',
          kind: 'Listener',
          metadata: { name, namespace, uid: `uid-of-${namespace}-${name}` },
        }),
      );
  const findListeners = listenerAccounts({
    get: ({ resource, namespace, name }) => {
      const all = listenersIn(namespace);
      if (resource !== 'serviceaccounts') return all.find(({ object }) => object.metadata.name === name);
      const owners = all.map(({ object: { apiVersion, kind, metadata } }) => ({
        apiVersion,
        kind,
        name: metadata.name ?? '',
        uid: metadata.uid ?? '',
      }));
      const ownerReferences = owners.filter((owner) => name.startsWith(`listener-${owner.name}`));
      const metadata = { name, namespace, labels, ownerReferences };
      return stored(resource, namespace, { apiVersion: 'v1', kind: 'ServiceAccount', metadata });
    },
    list: (_resource, namespace = '') => listenersIn(namespace),
  });
  const open = new OpenWatches(findListeners);
  return (count: number, username: string, namespace = '', groups: string[] = []): number => {
    for (let opened = 0; opened < count; opened++)
      try {
        open.begin({ username, groups }, namespace, new AbortController().signal);
      } catch {
        return opened;
      }
    return count;
  };
}

describe('OpenWatches', () => {
  it('counts people and accounts of a namespace together, and keeps the least for each of them', () => {
    const begin = openWatches();
    expect(begin(250, 'ann', 'red')).toBe(200);
    expect(begin(150, 'system:serviceaccount:red:agent', 'red')).toBe(100);
    expect(begin(50, 'bob', 'red')).toBe(20);
    expect(begin(50, 'cid', 'red')).toBe(20);
    expect(begin(1, 'bob', 'red')).toBe(0);
    expect(begin(30, 'bob', 'blue')).toBe(30);
  });

  it('leaves places to listeners, and to the last that come, however many watches users have', () => {
    const names = Array.from({ length: 40 }, (_, tenant) => `of-${tenant}/a`);
    const begin = openWatches([...names, 'five/a', 'five/b', 'five/c', 'five/d', 'five/e']);
    for (let tenant = 0; tenant < 15; tenant++) begin(200, `user-${tenant}`, `of-${tenant}`);
    expect(begin(200, 'late', 'last')).toBe(20);
    for (let tenant = 0; tenant < 10; tenant++)
      expect(begin(100, `system:serviceaccount:of-${tenant}:listener-a`, `of-${tenant}`)).toBe(24);
    expect(begin(60, 'system:serviceaccount:five:listener-a', 'five')).toBe(60);
    for (let tenant = 10; tenant < 30; tenant++) begin(100, `system:serviceaccount:of-${tenant}:listener-a`);
    expect(begin(100, 'system:serviceaccount:of-30:listener-a')).toBe(20);
  });

  it('takes an account with the label of listeners for one of users', () => {
    const begin = openWatches(['red/a']);
    expect(begin(10, 'system:serviceaccount:red:listener-a', 'red')).toBe(10);
    expect(begin(300, 'system:serviceaccount:red:listener-b', 'red')).toBe(200);
    expect(begin(1, 'system:serviceaccount:red:agent', 'red')).toBe(0);
    // a reference to the Listener under another name than its account has
    expect(begin(1, 'system:serviceaccount:red:listener-abc', 'red')).toBe(0);
    expect(begin(10, 'system:serviceaccount:red:listener-a', 'red')).toBe(10);
  });

  it('takes an account with another owner beside its Listener for one of users', () => {
    const begin = openWatches(['red/a', 'red/ab']);
    expect(begin(300, 'system:serviceaccount:red:listener-ab', 'red')).toBe(200);
  });

  it('gives a place back when a watch ends or its namespace refuses it', () => {
    const open = new OpenWatches(() => undefined);
    const ended = new AbortController();
    const begin = (username: string, namespace: string) =>
      open.begin({ username, groups: [] }, namespace, ended.signal);
    for (let index = 0; index < 200; index++) begin('ann', 'red');
    expect(() => begin('ann', 'red')).toThrow('ann has 200 watches open');
    ended.abort();
    const later = new AbortController().signal;
    for (let index = 0; index < 200; index++) open.begin({ username: 'ann', groups: [] }, 'red', later);
    for (let index = 0; index < 100; index++) open.begin({ username: 'bob', groups: [] }, 'red', later);
    for (let index = 0; index < 3; index++)
      expect(() => open.begin({ username: 'bob', groups: [] }, 'red', later)).toThrow(
        'the users who watch namespace red together have 300 watches open',
      );
    for (let index = 0; index < 100; index++) open.begin({ username: 'bob', groups: [] }, 'blue', later);
  });

  it('leaves places to a third node, and to the proxy of Services, beside two that have all', () => {
    const begin = openWatches();
    const nodes = ['system:nodes'];
    expect(begin(600, 'system:node:a', '', nodes)).toBe(200);
    expect(begin(600, 'system:node:b', '', nodes)).toBe(100);
    expect(begin(100, 'system:node:c', '', nodes)).toBe(20);
    expect(begin(50, 'system:kube-proxy')).toBe(50);
  });
});
