// Generated from crds/ by `npm run generate`. Do not edit.
import type { ObjectMeta } from '../object-meta.js';
import type { ArchiveSource, BuildState, Condition, GitSource, ResourceSpec, SecretReference } from './shared.js';

/** What was asked for; what was found out about it is in the status. */
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
  readonly source: 'git_host' | 'external_image' | 'internal_image' | 'internal_source';
  /** Image reference as it was asked for. */
  readonly imageUri?: string;
  /** Commit that a revision of source git_host is built from. */
  readonly git?: GitSource;
  /** Archive that a revision of source internal_source is built from. */
  readonly archive?: ArchiveSource;
  /** What the workloads of a deployment get. CPU in cores, memory in MB. */
  readonly resourceSpec?: ResourceSpec;
  /** Environment variables of the agent whose values are in Secrets of the namespace of its pods. */
  readonly secretReferences?: readonly SecretReference[];
  /** Immutable Secret with the variables of this revision. */
  readonly envSecretName: string;
  /** Secret with POSTGRES_URI. */
  readonly databaseSecretName: string;
  /** Secret with the platform key of the deployment. */
  readonly platformSecretName: string;
  /** Listener that carries out the revision. */
  readonly listenerName: string;
  /** Namespace of the cluster of a remote listener in which the revision runs; that of the revision when absent. */
  readonly placeNamespace?: string;
  /** Name of the revision that this one repeats. A repeat of a repeat names the first of them. */
  readonly redeployOf?: string;
}

/** What is known about it; written by the platform. */
export interface AgentRevisionStatus {
  /** The newest generation of the spec that was fully handled. */
  readonly observedGeneration?: number;
  /** What is known about the resource, one fact each, of the types VariablesReady, Built, WorkloadsReady, Active, Superseded, Failed and Ready. Their reasons are explained in docs/reference/agent-revision.md. */
  readonly conditions?: readonly Condition[];
  /** The image that the pods run, resolved once when the revision was built. */
  readonly image?: string;
  /** The image of a registry that was named by a tag, by the digest that the first ready pod reported. Pods that are started while there are none, and revisions that repeat this one, run it. */
  readonly pinnedImage?: string;
  /** The commit that is built, resolved once; only for source git_host. */
  readonly repoCommitSha?: string;
  /** The build from git, written before its Job is made. */
  readonly build?: BuildState;
  /** Address of the revision while it serves, as the listener sees it. */
  readonly url?: string;
  /** Name of the Deployment that runs it; that of an earlier revision when this one repeats it. */
  readonly workload?: string;
  /** Version of the agent server in the image, as its pods declare it at GET /info; missing until one was ready. */
  readonly imageVersion?: string;
  /** Whether the Service of the deployment points to this revision. */
  readonly serving?: boolean;
  /** Pods that should run, those of the queue included. */
  readonly replicas?: number;
  /** Pods that are ready, those of the queue included. */
  readonly readyReplicas?: number;
  /** Since when it has had no pods because nobody uses it. */
  readonly asleepSince?: string;
  /** While it sleeps, when a cron, a run or another work of its own starts it; missing while none is due. */
  readonly wakeAt?: string;
  /** Its last wake from sleep. */
  readonly lastWake?: {
    /** When a request or due work began it. */
    readonly at: string;
    /** Time until all of its pods were ready. */
    readonly seconds: number;
  };
}

/** One deployable version of an AgentDeployment. Made by the platform, never changed. */
export interface AgentRevision {
  readonly apiVersion: 'agentplane.dev/v1alpha1';
  readonly kind: 'AgentRevision';
  readonly metadata: ObjectMeta;
  readonly spec: AgentRevisionSpec;
  readonly status?: AgentRevisionStatus;
}
