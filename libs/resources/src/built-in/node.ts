import type { KubeObject } from '../kube-object.js';
import type { ResourceRef } from '../resource-ref.js';
import { LABEL } from '../label.js';
import type { PodCondition, PodSpec } from './pod.js';

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';
  readonly timeAdded?: string;
}

export type NodeCondition = PodCondition & { readonly lastHeartbeatTime?: string | null };

export interface Node extends KubeObject {
  readonly spec?: {
    readonly unschedulable?: boolean;
    readonly taints?: readonly Taint[];
    readonly podCIDR?: string;
  };
  readonly status?: {
    readonly capacity?: Readonly<Record<string, string>>;
    readonly allocatable?: Readonly<Record<string, string>>;
    readonly conditions?: readonly NodeCondition[];
    readonly addresses?: readonly { readonly type: string; readonly address: string }[];
    readonly daemonEndpoints?: { readonly kubeletEndpoint?: { readonly Port: number } };
    readonly nodeInfo?: Readonly<Record<string, string>>;
  };
}

export const NODES: ResourceRef<Node> = {
  group: '',
  version: 'v1',
  plural: 'nodes',
  kind: 'Node',
  namespaced: false,
};

/** Condition of a Node of the process runtime, only while true: its pods run as root and can read everything there. */
export const PODS_RUN_AS_ROOT = 'PodsRunAsRoot';

/** Condition of a Node of the process runtime, only while true: pods of all workspaces run as the user of the platform. */
export const PODS_SHARE_USER = 'PodsShareUser';

/** Its message; the start of the platform prints the same. */
export const SHARED_USER_MESSAGE =
  "agents of all workspaces run as the user of the platform and can read one another's files, memory and secrets: where workspaces do not trust one another, start the platform as root on Linux, or use a cluster";

/** Condition of a Node of the process runtime: whether no container uses more CPU than its limit. */
export const CPU_LIMITS_KEPT = 'CpuLimitsKept';

/** Status of each condition that means that something is open or not kept. */
const WARNS: Readonly<Record<string, 'True' | 'False'>> = {
  [PODS_RUN_AS_ROOT]: 'True',
  [PODS_SHARE_USER]: 'True',
  [CPU_LIMITS_KEPT]: 'False',
};

/** Warnings that a working Node reports of itself, in the order of its conditions. */
export function nodeWarnings({ status }: Pick<Node, 'status'>): readonly string[] {
  const conditions = status?.conditions ?? [];
  return conditions
    .filter(({ type, status: is }) => WARNS[type] === is)
    .flatMap(({ message }) => message ?? []);
}

/** Label of the Nodes that run pods as processes, and what a pod selects which can run nowhere else. */
export const PROCESS_RUNTIME: Readonly<Record<string, string>> = { [LABEL.runtime]: 'process' };

/** True when pods of this spec run as processes, on a node that pulls no images. */
export function selectsProcessRuntime({ nodeSelector }: Pick<PodSpec, 'nodeSelector'>): boolean {
  return Object.entries(PROCESS_RUNTIME).every(([key, value]) => nodeSelector?.[key] === value);
}

/** Taint of such a Node in a cluster of others. */
export const PROCESS_RUNTIME_TAINT = {
  key: LABEL.runtime,
  value: 'process',
  effect: 'NoSchedule',
} as const satisfies Taint;
