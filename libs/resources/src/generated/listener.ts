// Generated from crds/ by `npm run generate`. Do not edit.
import type { ObjectMeta } from '../object-meta.js';
import type { Condition, ListenerReport } from './shared.js';

/** Where the listener works. */
export interface ListenerSpec {
  /** Kind of compute; immutable. */
  readonly computeType: 'cluster';
  /** Name of the compute, for example of the cluster; immutable, unique in the workspace. */
  readonly computeId: string;
  /** Namespaces it works in; its own when absent. Of a remote listener these are namespaces of its cluster, and deployments that name none run in the first. */
  readonly namespaces?: readonly string[];
  /** The listener runs in another cluster, where `agentplane listener manifest NAME` prints what starts it. Here it gets an account with the rights to carry out its own revisions, and no program. */
  readonly remote?: {
    /** Where pods of the other cluster reach the REST interface, which takes their traces and checks keys. */
    readonly apiUrl: string;
  };
}

/** What is known about it; written by the platform. */
export interface ListenerStatus {
  /** The newest generation of the spec that was fully handled. */
  readonly observedGeneration?: number;
  /** What is known about the resource, one fact each, of the types WorkloadReady, HeartbeatFresh and Ready. Their reasons are explained in docs/reference/listener.md. */
  readonly conditions?: readonly Condition[];
  /** When the listener last said that it works. */
  readonly lastHeartbeatTime?: string;
  /** What a remote listener last reported of its deployments and revisions, the newest last; the controller makes events of it. */
  readonly reports?: readonly ListenerReport[];
  /** Version of the listener. */
  readonly version?: string;
}

/** Carries out revisions in the namespaces it was given. */
export interface Listener {
  readonly apiVersion: 'agentplane.dev/v1alpha1';
  readonly kind: 'Listener';
  readonly metadata: ObjectMeta;
  readonly spec: ListenerSpec;
  readonly status?: ListenerStatus;
}
