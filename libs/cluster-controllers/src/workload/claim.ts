import {
  fromMapped,
  type Informer,
  isConflict,
  isInvalid,
  isNotFound,
  type KubeClient,
  type Source,
} from '#lib/kube';
import { controllerOf, controllerReference } from '#lib/reconcile';
import {
  fulfilsSelector,
  keyOf,
  type KubeObject,
  type LabelSelector,
  type ResourceRef,
} from '#lib/resources';

type Labels = Readonly<Record<string, string>> | undefined;

/**
 * True when labels fulfil a selector. An empty selector matches nothing here: a workload must not own the
 * whole namespace.
 */
export function matchesSelector(selector: LabelSelector | undefined, labels: Labels = {}): boolean {
  const isEmpty =
    Object.keys(selector?.matchLabels ?? {}).length === 0 && (selector?.matchExpressions ?? []).length === 0;
  return selector !== undefined && !isEmpty && fulfilsSelector(selector, labels);
}

interface Selecting extends KubeObject {
  readonly spec: { readonly selector?: LabelSelector | undefined };
}

/** A child without a controller may be one that an owner wants to adopt. */
export function fromOrphans<C extends KubeObject, O extends Selecting>(
  children: Informer<C>,
  owners: Informer<O>,
): Source {
  return fromMapped(children, (child) =>
    controllerOf(child)
      ? []
      : owners
          .list(child.metadata.namespace)
          .filter(({ spec }) => matchesSelector(spec.selector, child.metadata.labels))
          .map(keyOf),
  );
}

export interface Claim {
  readonly owner: KubeObject;
  readonly ownerRef: ResourceRef;
  readonly selector: LabelSelector | undefined;
}

/** Result of a claim: `ours` as they are, `adopt` to be given our reference, `release` to lose it. */
export interface ClaimPlan<T> {
  readonly ours: readonly T[];
  readonly adopt: readonly T[];
  readonly release: readonly T[];
}

/** Children by owner reference and selector: orphans that match are adopted, ours that no longer match are released. */
export function planClaim<T extends KubeObject>(
  { owner, selector }: Claim,
  candidates: readonly T[],
): ClaimPlan<T> {
  const ours: T[] = [];
  const adopt: T[] = [];
  const release: T[] = [];
  const isOwnerDeleting = owner.metadata.deletionTimestamp !== undefined;
  for (const candidate of candidates) {
    const controller = controllerOf(candidate);
    const isMatching = matchesSelector(selector, candidate.metadata.labels);
    if (controller) {
      if (controller.uid !== owner.metadata.uid) continue;
      if (isMatching || isOwnerDeleting) ours.push(candidate);
      else release.push(candidate);
    } else if (isMatching && !isOwnerDeleting && candidate.metadata.deletionTimestamp === undefined) {
      adopt.push(candidate);
    }
  }
  return { ours, adopt, release };
}

/**
 * Carries a claim out; answers the children that are ours now. Changes in the meantime are left to the next
 * pass.
 */
export async function performClaim<T extends KubeObject>(
  client: KubeClient,
  ref: ResourceRef<T>,
  claim: Claim,
  candidates: readonly T[],
): Promise<readonly T[]> {
  const plan = planClaim(claim, candidates);
  const adopted: T[] = [];
  for (const child of plan.adopt) {
    const references = [
      ...(child.metadata.ownerReferences ?? []),
      controllerReference(claim.ownerRef, claim.owner),
    ];
    const updated = await writeReferences(client, ref, child, references);
    if (updated) adopted.push(updated);
  }
  for (const child of plan.release) {
    const references = (child.metadata.ownerReferences ?? []).filter(
      ({ uid }) => uid !== claim.owner.metadata.uid,
    );
    await writeReferences(client, ref, child, references);
  }
  return [...plan.ours, ...adopted];
}

async function writeReferences<T extends KubeObject>(
  client: KubeClient,
  ref: ResourceRef<T>,
  child: T,
  ownerReferences: KubeObject['metadata']['ownerReferences'],
): Promise<T | undefined> {
  const { uid, resourceVersion } = child.metadata;
  try {
    const plain: ResourceRef = { ...ref, object: undefined };
    return (await client.merge(plain, keyOf(child), {
      metadata: { uid, resourceVersion, ownerReferences },
    })) as T;
  } catch (error) {
    if (isNotFound(error) || isConflict(error) || isInvalid(error)) return undefined;
    throw error;
  }
}
