import type { EventRecorder, Informers, KubeClient } from '#lib/kube';
import type { Log } from '#lib/reconcile';
import type { Clock } from '#lib/time';

/** Dependencies of every controller of the cluster. */
export interface ClusterContext {
  readonly client: KubeClient;
  readonly informers: Informers;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Log;
}
