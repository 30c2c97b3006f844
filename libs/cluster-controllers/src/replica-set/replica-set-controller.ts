import { errorText } from '#lib/errors';
import { type ControllerSpec, fromObjects, fromOwned } from '#lib/kube';
import { after, controllerReference, done, type Result } from '#lib/reconcile';
import {
  findCondition,
  isPodReady,
  keyOf,
  keyText,
  type ObjectKey,
  type Pod,
  PODS,
  REPLICA_SETS,
  type ReplicaSet,
  type ReplicaSetStatus,
} from '#lib/resources';
import type { ClusterContext } from '../context/discovery.js';
import { fromOrphans, performClaim } from '../workload/claim.js';
import { makeSlowly, OwnWrites, podOfTemplate } from '../workload/own-writes.js';
import {
  availableAtMs,
  isNamespaceTerminating,
  isPodActive,
  isPodAvailable,
  podCondition,
  withCondition,
  withoutCondition,
} from '../workload/workload-condition.js';
import { WorkloadStatuses } from '../workload/workload-statuses.js';

/** The order in which surplus pods go, the first first: whatever is lost least. Kubernetes' own order without topology. */
function byDeletionRank(a: Pod, b: Pod): number {
  return (
    Number(isAssigned(a)) - Number(isAssigned(b)) ||
    phaseRank(a) - phaseRank(b) ||
    Number(isPodReady(a)) - Number(isPodReady(b)) ||
    deletionCost(a) - deletionCost(b) ||
    readySince(b) - readySince(a) ||
    restarts(b) - restarts(a) ||
    created(b) - created(a)
  );
}

function isAssigned(pod: Pod): boolean {
  return Boolean(pod.spec.nodeName);
}

function phaseRank(pod: Pod): number {
  const phase = pod.status?.phase ?? 'Pending';
  switch (phase) {
    case 'Pending':
      return 0;
    case 'Unknown':
      return 1;
    case 'Running':
    case 'Succeeded':
    case 'Failed':
      return 2;
    default:
      return phase satisfies never;
  }
}

function deletionCost(pod: Pod): number {
  return Number(pod.metadata.annotations?.['controller.kubernetes.io/pod-deletion-cost'] ?? 0) || 0;
}

function readySince(pod: Pod): number {
  return isPodReady(pod) ? Date.parse(podCondition(pod, 'Ready')?.lastTransitionTime ?? '') || 0 : 0;
}

function restarts(pod: Pod): number {
  return Math.max(0, ...(pod.status?.containerStatuses ?? []).map(({ restartCount }) => restartCount));
}

function created(pod: Pod): number {
  return Date.parse(pod.metadata.creationTimestamp ?? '') || 0;
}

/** Pods that are made or deleted in one pass. */
const BURST = 500;

export type ReplicaDecision =
  | { readonly kind: 'none' }
  | { readonly kind: 'create'; readonly count: number }
  | { readonly kind: 'delete'; readonly pods: readonly Pod[] };

/** Step that brings the pods of a replica set to the wanted number. */
export function decideReplicas(set: ReplicaSet, pods: readonly Pod[]): ReplicaDecision {
  if (set.metadata.deletionTimestamp !== undefined) return { kind: 'none' };
  const active = pods.filter(isPodActive);
  const missing = (set.spec.replicas ?? 1) - active.length;
  if (missing > 0) return { kind: 'create', count: Math.min(missing, BURST) };
  if (missing === 0) return { kind: 'none' };
  return { kind: 'delete', pods: active.toSorted(byDeletionRank).slice(0, Math.min(-missing, BURST)) };
}

/** Failure of making or deleting pods. */
interface ReplicaFailure {
  readonly reason: 'FailedCreate' | 'FailedDelete';
  readonly message: string;
}

/** The status that a replica set with these pods has. Counts that are zero are left out, as the API server leaves them out. */
function summarizeReplicaSet(
  set: ReplicaSet,
  pods: readonly Pod[],
  failure: ReplicaFailure | undefined,
  now: Date,
): ReplicaSetStatus {
  const active = pods.filter(isPodActive);
  const wantedLabels = Object.entries(set.spec.template.metadata?.labels ?? {});
  const isLabelled = (pod: Pod): boolean =>
    wantedLabels.every(([key, value]) => pod.metadata.labels?.[key] === value);
  const minReady = set.spec.minReadySeconds ?? 0;
  const conditions = conditionsOf(set, failure, now);
  return {
    replicas: active.length,
    ...counted('fullyLabeledReplicas', active.filter(isLabelled).length),
    ...counted('readyReplicas', active.filter(isPodReady).length),
    ...counted(
      'availableReplicas',
      active.filter((pod) => isPodAvailable(pod, minReady, now.getTime())).length,
    ),
    ...(set.metadata.generation === undefined ? {} : { observedGeneration: set.metadata.generation }),
    ...(conditions.length > 0 ? { conditions } : {}),
  };
}

function counted<K extends string>(name: K, count: number): { readonly [P in K]?: number } {
  return (count === 0 ? {} : { [name]: count }) as { readonly [P in K]?: number };
}

