import { errorText } from '#lib/errors';
import { fromMapped, fromObjects, fromOwned, isAlreadyExists, type ControllerSpec } from '#lib/kube';
import { after, controllerOf, controllerReference, done, type Result } from '#lib/reconcile';
import {
  type Deployment,
  DEPLOYMENTS,
  keyOf,
  type KubeObject,
  type ObjectKey,
  type Pod,
  PODS,
  REPLICA_SETS,
  type ReplicaSet,
} from '#lib/resources';
import type { ClusterContext } from '../context/discovery.js';
import { fromOrphans, performClaim } from '../workload/claim.js';
import { isNamespaceTerminating } from '../workload/workload-condition.js';
import { WorkloadStatuses } from '../workload/workload-statuses.js';
import {
  decideRollout,
  isSameTemplate,
  type RolloutDecision,
  sortSets,
  TEMPLATE_HASH_LABEL,
  templateHash,
} from './decide-rollout.js';
import {
  currentSetAnnotations,
  type DeploymentSets,
  latestRevision,
  REVISION_ANNOTATION,
  revisionOf,
  rollingBounds,
  type Scaling,
} from './plan-scaling.js';
import { progressDeadlineMs, type RolloutNews, summarizeDeployment } from './summarize-deployment.js';

/** Deployment → replica sets. */
export function deploymentController(context: ClusterContext): ControllerSpec {
  const { informers } = context;
  const deployments = informers.of(DEPLOYMENTS);
  const sets = informers.of(REPLICA_SETS);
  const pods = informers.of(PODS);
  const rollouts = new Rollouts(context);
  return {
    name: 'deployment',
    reconcile: (key) => rollouts.reconcile(key),
    concurrency: 5,
    sources: [
      fromObjects(deployments),
      fromOwned(sets, DEPLOYMENTS),
      fromOrphans(sets, deployments),
      // Recreate waits for the last old pod, whose end changes no replica set any more
      fromMapped(pods, (pod) => {
        const set = ownerOf(pod, sets.list(pod.metadata.namespace));
        const deployment = set && ownerOf(set, deployments.list(pod.metadata.namespace));
        return deployment?.spec.strategy?.type === 'Recreate' ? [keyOf(deployment)] : [];
      }),
    ],
  };
}

function ownerOf<T extends KubeObject>(child: KubeObject, candidates: readonly T[]): T | undefined {
  const uid = controllerOf(child)?.uid;
  return uid === undefined ? undefined : candidates.find(({ metadata }) => metadata.uid === uid);
}

class Rollouts {
  readonly #statuses: WorkloadStatuses<Deployment>;

  constructor(private readonly context: ClusterContext) {
    this.#statuses = new WorkloadStatuses(context, DEPLOYMENTS);
  }

  async reconcile(key: ObjectKey): Promise<Result> {
    const { informers, clock } = this.context;
    const found = informers.of(DEPLOYMENTS).find(key);
    if (!found) {
      this.#statuses.forget(key);
      return done();
    }
    const { sets: observed, oldPods } = await this.#observe(found);
    const decision = decideRollout(found, observed, oldPods);
    const { deployment, sets } = await this.#syncRevision(found, observed, decision);
    const news = await this.#perform(deployment, sets, decision);
    const status = summarizeDeployment(deployment, sets, news, clock.now());
    const retryAfterMs = await this.#statuses.write(deployment, status);
    if (news?.kind === 'create-failed' || news?.kind === 'name-taken') throw new Error(news.message);
    if (retryAfterMs !== undefined) return after(retryAfterMs);
    const deadlineMs = progressDeadlineMs(deployment, status);
    return deadlineMs === undefined
      ? done()
      : after(Math.max(1_000, deadlineMs - clock.now().getTime() + 1_000));
  }

