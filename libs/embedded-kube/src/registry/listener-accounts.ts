import { qualified } from '#lib/kube-semantics';
import { listenerObjectName, RESOURCES } from '#lib/resources';
import type { FindListeners } from '../http/request-pots.js';
import type { ObjectStore } from '../store/object-store.js';

const { group, plural, kind } = RESOURCES.Listener;
const LISTENERS = qualified({ group, resource: plural });
const ACCOUNT = /^system:serviceaccount:([^:]+):([^:]+)$/;

/**
 * Finds the accounts that Listeners have by what the controller gives them: the name that follows from the Listener's, and
 * its owner reference. Labels prove nothing, since tenants set them; to make a Listener takes the administrator of a
 * namespace.
 */
export function listenerAccounts(store: Pick<ObjectStore, 'get' | 'list'>): FindListeners {
  return ({ username }) => {
    const [, namespace, name] = ACCOUNT.exec(username) ?? [];
    if (namespace === undefined || name === undefined) return undefined;
    const account = store.get({ resource: 'serviceaccounts', namespace, name })?.object;
    // the controller gives it one; a tenant could name thousands, and this runs for each request before it is
    // queued
    const references = account?.metadata.ownerReferences;
    const owner = references?.length === 1 ? references[0] : undefined;
    if (owner?.kind !== kind || listenerObjectName(owner.name) !== name) return undefined;
    const listener = store.get({ resource: LISTENERS, namespace, name: owner.name })?.object;
    const isListeners = listener !== undefined && listener.metadata.uid === owner.uid;
    return isListeners ? { namespace, count: store.list(LISTENERS, namespace).length } : undefined;
  };
}