function conditionsOf(
  set: ReplicaSet,
  failure: ReplicaFailure | undefined,
  now: Date,
): NonNullable<ReplicaSetStatus['conditions']> {
  const before = set.status?.conditions ?? [];
  if (!failure)
    return findCondition(before, 'ReplicaFailure') ? withoutCondition(before, 'ReplicaFailure') : before;
  if (findCondition(before, 'ReplicaFailure')) return before;
  return withCondition(
    before,
    { type: 'ReplicaFailure', status: 'True', ...failure },
    now.toISOString().replace(/\.\d+Z$/, 'Z'),
    'transition-only',
  );
}

/** ReplicaSet → pods. */
export function replicaSetController(context: ClusterContext): ControllerSpec {
  const { informers } = context;
  const sets = informers.of(REPLICA_SETS);
  const pods = informers.of(PODS);
  const replicas = new Replicas(context);
  return {
    name: 'replica-set',
    reconcile: (key) => replicas.reconcile(key),
    concurrency: 5,
    sources: [fromObjects(sets), fromOwned(pods, REPLICA_SETS), fromOrphans(pods, sets)],
  };
}

class Replicas {
  readonly #writes: OwnWrites<Pod>;
  readonly #statuses: WorkloadStatuses<ReplicaSet>;

  constructor(private readonly context: ClusterContext) {
    this.#statuses = new WorkloadStatuses(context, REPLICA_SETS);
    this.#writes = new OwnWrites(context.informers.of(PODS));
  }

  async reconcile(key: ObjectKey): Promise<Result> {
    const { client, clock } = this.context;
    const text = keyText(key);
    const source = await this.#writes.source(text);
    const set =
      source === 'cache'
        ? this.context.informers.of(REPLICA_SETS).find(key)
        : await client.find(REPLICA_SETS, key);
    if (!set) {
      this.#writes.forget(text);
      this.#statuses.forget(key);
      return done();
    }
    const claim = { owner: set, ownerRef: REPLICA_SETS, selector: set.spec.selector };
    let pods = await performClaim(client, PODS, claim, await this.#candidates(set, source));

    let failure: ReplicaFailure | undefined;
    let problem: unknown;
    const decision = decideReplicas(set, pods);
    switch (decision.kind) {
      case 'create': {
        const made = await this.#create(set, decision.count);
        pods = [...pods, ...made.pods];
        if (made.problem !== undefined)
          failure = { reason: 'FailedCreate', message: errorText(made.problem) };
        problem = made.problem;
        break;
      }
      case 'delete': {
        problem = await this.#delete(set, decision.pods);
        if (problem !== undefined) failure = { reason: 'FailedDelete', message: errorText(problem) };
        const gone = new Set(decision.pods.map(({ metadata }) => metadata.uid));
        pods = pods.filter(({ metadata }) => !gone.has(metadata.uid));
        break;
      }
      case 'none':
        break;
      default:
        decision satisfies never;
    }
    const status = summarizeReplicaSet(set, pods, failure, clock.now());
    const retryAfterMs = await this.#statuses.write(set, status);
    if (problem !== undefined) throw problem;
    if (retryAfterMs !== undefined) return after(retryAfterMs);
    return nextAvailability(set, pods, clock.now().getTime());
  }

  async #candidates(set: ReplicaSet, source: 'cache' | 'server'): Promise<readonly Pod[]> {
    const { namespace } = set.metadata;
    if (source === 'cache') return this.context.informers.of(PODS).list(namespace);
    const list = await this.context.client.list(PODS, namespace === undefined ? {} : { namespace });
    return list.items;
  }

  async #create(
    set: ReplicaSet,
    count: number,
  ): Promise<{ readonly pods: readonly Pod[]; readonly problem?: unknown }> {
    const { client, events } = this.context;
    const key = keyText(keyOf(set));
    const draft = podOfTemplate(set.spec.template, set.metadata, controllerReference(REPLICA_SETS, set));
    const { made: pods, problem } = await makeSlowly(count, () =>
      this.#writes.note(key, () => client.create(PODS, draft)),
    );
    for (const { metadata } of pods) {
      const message = `Created pod: ${metadata.name}`;
      events.record(REPLICA_SETS, set, { type: 'Normal', reason: 'SuccessfulCreate', message });
    }
    if (problem === undefined || isNamespaceTerminating(problem)) return { pods };
    const message = `Error creating: ${errorText(problem)}`;
    events.record(REPLICA_SETS, set, { type: 'Warning', reason: 'FailedCreate', message });
    return { pods, problem };
  }

  async #delete(set: ReplicaSet, pods: readonly Pod[]): Promise<unknown> {
    const { client, events } = this.context;
    // until the cache shows it, a deleted pod would be counted again
    this.#writes.doubt(keyText(keyOf(set)));
    let problem: unknown;
    for (const pod of pods) {
      const { uid, name } = pod.metadata;
      try {
        await client.delete(PODS, keyOf(pod), uid === undefined ? {} : { uid });
        const message = `Deleted pod: ${name}`;
        events.record(REPLICA_SETS, set, { type: 'Normal', reason: 'SuccessfulDelete', message });
      } catch (error) {
        problem ??= error;
      }
    }
    return problem;
  }
}

/** Next time at which a pod becomes available: with minReadySeconds no event marks that moment. */
function nextAvailability(set: ReplicaSet, pods: readonly Pod[], nowMs: number): Result {
  const minReady = set.spec.minReadySeconds ?? 0;
  if (minReady === 0) return done();
  const times = pods.map((pod) => availableAtMs(pod, minReady) ?? 0).filter((atMs) => atMs > nowMs);
  return times.length === 0 ? done() : after(Math.min(...times) - nowMs);
}
