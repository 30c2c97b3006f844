import type { Condition } from '../generated/shared.js';
import type { KubeObject } from '../kube-object.js';
import type { ResourceRef } from '../resource-ref.js';
import type { PodTemplate } from './pod.js';

export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
    readonly values?: readonly string[];
  }[];
}

/** Workloads' conditions carry a time of their own beside the transition's. */
export interface WorkloadCondition extends Omit<Condition, 'reason' | 'message' | 'lastTransitionTime'> {
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
  readonly lastUpdateTime?: string;
  readonly lastProbeTime?: string;
}

export interface DeploymentSpec {
  readonly replicas?: number;
  readonly selector: LabelSelector;
  readonly template: PodTemplate;
  readonly strategy?: {
    readonly type?: 'RollingUpdate' | 'Recreate';
    readonly rollingUpdate?: {
      readonly maxSurge?: number | string;
      readonly maxUnavailable?: number | string;
    } | null;
  };
  readonly minReadySeconds?: number;
  readonly revisionHistoryLimit?: number;
  readonly paused?: boolean;
  readonly progressDeadlineSeconds?: number;
}

export interface DeploymentStatus {
  readonly observedGeneration?: number;
  readonly replicas?: number;
  readonly updatedReplicas?: number;
  readonly readyReplicas?: number;
  readonly availableReplicas?: number;
  readonly unavailableReplicas?: number;
  readonly terminatingReplicas?: number;
  readonly collisionCount?: number;
  readonly conditions?: readonly WorkloadCondition[];
}

export interface Deployment extends KubeObject {
  readonly spec: DeploymentSpec;
  readonly status?: DeploymentStatus;
}

export interface StatefulSet extends KubeObject {
  readonly spec: {
    readonly replicas?: number;
    readonly serviceName?: string;
    readonly podManagementPolicy?: 'OrderedReady' | 'Parallel';
    readonly revisionHistoryLimit?: number;
    readonly selector: LabelSelector;
    readonly template: PodTemplate;
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly readyReplicas?: number;
    readonly currentRevision?: string;
    readonly updateRevision?: string;
  };
}

export interface ReplicaSetStatus {
  readonly replicas: number;
  readonly fullyLabeledReplicas?: number;
  readonly readyReplicas?: number;
  readonly availableReplicas?: number;
  readonly terminatingReplicas?: number;
  readonly observedGeneration?: number;
  readonly conditions?: readonly WorkloadCondition[];
}

export interface ReplicaSet extends KubeObject {
  readonly spec: {
    readonly replicas?: number;
    readonly minReadySeconds?: number;
    readonly selector: LabelSelector;
    readonly template: PodTemplate;
  };
  readonly status?: ReplicaSetStatus;
}

export interface JobSpec {
  readonly parallelism?: number;
  readonly completions?: number;
  readonly backoffLimit?: number;
  readonly activeDeadlineSeconds?: number;
  readonly ttlSecondsAfterFinished?: number;
  readonly completionMode?: 'NonIndexed' | 'Indexed';
  readonly suspend?: boolean;
  readonly manualSelector?: boolean;
  readonly managedBy?: string;
  readonly podReplacementPolicy?: 'TerminatingOrFailed' | 'Failed';
  readonly selector?: LabelSelector;
  readonly template: PodTemplate;
  readonly podFailurePolicy?: {
    readonly rules: readonly {
      readonly action: 'FailJob' | 'Ignore' | 'Count' | 'FailIndex';
      readonly onExitCodes?: {
        readonly containerName?: string | null;
        readonly operator: 'In' | 'NotIn';
        readonly values: readonly number[];
      } | null;
      readonly onPodConditions?: readonly { readonly type: string; readonly status?: string }[];
    }[];
  };
}

export interface JobStatus {
  readonly active?: number;
  readonly ready?: number;
  readonly terminating?: number;
  readonly succeeded?: number;
  readonly failed?: number;
  readonly startTime?: string;
  readonly completionTime?: string;
  readonly conditions?: readonly WorkloadCondition[];
  readonly uncountedTerminatedPods?: {
    readonly succeeded?: readonly string[];
    readonly failed?: readonly string[];
  };
}

export interface Job extends KubeObject {
  readonly spec: JobSpec;
  readonly status?: JobStatus;
}

export interface HorizontalPodAutoscaler extends KubeObject {
  readonly spec: {
    readonly scaleTargetRef: { readonly apiVersion?: string; readonly kind: string; readonly name: string };
    readonly minReplicas?: number;
    readonly maxReplicas: number;
  };
  readonly status?: { readonly conditions?: readonly WorkloadCondition[] };
}

export const DEPLOYMENTS: ResourceRef<Deployment> = {
  group: 'apps',
  version: 'v1',
  plural: 'deployments',
  kind: 'Deployment',
  namespaced: true,
};
export const REPLICA_SETS: ResourceRef<ReplicaSet> = {
  group: 'apps',
  version: 'v1',
  plural: 'replicasets',
  kind: 'ReplicaSet',
  namespaced: true,
};
export const HORIZONTAL_POD_AUTOSCALERS: ResourceRef<HorizontalPodAutoscaler> = {
  group: 'autoscaling',
  version: 'v2',
  plural: 'horizontalpodautoscalers',
  kind: 'HorizontalPodAutoscaler',
  namespaced: true,
};
export const STATEFUL_SETS: ResourceRef<StatefulSet> = {
  group: 'apps',
  version: 'v1',
  plural: 'statefulsets',
  kind: 'StatefulSet',
  namespaced: true,
};
export const JOBS: ResourceRef<Job> = {
  group: 'batch',
  version: 'v1',
  plural: 'jobs',
  kind: 'Job',
  namespaced: true,
};
