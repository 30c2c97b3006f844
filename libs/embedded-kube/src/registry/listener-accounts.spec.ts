import { describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#lib/kube-semantics';
import { RequestPots, WATCH_LIMITS } from '../http/request-pots.js';
import { listenerAccounts } from './listener-accounts.js';

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
  const open = new RequestPots(WATCH_LIMITS, 'watches open', findListeners);
  return (count: number, username: string): number => {
    for (let opened = 0; opened < count; opened++)
      try {
        open.begin({ username, groups: [] }, new AbortController().signal);
      } catch {
        return opened;
      }
    return count;
  };
}

describe('listenerAccounts', () => {
  it('leaves places to listeners, and to the last that come, however many watches users have', () => {
    const names = Array.from({ length: 40 }, (_, tenant) => `of-${tenant}/a`);
    const begin = openWatches([...names, 'five/a', 'five/b', 'five/c', 'five/d', 'five/e']);
    for (let tenant = 0; tenant < 15; tenant++) begin(200, `user-${tenant}`);
    expect(begin(200, 'late')).toBe(20);
    for (let tenant = 0; tenant < 10; tenant++)
      expect(begin(100, `system:serviceaccount:of-${tenant}:listener-a`)).toBe(24);
    expect(begin(60, 'system:serviceaccount:five:listener-a')).toBe(60);
    for (let tenant = 10; tenant < 30; tenant++) begin(100, `system:serviceaccount:of-${tenant}:listener-a`);
    expect(begin(100, 'system:serviceaccount:of-30:listener-a')).toBe(20);
  });

  it('takes an account with the label of listeners for one of users', () => {
    const begin = openWatches(['red/a']);
    expect(begin(10, 'system:serviceaccount:red:listener-a')).toBe(10);
    expect(begin(300, 'system:serviceaccount:red:listener-b')).toBe(200);
    expect(begin(1, 'system:serviceaccount:red:agent')).toBe(0);
    // a reference to the Listener under another name than its account has
    expect(begin(1, 'system:serviceaccount:red:listener-abc')).toBe(0);
    expect(begin(10, 'system:serviceaccount:red:listener-a')).toBe(10);
  });

  it('takes an account with another owner beside its Listener for one of users', () => {
    const begin = openWatches(['red/a', 'red/ab']);
    expect(begin(300, 'system:serviceaccount:red:listener-ab')).toBe(200);
  });
});
