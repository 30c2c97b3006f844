import { fromObjects, fromOwned, type ControllerSpec } from '#lib/kube';
import { after, controllerReference, done, type Result } from '#lib/reconcile';
import { errorText } from '#lib/errors';
import {
  keyOf,
  keyText,
  type ObjectKey,
  type Pod,
  PODS,
  REPLICA_SETS,
  type ReplicaSet,
} from '#lib/resources';
import type { ClusterContext } from '../context/cluster-context.js';
import { performClaim } from '../workload/claim.js';
import { isNamespaceTerminating } from '../workload/namespace-terminating.js';
import { makeSlowly } from '../workload/make-slowly.js';
import { fromOrphans } from '../workload/orphan-source.js';
import { OwnWrites } from '../workload/own-writes.js';
import { podOfTemplate } from '../workload/pod-of-template.js';
import { availableAtMs } from '../workload/pod-state.js';
import { replaceStatus } from '../workload/replace-status.js';
import { decideReplicas } from './decide-replicas.js';
import { type ReplicaFailure, summarizeReplicaSet } from './summarize-replica-set.js';

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
  readonly #context: ClusterContext;
  readonly #writes: OwnWrites<Pod>;

  constructor(context: ClusterContext) {
    this.#context = context;
    this.#writes = new OwnWrites(context.informers.of(PODS));
  }

  async reconcile(key: ObjectKey): Promise<Result> {
    const { client, clock } = this.#context;
    const text = keyText(key);
    const source = await this.#writes.source(text);
    const set =
      source === 'cache'
        ? this.#context.informers.of(REPLICA_SETS).find(key)
        : await client.find(REPLICA_SETS, key);
    if (!set) {
      this.#writes.forget(text);
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
    await replaceStatus(client, this.#context.informers.of(REPLICA_SETS), set, status);
    if (problem !== undefined) throw problem;
    return nextAvailability(set, pods, clock.now().getTime());
  }

  async #candidates(set: ReplicaSet, source: 'cache' | 'server'): Promise<readonly Pod[]> {
    const { namespace } = set.metadata;
    if (source === 'cache') return this.#context.informers.of(PODS).list(namespace);
    const list = await this.#context.client.list(PODS, namespace === undefined ? {} : { namespace });
    return list.items;
  }

  async #create(
    set: ReplicaSet,
    count: number,
  ): Promise<{ readonly pods: readonly Pod[]; readonly problem?: unknown }> {
    const { client, events } = this.#context;
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
    const { client, events } = this.#context;
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
