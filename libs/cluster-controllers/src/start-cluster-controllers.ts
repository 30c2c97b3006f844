import { EventRecorder, Informers, KubeClient, startControllers, type KubeConnection } from '#lib/kube';
import type { Stoppable } from '#lib/lifecycle';
import type { Log } from '#lib/reconcile';
import { systemClock, type Clock } from '#lib/time';
import { type ClusterContext, Discovery } from './context/discovery.js';
import { deploymentController } from './deployment/deployment-controller.js';
import { garbageCollectorController } from './garbage-collector/garbage-collector-controller.js';
import { jobController } from './job/job-controller.js';
import { namespaceController } from './namespace/namespace-controller.js';
import { namespaceFurnitureController } from './namespace/namespace-furniture-controller.js';
import { nodeLifecycleController } from './node-lifecycle/node-lifecycle-controller.js';
import { podGcController } from './pod-gc/pod-gc-controller.js';
import { replicaSetController } from './replica-set/replica-set-controller.js';
import { roleAggregationController } from './role-aggregation/role-aggregation-controller.js';
import { schedulerController } from './scheduler/scheduler-controller.js';

export interface ClusterControllersOptions {
  /** Connection as the user for which they act: it needs every right in the cluster. */
  readonly connection: KubeConnection;
  readonly log: Log;
  readonly clock?: Clock;
  /** Finished pods that are kept for their logs. Default 500. */
  readonly maxFinishedPods?: number;
}

/**
 * The controllers that a cluster brings and an embedded API server does not: scheduler, Deployment, ReplicaSet, Job
 * (with its time to live), garbage collection, namespaces, node lifecycle, pod sweeping, aggregated roles. Plain clients
 * of the Kubernetes API. One instance for each API server; resolves when all lists are complete and the workers run.
 */
export async function startClusterControllers(options: ClusterControllersOptions): Promise<Stoppable> {
  const { connection, log, clock = systemClock } = options;
  const client = new KubeClient(connection, { fieldManager: 'kube-controller-manager', clock });
  const informers = new Informers({ client, log, clock });
  const events = new EventRecorder({ client, component: 'agentplane-cluster', log, clock });
  const context: ClusterContext = { client, informers, events, clock, log };
  const discovery = new Discovery(client, clock);
  const running = await startControllers({
    informers,
    log,
    clock,
    controllers: [
      schedulerController(context),
      deploymentController(context),
      replicaSetController(context),
      jobController(context),
      garbageCollectorController(context, discovery),
      namespaceController(context, discovery),
      namespaceFurnitureController(context, connection.ca),
      nodeLifecycleController(context),
      podGcController(context, options.maxFinishedPods ?? 500),
      roleAggregationController(context),
    ],
  });
  await running.working;
  return {
    name: 'cluster-controllers',
    async stop() {
      await running.stop();
      await events.flush();
      await client.close();
    },
  };
}
