// Generated from crds/ by `npm run generate`. Do not edit.
import type { ObjectMeta } from '../object-meta.js';
import type { AgentPlacement, Condition, EffectiveLimits, WorkspaceLimits, WorkspaceRetention } from './shared.js';

/** Who the tenant is and what it may use. */
export interface WorkspaceSpec {
  /** Id of the tenant on the wire; immutable. */
  readonly tenantId: string;
  /** Name for people. */
  readonly displayName?: string;
  /** What the tenant may use; bulk export needs plus or enterprise. */
  readonly plan: 'developer' | 'plus' | 'enterprise';
  /** Lets secrets of deployments set variables that change how the agent's process is started or whom it trusts: NODE_OPTIONS, PATH, LD_PRELOAD, NODE_TLS_REJECT_UNAUTHORIZED and others of their kind. Default false. */
  readonly allowDangerousEnvironment?: boolean;
  /** Lets destinations without credentials of their own use those that the platform's programs have in their environment: AWS_ACCESS_KEY_ID and its kind, or the role of the pod or machine. Default false; true for the first workspace of one machine. */
  readonly allowEnvironmentCredentials?: boolean;
  /** How long runs of traces are kept after they began, by the tier of their trace. Absent: for good. It holds for runs that are stored already, too; those without a tier count as longlived. */
  readonly retention?: WorkspaceRetention;
  /** Where pods of agents run on a cluster, for new revisions whose resource spec does not say it: each field of the chart (agents.placement) is replaced by one here, and each here by one of the resource spec. */
  readonly agentPlacement?: AgentPlacement;
  /** Lower limits than those of the platform. */
  readonly limits?: WorkspaceLimits;
}

/** What is known about it; written by the platform. */
export interface WorkspaceStatus {
  /** The newest generation of the spec that was fully handled. */
  readonly observedGeneration?: number;
  /** What is known about the resource, one fact each, of the types NamespaceReady and Ready. Their reasons are explained in docs/reference/workspace.md. */
  readonly conditions?: readonly Condition[];
  /** The namespace of the workspace. */
  readonly namespace?: string;
  /** What holds for it, the lower of its own limits and those of the platform. */
  readonly limits?: EffectiveLimits;
}

/** A tenant with its own namespace, its own rows, its own limits. */
export interface Workspace {
  readonly apiVersion: 'agentplane.dev/v1alpha1';
  readonly kind: 'Workspace';
  readonly metadata: ObjectMeta;
  readonly spec: WorkspaceSpec;
  readonly status?: WorkspaceStatus;
}
