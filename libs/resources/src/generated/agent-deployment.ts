// Generated from crds/ by `npm run generate`. Do not edit.
import type { ObjectMeta } from '../object-meta.js';
import type { Condition, LocalObjectReference, RevisionRequest, SecretReference, SeenPush, SourceConfig, SourceRevisionConfig } from './shared.js';

/** What should be deployed. */
export interface AgentDeploymentSpec {
  /** Name on the wire and of the tracing project; immutable; the name of the resource when absent. */
  readonly name?: string;
  /** Where the agent comes from, immutable. internal_image is a folder that "agentplane image add" took in, external_image a reference that a cluster pulls, git_host a git repository that the platform builds, internal_source an uploaded archive that it builds. */
  readonly source: 'git_host' | 'external_image' | 'internal_image' | 'internal_source';
  /** What holds for all revisions. */
  readonly sourceConfig: SourceConfig;
  /** What the next revision is made from. */
  readonly sourceRevisionConfig: SourceRevisionConfig;
  /** Environment variables of the agent whose values are in Secrets of the namespace of its pods. They win over those of secretsRef. A Secret of the platform is refused. */
  readonly secretReferences?: readonly SecretReference[];
  /** Secret whose keys become environment variables of the agent. */
  readonly secretsRef?: LocalObjectReference;
  /** Listener that carries out the revisions; the one named default when absent. */
  readonly listenerRef?: LocalObjectReference;
  /** Scales the deployment to nothing and makes no revisions. */
  readonly suspend: boolean;
  /** How long a new revision must stay ready before it takes over from one that serves. A first revision, and one that repeats a revision that has served, take over as soon as they are ready. Half a second when unset. */
  readonly minReadySeconds?: number;
  /** With minScale 0: how long nothing may be asked of the deployment until it goes to sleep, which stops its pods. The next request, cron or run starts them. 300 when unset. */
  readonly idleSeconds?: number;
  /** Whether the Service goes back to the former revision when the one that took over fails while the pods of the former one are still there. True when unset. */
  readonly rollbackOnFailure?: boolean;
  /** Revisions to keep beside the active one; older ones are moved to the archive, where REST finds them. */
  readonly revisionHistoryLimit: number;
  /** Asks for a new revision. */
  readonly revisionRequest?: RevisionRequest;
}

/** What is known about it; written by the platform. */
export interface AgentDeploymentStatus {
  /** The newest generation of the spec that was fully handled. */
  readonly observedGeneration?: number;
  /** What is known about the resource, one fact each, of the types DatabaseReady, TracingProjectReady, RevisionReady and Ready. Their reasons are explained in docs/reference/agent-deployment.md. */
  readonly conditions?: readonly Condition[];
  /** Id of the newest revision. */
  readonly latestRevisionId?: string;
  /** Id of the revision that serves. */
  readonly activeRevisionId?: string;
  /** Version of the agent server in the image of the revision that serves, as its pods declare it. */
  readonly imageVersion?: string;
  /** Name of the newest revision. */
  readonly latestRevisionName?: string;
  /** Name of the revision that serves. */
  readonly activeRevisionName?: string;
  /** Id of the deployment, by which its database is named. What its annotation says later is put back. */
  readonly id?: string;
  /** What the branch was at when it was looked at last. Only the revision remains once buildOnPush is off. */
  readonly push?: SeenPush;
  /** Pods that the revision which serves has; for scaling (kubectl scale, autoscalers). */
  readonly replicas?: number;
  /** The last wake from sleep of the revision that serves. */
  readonly lastWake?: {
    /** When a request or due work began it. */
    readonly at: string;
    /** Time until all of its pods were ready. */
    readonly seconds: number;
  };
  /** Labels of those pods that answer HTTP, as a selector; for autoscalers. */
  readonly selector?: string;
  /** The newest revisionRequest.id for which a revision was made. */
  readonly handledRevisionRequestId?: string;
  /** The host of sourceConfig.customUrl, while it is this deployment's. The first that asks for a host keeps it until it asks for another or is deleted. */
  readonly customHost?: string;
  /** Most connections that the server gave to its database, where they are fewer than were asked for. */
  readonly databaseConnections?: number;
  /** Id of the tracing project. */
  readonly tracingProjectId?: string;
  /** Where the agent is called. */
  readonly url?: string;
}

/** An agent that should be deployed. Its revisions are made by the platform. */
export interface AgentDeployment {
  readonly apiVersion: 'agentplane.dev/v1alpha1';
  readonly kind: 'AgentDeployment';
  readonly metadata: ObjectMeta;
  readonly spec: AgentDeploymentSpec;
  readonly status?: AgentDeploymentStatus;
}
