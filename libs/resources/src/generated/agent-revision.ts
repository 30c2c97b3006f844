// Generated from crds/ by `npm run generate`. Do not edit.
import type { ObjectMeta } from '../object-meta.js';
import type { Condition, ResourceSpec } from './shared.js';

/** The snapshot of what the revision runs. */
export interface AgentRevisionSpec {
  /** Name of the AgentDeployment. */
  readonly deploymentName: string;
  /** Name of the deployment on the wire, which is that of its tracing project. */
  readonly deploymentWireName: string;
  /** The tenant of the deployment. */
  readonly tenantId: string;
  /** Number of the revision, from 1. */
  readonly number: number;
  /** Where the agent comes from. */
  readonly source: 'git_host' | 'external_image' | 'internal_image';
  /** Pinned image reference that the pods run. */
  readonly image: string;
  /** Image reference as it was asked for. */
  readonly imageUri: string;
  /** What the workloads of a deployment get. CPU in cores, memory in MB. */
  readonly resourceSpec?: ResourceSpec;
  /** Immutable Secret with the variables of this revision. */
  readonly envSecretName: string;
  /** Secret with POSTGRES_URI. */
  readonly databaseSecretName: string;
  /** Secret with the platform key of the deployment. */
  readonly platformSecretName: string;
  /** Listener that carries out the revision. */
  readonly listenerName: string;
  /** Name of the revision whose snapshot this one repeats. */
  readonly redeployOf?: string;
}

/** What is known about it; written by the platform. */
export interface AgentRevisionStatus {
  /** The newest generation of the spec that was fully handled. */
  readonly observedGeneration?: number;
  /** What is known about the resource, one fact each, of the types Built, WorkloadsReady, Active, Superseded, Failed and Ready. Their reasons are explained in docs/reference/agent-revision.md. */
  readonly conditions?: readonly Condition[];
  /** Whether the Service of the deployment points to this revision. */
  readonly serving?: boolean;
  /** Pods that should run. */
  readonly replicas?: number;
  /** Pods that are ready. */
  readonly readyReplicas?: number;
}

/** One deployable version of an AgentDeployment. Made by the platform, never changed. */
export interface AgentRevision {
  readonly apiVersion: 'agentplane.dev/v1alpha1';
  readonly kind: 'AgentRevision';
  readonly metadata: ObjectMeta;
  readonly spec: AgentRevisionSpec;
  readonly status?: AgentRevisionStatus;
}
