import { createHash } from 'node:crypto';
import type { Deployment, Pod, PodTemplate, ReplicaSet } from '#lib/resources';
import { isPodFinished } from '../workload/workload-condition.js';
import {
  byAge,
  type DeploymentSets,
  growCurrent,
  isScalingEvent,
  planProportional,
  planRollingUpdate,
  planShutdown,
  revisionOf,
  type Scaling,
} from './plan-scaling.js';

export const TEMPLATE_HASH_LABEL = 'pod-template-hash';

/** Letters and digits without vowels, so that no hash spells a word. */
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';

/** Ten characters that name a template; `collisions` separates two templates with the same hash. */
export function templateHash(template: PodTemplate, collisions = 0): string {
  const digest = createHash('sha256')
    .update(`${canonical(withoutHash(template))}#${collisions}`)
    .digest();
  return [...digest.subarray(0, 10)].map((byte) => ALPHABET[byte % ALPHABET.length]).join('');
}

/**
 * True when two templates are the same but for the hash label that a replica set adds. A deployment's is
 * compared with those of thousands of sets, and may have a megabyte: each is read once, as long as it is the
 * same object.
 */
export function isSameTemplate(a: PodTemplate, b: PodTemplate): boolean {
  return digestOf(a) === digestOf(b);
}

const digests = new WeakMap<PodTemplate, string>();

function digestOf(template: PodTemplate): string {
  const known = digests.get(template);
  if (known !== undefined) return known;
  const digest = createHash('sha256')
    .update(canonical(withoutHash(template)))
    .digest('base64');
  digests.set(template, digest);
  return digest;
}

function withoutHash(template: PodTemplate): PodTemplate {
  const { [TEMPLATE_HASH_LABEL]: _, ...labels } = template.metadata?.labels ?? {};
  return { ...template, metadata: { ...template.metadata, labels } };
}

/** JSON with sorted keys, without absent values and the `creationTimestamp: null` that Go's types put into templates. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (key, inner: unknown) => {
    if (key === 'creationTimestamp' && inner === null) return undefined;
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** The one thing that a pass does to a deployment's replica sets. */
export type RolloutDecision =
  | { readonly kind: 'none' }
  | { readonly kind: 'create'; readonly replicas: number }
  | { readonly kind: 'scale'; readonly scalings: readonly Scaling[] }
  | { readonly kind: 'clean-up'; readonly sets: readonly ReplicaSet[] };

/** Finds the set that runs the present template. Among several (an old controller's doing) the oldest. */
export function sortSets(deployment: Deployment, sets: readonly ReplicaSet[]): DeploymentSets {
  const current = sets
    .toSorted(byAge)
    .find((set) => isSameTemplate(set.spec.template, deployment.spec.template));
  return { current, old: sets.filter((set) => set !== current) };
}

/** `pods` are those of the old sets. */
export function decideRollout(
  deployment: Deployment,
  sets: DeploymentSets,
  oldPods: readonly Pod[],
): RolloutDecision {
  if (deployment.metadata.deletionTimestamp !== undefined) return { kind: 'none' };
  if (deployment.spec.paused || isScalingEvent(deployment, sets)) {
    const scalings = planProportional(deployment, sets);
    if (
      isScalingEvent(deployment, sets) ||
      scalings.some(({ set, replicas }) => set.spec.replicas !== replicas)
    )
      return { kind: 'scale', scalings };
    return deployment.spec.paused ? cleanUp(deployment, sets) : { kind: 'none' };
  }
  return deployment.spec.strategy?.type === 'Recreate'
    ? decideRecreate(deployment, sets, oldPods)
    : decideRolling(deployment, sets);
}

function decideRolling(deployment: Deployment, sets: DeploymentSets): RolloutDecision {
  if (!sets.current) return { kind: 'create', replicas: firstSize(deployment, sets.old) };
  const scalings = planRollingUpdate(deployment, sets);
  return scalings.length > 0 ? { kind: 'scale', scalings } : cleanUpWhenComplete(deployment, sets);
}

function decideRecreate(
  deployment: Deployment,
  sets: DeploymentSets,
  oldPods: readonly Pod[],
): RolloutDecision {
  const shutdown = planShutdown(sets.old);
  if (shutdown.length > 0) return { kind: 'scale', scalings: shutdown };
  // pods that are being deleted still run
  if (oldPods.some((pod) => !isPodFinished(pod))) return { kind: 'none' };
  const replicas = deployment.spec.replicas ?? 1;
  if (!sets.current) return { kind: 'create', replicas };
  if (sets.current.spec.replicas !== replicas)
    return { kind: 'scale', scalings: [{ set: sets.current, replicas }] };
  return cleanUpWhenComplete(deployment, sets);
}

function firstSize(deployment: Deployment, old: readonly ReplicaSet[]): number {
  const nothing = { metadata: { name: '' }, spec: { replicas: 0, ...templateOf(deployment) } };
  return growCurrent(deployment, nothing, old);
}

function templateOf({ spec }: Deployment): Pick<ReplicaSet['spec'], 'selector' | 'template'> {
  return { selector: spec.selector, template: spec.template };
}

/** True when, by the status, all pods are of the present template and available. */
export function isComplete(deployment: Deployment, status: Deployment['status']): boolean {
  const replicas = deployment.spec.replicas ?? 1;
  return (
    (status?.updatedReplicas ?? 0) === replicas &&
    (status?.replicas ?? 0) === replicas &&
    (status?.availableReplicas ?? 0) === replicas &&
    (status?.observedGeneration ?? 0) >= (deployment.metadata.generation ?? 0)
  );
}

function cleanUpWhenComplete(deployment: Deployment, sets: DeploymentSets): RolloutDecision {
  return isComplete(deployment, deployment.status) ? cleanUp(deployment, sets) : { kind: 'none' };
}

/** Old sets past the history limit, the lowest revisions first, once they are empty. */
function cleanUp(deployment: Deployment, { old }: DeploymentSets): RolloutDecision {
  const surplus = old.length - (deployment.spec.revisionHistoryLimit ?? 10);
  if (surplus <= 0) return { kind: 'none' };
  const sets = old
    .toSorted((a, b) => revisionOf(a) - revisionOf(b) || byAge(a, b))
    .slice(0, surplus)
    .filter(
      ({ spec, status, metadata }) =>
        (spec.replicas ?? 1) === 0 &&
        (status?.replicas ?? 0) === 0 &&
        (metadata.generation ?? 0) <= (status?.observedGeneration ?? 0) &&
        metadata.deletionTimestamp === undefined,
    );
  return sets.length > 0 ? { kind: 'clean-up', sets } : { kind: 'none' };
}
