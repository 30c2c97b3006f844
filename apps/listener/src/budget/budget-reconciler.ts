import {
  applyManaged,
  belongsTo,
  fromMapped,
  fromObjects,
  type Informer,
  type Informers,
  type KubeClient,
  type ManagingOwner,
  type Source,
} from '#lib/kube';
import { buildDisruptionBudget } from '#lib/manifests';
import { done, type Result } from '#lib/reconcile';
import {
  type Deployment,
  DEPLOYMENTS,
  fulfilsSelector,
  isDeleting,
  keyOf,
  LABEL,
  type ObjectKey,
  POD_DISRUPTION_BUDGETS,
  type PodDisruptionBudget,
} from '#lib/resources';

export interface BudgetOptions {
  /** Namespace of the workloads. */
  readonly namespace: string;
  /** Only its Deployments are looked at: another listener may work in the same namespace. */
  readonly listenerName: string;
}

/**
 * Keeps a PodDisruptionBudget for each Deployment of agents that has several pods, by the number that it has,
 * whoever chose that. The Deployment owns it, so that it is deleted with the Deployment in any cluster. A
 * budget of the user's own comes first: Kubernetes refuses to evict a pod that two of them select.
 */
export class BudgetReconciler {
  readonly sources: readonly Source[];
  readonly #client: KubeClient;
  readonly #listenerName: string;
  readonly #workloads: Informer<Deployment>;
  readonly #budgets: Informer<PodDisruptionBudget>;

  constructor(client: KubeClient, informers: Informers, { namespace, listenerName }: BudgetOptions) {
    this.#client = client;
    this.#listenerName = listenerName;
    this.#workloads = informers.of(DEPLOYMENTS, { namespace, labelSelector: LABEL.deployment });
    this.#budgets = informers.of(POD_DISRUPTION_BUDGETS, { namespace });
    this.sources = [
      fromObjects(this.#workloads),
      // which Deployments a budget of the user's selects is decided for each of them
      fromMapped(this.#budgets, (budget) =>
        isOfDeployment(budget) ? [keyOf(budget)] : this.#workloads.list().map(keyOf),
      ),
    ];
  }

  async reconcile(key: ObjectKey): Promise<Result> {
    const workload = this.#workloads.find(key);
    if (
      !workload ||
      isDeleting(workload) ||
      workload.metadata.labels?.[LABEL.listener] !== this.#listenerName
    )
      return done();
    const owner: ManagingOwner = { kind: 'reference', ref: DEPLOYMENTS, object: workload };
    const existing = this.#budgets.find(key);
    if ((workload.spec.replicas ?? 1) > 1 && !this.#hasBudgetOfUser(workload, owner)) {
      const desired = buildDisruptionBudget(workload);
      await applyManaged(this.#client, owner, { ref: POD_DISRUPTION_BUDGETS, desired, existing });
    } else if (existing && belongsTo(existing, owner)) await this.#remove(existing);
    return done();
  }

  #hasBudgetOfUser({ spec: { template } }: Deployment, owner: ManagingOwner): boolean {
    return this.#budgets
      .list()
      .some(
        (budget) =>
          !belongsTo(budget, owner) &&
          budget.spec.selector !== undefined &&
          fulfilsSelector(budget.spec.selector, template.metadata?.labels),
      );
  }

  async #remove(budget: PodDisruptionBudget): Promise<void> {
    const { uid } = budget.metadata;
    await this.#client.delete(POD_DISRUPTION_BUDGETS, keyOf(budget), uid === undefined ? {} : { uid });
  }
}

function isOfDeployment({ metadata: { ownerReferences = [] } }: PodDisruptionBudget): boolean {
  return ownerReferences.some(({ kind, controller }) => kind === DEPLOYMENTS.kind && controller === true);
}
