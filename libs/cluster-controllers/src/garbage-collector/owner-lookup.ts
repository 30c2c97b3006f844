import type { KubeClient } from '#lib/kube';
import { hasFinalizer } from '#lib/reconcile';
import {
  apiVersionOf,
  isDeleting,
  type KubeObject,
  type OwnerReference,
  type ResourceRef,
} from '#lib/resources';
import type { Discovery } from '../context/discovery.js';
import { type GraphItem, isSameScope, type OwnershipGraph, ownersOf } from './ownership-graph.js';

const MAX_OWNERS = 500;
const MAX_NAMESPACES = 200;
/** Names in references are as long as their writer likes. */
const MAX_LETTERS = 600;

/**
 * Owners that were looked for and not found, so that each is looked for once; uids never come back. Owners
 * named in one namespace neither displace nor answer for those of others.
 */
class AbsentOwners {
  readonly #namespaces = new Map<string, Set<string>>();

  has(namespace: string, owner: OwnerReference): boolean {
    return this.#namespaces.get(namespace)?.has(ownerText(owner)) ?? false;
  }

  add(namespace: string, owner: OwnerReference): void {
    const text = ownerText(owner);
    if (text.length > MAX_LETTERS) return;
    const owners = this.#namespaces.get(namespace) ?? new Set();
    // namespaces are ordered by their last write, the newest last
    this.#namespaces.delete(namespace);
    this.#namespaces.set(namespace, owners.add(text));
    dropOldest(owners, MAX_OWNERS);
    dropOldest(this.#namespaces, MAX_NAMESPACES);
  }
}

/** All by which an owner is looked for. */
function ownerText({ apiVersion, kind, name, uid }: OwnerReference): string {
  return JSON.stringify([apiVersion, kind, name, uid]);
}

function dropOldest(kept: Set<string> | Map<string, unknown>, most: number): void {
  const [oldest] = kept.keys();
  if (kept.size > most && oldest !== undefined) kept.delete(oldest);
}

/**
 * State of one owner: `solid` it exists · `waiting` it is being deleted and waits for its dependents
 * (foreground) · `absent` it is not there, or another object has its name · `unknown` its kind is not served
 * now.
 */
export type OwnerState = 'solid' | 'waiting' | 'absent' | 'unknown';

interface OwnerView {
  readonly uid: string;
  readonly state: OwnerState;
}

export type CollectionDecision =
  | { readonly kind: 'keep' }
  /** Some owners are deleted, others exist. */
  | { readonly kind: 'drop-references'; readonly uids: readonly string[] }
  | { readonly kind: 'delete'; readonly propagation: 'Background' | 'Foreground' | 'Orphan' }
  | { readonly kind: 'ask-later' };

export interface ItemView {
  readonly finalizers: readonly string[];
  readonly hasDependents: boolean;
  readonly owners: readonly OwnerView[];
}

/** An object lives as long as one of its owners does. */
export function decideCollection({ owners, finalizers, hasDependents }: ItemView): CollectionDecision {
  if (owners.length === 0) return { kind: 'keep' };
  const of = (state: OwnerState): string[] =>
    owners.filter((owner) => owner.state === state).map(({ uid }) => uid);
  const gone = [...of('absent'), ...of('waiting')];
  if (of('solid').length > 0)
    return gone.length > 0 ? { kind: 'drop-references', uids: gone } : { kind: 'keep' };
  if (of('unknown').length > 0) return { kind: 'ask-later' };
  if (of('waiting').length > 0 && hasDependents) return { kind: 'delete', propagation: 'Foreground' };
  if (finalizers.includes('orphan')) return { kind: 'delete', propagation: 'Orphan' };
  if (finalizers.includes('foregroundDeletion')) return { kind: 'delete', propagation: 'Foreground' };
  return { kind: 'delete', propagation: 'Background' };
}

export const FOREGROUND = 'foregroundDeletion';

/** Owners that one pass asks the API server for: an object may name thousands, and other namespaces wait meanwhile. */
const LOOKUPS_IN_A_PASS = 50;

/** Finds out whether the owners of an object exist: by what is followed, else by asking. */
export class OwnerLookup {
  readonly #absent = new AbsentOwners();
  /** Results of earlier passes over an object that is not judged yet: uid of the object → owner → state. */
  readonly #begun = new Map<string, Map<string, OwnerState>>();

  constructor(
    private readonly client: KubeClient,
    private readonly discovery: Discovery,
    private readonly graph: OwnershipGraph,
  ) {}

  /** Undefined when too many have to be asked for in one pass; the next one continues. */
  async ownersOf(item: GraphItem): Promise<readonly OwnerView[] | undefined> {
    const { uid: itemUid = '' } = item.object.metadata;
    const found = this.#begun.get(itemUid) ?? new Map<string, OwnerState>();
    const owners: OwnerView[] = [];
    let lookups = 0;
    for (const owner of ownersOf(item.object)) {
      const text = ownerText(owner);
      let state = this.#knownState(item, owner) ?? found.get(text);
      if (state === undefined) {
        if (lookups++ === LOOKUPS_IN_A_PASS) {
          this.#begun.set(itemUid, found);
          return undefined;
        }
        state = await this.#lookUp(item, owner);
        found.set(text, state);
      }
      owners.push({ uid: owner.uid, state });
    }
    this.#begun.delete(itemUid);
    return owners;
  }

  /** The object was deleted. */
  forget(ref: ResourceRef, { metadata: { uid = '', name, namespace = '' } }: KubeObject): void {
    this.#begun.delete(uid);
    this.#absent.add(namespace, { apiVersion: apiVersionOf(ref), kind: ref.kind, name, uid });
  }

  #knownState(item: GraphItem, owner: OwnerReference): OwnerState | undefined {
    const known = this.graph.find(owner.uid);
    if (known) return isSameScope(item, known) ? aliveState(known.object) : 'absent';
    return this.#absent.has(item.object.metadata.namespace ?? '', owner) ? 'absent' : undefined;
  }

  async #lookUp(item: GraphItem, owner: OwnerReference): Promise<OwnerState> {
    const ref = await this.#refOf(owner);
    if (!ref) return 'unknown';
    const { namespace } = item.object.metadata;
    // an object without a namespace cannot be owned by one in a namespace
    if (ref.namespaced && namespace === undefined) return 'absent';
    const key =
      ref.namespaced && namespace !== undefined ? { namespace, name: owner.name } : { name: owner.name };
    const live = await this.client.find(ref, key);
    if (live?.metadata.uid === owner.uid) return aliveState(live);
    this.#absent.add(namespace ?? '', owner);
    return 'absent';
  }

  async #refOf(owner: OwnerReference): Promise<ResourceRef | undefined> {
    const [group] = owner.apiVersion.includes('/') ? owner.apiVersion.split('/') : [''];
    const resources = await this.discovery.resources();
    const exact = resources.find((ref) => ref.kind === owner.kind && apiVersionOf(ref) === owner.apiVersion);
    return exact ?? resources.find((ref) => ref.kind === owner.kind && ref.group === group);
  }
}

function aliveState(owner: KubeObject): OwnerState {
  return isDeleting(owner) && hasFinalizer(owner, FOREGROUND) ? 'waiting' : 'solid';
}
