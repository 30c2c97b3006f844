import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import {
  EventRecorder,
  Informers,
  KubeClient,
  type KubeConnection,
  LeaderElector,
  loadKubeConnection,
} from '#lib/kube';
import { FIELD_MANAGER } from '#lib/resources';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { openTraceStore, type TraceStore } from '#lib/trace-store';
import { openCaches } from '../caches.js';
import type { ControllerConfig } from '../config.js';
import type { OwnedParts } from '../controller-work.js';
import { DatabaseTime } from '../database-time.js';
import { CommitLooks } from '../git-remote/commit-looks.js';
import {
  CACHES,
  CLOCK,
  CONNECTION,
  CONTROLLER_CONFIG,
  LOG,
  LOST_LEADERSHIP,
  OWNED_PARTS,
  TRACE_STORE,
} from './tokens.js';

/** Values that the program hands to its modules. */
export interface Surroundings {
  readonly config: ControllerConfig;
  readonly log: Logger;
  readonly clock: Clock;
  /** Another candidate took over, or the lease could not be renewed: the work must end. */
  readonly onLostLeadership: (why: string) => void;
}

const KUBERNETES: readonly Provider[] = [
  {
    provide: CONNECTION,
    inject: [CONTROLLER_CONFIG],
    useFactory: ({ kubeconfigPath }: ControllerConfig) =>
      loadKubeConnection(kubeconfigPath === undefined ? {} : { kubeconfigPath }),
  },
  {
    provide: KubeClient,
    inject: [CONNECTION],
    useFactory: (connection: KubeConnection) =>
      new KubeClient(connection, { fieldManager: FIELD_MANAGER.controller }),
  },
  {
    provide: EventRecorder,
    inject: [KubeClient, LOG, CLOCK],
    useFactory: (client: KubeClient, log: Logger, clock: Clock) =>
      new EventRecorder({ client, component: FIELD_MANAGER.controller, log, clock }),
  },
  {
    provide: CommitLooks,
    inject: [CLOCK],
    useFactory: (clock: Clock) => new CommitLooks(clock),
  },
  {
    provide: Informers,
    inject: [KubeClient, LOG, CLOCK],
    useFactory: (client: KubeClient, log: Logger, clock: Clock) => new Informers({ client, log, clock }),
  },
  {
    provide: CACHES,
    inject: [Informers, CONTROLLER_CONFIG],
    useFactory: (informers: Informers, { systemNamespace, agentDatabaseImage }: ControllerConfig) =>
      openCaches(informers, { systemNamespace, hasDatabaseServers: agentDatabaseImage !== undefined }),
  },
  {
    provide: LeaderElector,
    inject: [CONNECTION, CONTROLLER_CONFIG, LOG, CLOCK, LOST_LEADERSHIP],
    useFactory: (
      connection: KubeConnection,
      { systemNamespace, identity }: ControllerConfig,
      log: Logger,
      clock: Clock,
      onLost: Surroundings['onLostLeadership'],
    ) =>
      new LeaderElector({
        connection,
        lease: { namespace: systemNamespace, name: 'agentplane-controller' },
        identity,
        log,
        clock,
        onLost,
      }),
  },
];

const DATABASE: readonly Provider[] = [
  {
    provide: TRACE_STORE,
    inject: [CONTROLLER_CONFIG, LOG, CLOCK],
    useFactory: ({ databaseUri }: ControllerConfig, log: Logger, clock: Clock) =>
      openTraceStore({ program: 'controller', uri: databaseUri, poolSize: 4, log, clock }),
  },
  {
    provide: DatabaseTime,
    inject: [TRACE_STORE, CLOCK],
    useFactory: (store: TraceStore, clock: Clock) => new DatabaseTime(() => store.databaseTime(), clock),
  },
];

const OWNED: Provider = {
  provide: OWNED_PARTS,
  inject: [KubeClient, TRACE_STORE, EventRecorder, Informers, LeaderElector],
  useFactory: (
    client: KubeClient,
    traceStore: TraceStore,
    events: EventRecorder,
    informers: Informers,
    leader: LeaderElector,
  ): OwnedParts => ({ client, traceStore, events, informers, leader }),
};

/**
 * Dependencies of every kind's module: client, caches, events, leadership, trace store, settings, time.
 * Nothing is started.
 */
@Module({})
export class CoreModule {
  static with({ config, log, clock, onLostLeadership }: Surroundings): DynamicModule {
    const providers: Provider[] = [
      { provide: CONTROLLER_CONFIG, useValue: config },
      { provide: LOG, useValue: log },
      { provide: CLOCK, useValue: clock },
      { provide: LOST_LEADERSHIP, useValue: onLostLeadership },
      ...KUBERNETES,
      ...DATABASE,
      OWNED,
    ];
    const names = providers.map((provider) => ('provide' in provider ? provider.provide : provider));
    return { module: CoreModule, global: true, providers, exports: names };
  }
}
