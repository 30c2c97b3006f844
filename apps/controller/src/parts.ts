import {
  EventRecorder,
  Informers,
  KubeClient,
  LeaderElector,
  loadKubeConnection,
  type ControllerSpec,
  passSubject,
  type Reader,
  type Source,
} from '#lib/kube';
import type { Result } from '#lib/reconcile';
import { FIELD_MANAGER, type KubeObject, type ObjectKey, type ResourceRef } from '#lib/resources';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { openLake, openTraceStore, type TraceStore, whyNotSealing } from '#lib/trace-store';
import { type Caches, openCaches } from './caches.js';
import type { ControllerConfig } from './config.js';
import { DatabaseTime } from './database-time.js';
import { CommitLooks } from './git-remote/commit-looks.js';

/** Values that the program hands to its parts. */
export interface Surroundings {
  readonly config: ControllerConfig;
  readonly log: Logger;
  readonly clock: Clock;
  /** Another candidate took over, or the lease could not be renewed: the work must end. */
  readonly onLostLeadership: (why: string) => void;
}

/** Dependencies of every controller: client, caches, events, leadership, trace store, settings, time. */
export interface Parts extends Caches, Omit<Surroundings, 'onLostLeadership'> {
  readonly client: KubeClient;
  readonly events: EventRecorder;
  readonly informers: Informers;
  readonly leader: LeaderElector;
  readonly traceStore: TraceStore;
  readonly time: DatabaseTime;
  readonly looks: CommitLooks;
}

/** Makes the parts; starts none and reaches nothing. */
export async function openParts({ config, log, clock, onLostLeadership }: Surroundings): Promise<Parts> {
  const { kubeconfigPath, systemNamespace, identity, databaseUri: uri, agentDatabaseImage } = config;
  const connection = await loadKubeConnection(kubeconfigPath === undefined ? {} : { kubeconfigPath });
  const client = new KubeClient(connection, { fieldManager: FIELD_MANAGER.controller });
  const informers = new Informers({ client, log, clock });
  const lake = openLake(config);
  const traceStore = openTraceStore({ program: 'controller', uri, poolSize: 4, lake, log, clock });
  return {
    config,
    log,
    clock,
    client,
    informers,
    traceStore,
    ...openCaches(informers, {
      systemNamespace,
      hasDatabaseServers: agentDatabaseImage !== undefined,
      isSealing: whyNotSealing(config) === undefined,
    }),
    events: new EventRecorder({ client, component: FIELD_MANAGER.controller, log, clock }),
    looks: new CommitLooks(clock),
    time: new DatabaseTime(() => traceStore.databaseTime(), clock),
    leader: new LeaderElector({
      connection,
      lease: { namespace: systemNamespace, name: 'agentplane-controller' },
      identity,
      log,
      clock,
      onLost: onLostLeadership,
    }),
  };
}

/** A controller of objects of one kind, which reports failed passes on them. */
export function controllerOf<T extends KubeObject>(
  name: string,
  reconciler: { reconcile(key: ObjectKey): Promise<Result> },
  [ref, objects]: readonly [ResourceRef<T>, Pick<Reader<T>, 'find'>],
  sources: readonly Source[],
): ControllerSpec {
  return {
    name,
    reconcile: (key) => reconciler.reconcile(key),
    subject: passSubject(ref, objects),
    sources,
  };
}