  async #observe(deployment: Deployment): Promise<{ sets: DeploymentSets; oldPods: readonly Pod[] }> {
    const { informers, client } = this.context;
    const candidates = informers.of(REPLICA_SETS).list(deployment.metadata.namespace);
    const claim = { owner: deployment, ownerRef: DEPLOYMENTS, selector: deployment.spec.selector };
    const sets = sortSets(deployment, await performClaim(client, REPLICA_SETS, claim, candidates));
    const oldPods = sets.old.flatMap((set) => informers.of(PODS).ownedBy(set));
    return { sets, oldPods };
  }

  /**
   * The current set carries the highest revision and the deployment's annotations; the deployment shows its number. A set
   * that is scaled in this pass gets them with its size, in one write.
   */
  async #syncRevision(
    deployment: Deployment,
    sets: DeploymentSets,
    decision: RolloutDecision,
  ): Promise<{ deployment: Deployment; sets: DeploymentSets }> {
    const { current, old } = sets;
    if (!current || deployment.metadata.deletionTimestamp !== undefined) return { deployment, sets };
    const { client } = this.context;
    let marked = current;
    const revision = currentRevision(sets);
    const annotations = currentSetAnnotations(deployment, current, revision, maxReplicas(deployment));
    const isScaled = decision.kind === 'scale' && decision.scalings.some(({ set }) => set === current);
    // the numbers for proportional scaling are written by scaling alone: they are how a change of replicas is noticed
    const shown = Object.entries(annotations).filter(([name]) => !name.endsWith('-replicas'));
    const isKnown = shown.every(([name, value]) => current.metadata.annotations?.[name] === value);
    if (!isKnown && !isScaled) {
      const { resourceVersion } = current.metadata;
      marked = await client.merge(REPLICA_SETS, keyOf(current), {
        metadata: {
          ...(resourceVersion === undefined ? {} : { resourceVersion }),
          annotations: Object.fromEntries(shown),
        },
      });
    }
    const next = { current: marked, old };
    if (deployment.metadata.annotations?.[REVISION_ANNOTATION] === String(revision))
      return { deployment, sets: next };
    const numbered = await this.#number(deployment, String(revision));
    return { deployment: numbered, sets: next };
  }

  /**
   * Writes the revision through the status, where a real API server accepts annotations without counting a
   * new generation.
   */
  async #number(deployment: Deployment, revision: string): Promise<Deployment> {
    const { client } = this.context;
    const patch = { metadata: { annotations: { [REVISION_ANNOTATION]: revision } } };
    const numbered = await client.mergeStatus(DEPLOYMENTS, keyOf(deployment), patch);
    if (numbered.metadata.annotations?.[REVISION_ANNOTATION] === revision) return numbered;
    return await client.merge(DEPLOYMENTS, keyOf(deployment), patch);
  }

  async #perform(
    deployment: Deployment,
    sets: DeploymentSets,
    decision: RolloutDecision,
  ): Promise<RolloutNews> {
    switch (decision.kind) {
      case 'none':
        return undefined;
      case 'create':
        return await this.#create(deployment, sets, decision.replicas);
      case 'scale':
        for (const scaling of decision.scalings) await this.#scale(deployment, sets, scaling);
        return undefined;
      case 'clean-up':
        for (const set of decision.sets) {
          const { uid } = set.metadata;
          await this.context.client.delete(REPLICA_SETS, keyOf(set), uid === undefined ? {} : { uid });
        }
        return undefined;
      default:
        decision satisfies never;
        return undefined;
    }
  }

  async #create(deployment: Deployment, { old }: DeploymentSets, replicas: number): Promise<RolloutNews> {
    const { client, events } = this.context;
    const draft = setOfDeployment(deployment, latestRevision(old) + 1, replicas);
    const { name } = draft.metadata;
    const key = { ...keyOf(deployment), name };
    try {
      await client.create(REPLICA_SETS, draft);
    } catch (error) {
      if (isNamespaceTerminating(error)) return undefined;
      if (!isAlreadyExists(error)) {
        events.record(DEPLOYMENTS, deployment, {
          type: 'Warning',
          reason: 'ReplicaSetCreateError',
          message: `Failed to create new replica set "${name}": ${errorText(error)}`,
        });
        return { kind: 'create-failed', message: errorText(error) };
      }
      const there = await client.get(REPLICA_SETS, key);
      const isOurs = controllerOf(there)?.uid === deployment.metadata.uid;
      // ours and not yet in the cache: nothing to do. Another's, or another template with the same hash: try the next hash
      if (isOurs && isSameTemplate(there.spec.template, deployment.spec.template)) return undefined;
      return { kind: 'name-taken', message: `replica set "${name}" already exists with another template` };
    }
    if (replicas > 0) this.#recordScaling(deployment, name, 0, replicas);
    return { kind: 'created', setName: name };
  }

  async #scale(deployment: Deployment, sets: DeploymentSets, { set, replicas }: Scaling): Promise<void> {
    const before = set.spec.replicas ?? 1;
    const { resourceVersion } = set.metadata;
    const isCurrent = set === sets.current;
    const revision = isCurrent ? currentRevision(sets) : 0;
    const wanted = currentSetAnnotations(deployment, set, revision, maxReplicas(deployment));
    const annotations = Object.fromEntries(
      Object.entries(wanted).filter(([name]) => isCurrent || name.endsWith('-replicas')),
    );
    const isAnnotated = Object.entries(annotations).every(
      ([name, value]) => set.metadata.annotations?.[name] === value,
    );
    if (before === replicas && isAnnotated) return;
    await this.context.client.merge(REPLICA_SETS, keyOf(set), {
      metadata: { ...(resourceVersion === undefined ? {} : { resourceVersion }), annotations },
      spec: { replicas },
    });
    if (before !== replicas) this.#recordScaling(deployment, set.metadata.name, before, replicas);
  }

  #recordScaling(deployment: Deployment, setName: string, from: number, to: number): void {
    const message = `Scaled ${to > from ? 'up' : 'down'} replica set ${setName} from ${from} to ${to}`;
    this.context.events.record(DEPLOYMENTS, deployment, {
      type: 'Normal',
      reason: 'ScalingReplicaSet',
      message,
    });
  }
}

/** Number of the current set: one that becomes current again is newer than all others. */
function currentRevision({ current, old }: DeploymentSets): number {
  return Math.max(latestRevision(old) + 1, current ? revisionOf(current) : 0);
}

function maxReplicas(deployment: Deployment): number {
  return (deployment.spec.replicas ?? 1) + rollingBounds(deployment).maxSurge;
}

/** The replica set of a deployment's present template. */
function setOfDeployment(
  deployment: Deployment,
  revision: number,
  replicas: number,
): Pick<ReplicaSet, 'spec'> & { readonly metadata: ReplicaSet['metadata'] } {
  const { spec, metadata } = deployment;
  const hash = templateHash(spec.template, deployment.status?.collisionCount);
  const labels = { ...spec.template.metadata?.labels, [TEMPLATE_HASH_LABEL]: hash };
  return {
    metadata: {
      name: `${metadata.name}-${hash}`,
      ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
      labels,
      annotations: currentSetAnnotations(deployment, undefined, revision, maxReplicas(deployment)),
      ownerReferences: [controllerReference(DEPLOYMENTS, deployment)],
    },
    spec: {
      replicas,
      ...(spec.minReadySeconds ? { minReadySeconds: spec.minReadySeconds } : {}),
      selector: {
        ...spec.selector,
        matchLabels: { ...spec.selector.matchLabels, [TEMPLATE_HASH_LABEL]: hash },
      },
      template: { ...spec.template, metadata: { ...spec.template.metadata, labels } },
    },
  };
}
