import type { KubeObject } from '../kube-object.js';
import type { ResourceRef } from '../resource-ref.js';
import type { LabelSelector } from './workload.js';

export interface PodDisruptionBudget extends KubeObject {
  readonly spec: {
    /** Absent: no pod. */
    readonly selector?: LabelSelector;
    readonly maxUnavailable?: number | string;
    readonly minAvailable?: number | string;
    readonly unhealthyPodEvictionPolicy?: 'IfHealthyBudget' | 'AlwaysAllow';
  };
  readonly status?: { readonly disruptionsAllowed?: number; readonly expectedPods?: number };
}

export const POD_DISRUPTION_BUDGETS: ResourceRef<PodDisruptionBudget> = {
  group: 'policy',
  version: 'v1',
  plural: 'poddisruptionbudgets',
  kind: 'PodDisruptionBudget',
  namespaced: true,
};
