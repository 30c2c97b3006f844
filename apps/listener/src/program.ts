import { loadConfig, PLATFORM_VERSION } from '#lib/config';
import { type ControllerSpec, EventRecorder, LeaderElector, startControllers } from '#lib/kube';
import { EXIT, type ProgramContext, runProgram } from '#lib/lifecycle';
import { FIELD_MANAGER, listenerLeaseName, RESOURCES } from '#lib/resources';
import { createLogger, type Logger, podTracingVariables, startTelemetry } from '#lib/telemetry';
import { type Clock, systemClock } from '#lib/time';
import { allInformers, type Clusters, openClusters } from './open-clusters.js';
import { BudgetReconciler } from './budget/budget-reconciler.js';
import { CONFIG, type ListenerConfig } from './config.js';
import { Heartbeat } from './heartbeat/heartbeat.js';
import { HubCluster } from './hub/hub-cluster.js';
import { HubReports } from './hub/hub-reports.js';
import type { Activator } from './place/activator.js';
import { PlaceCluster } from './place/place-cluster.js';
import { DEFAULT_PATIENCE } from './rollout/world.js';
import { RolloutReconciler } from './rollout/rollout-reconciler.js';

function rolloutController(
  config: ListenerConfig,
  clusters: Clusters,
  events: Pick<EventRecorder, 'record'>,
  clock: Clock,
  namespace: string,
  activator: Activator | undefined,
): ControllerSpec {
  const { apiUrl, addresses, idleKey, agentsNonRoot, buildPullSecret } = config;
  const { hub: own, place, ownership } = clusters;
  const { client, informers } = own;
  // resources of a remote listener are all in the namespace of its workspace
  const hubNamespace = ownership === 'label' ? config.homeNamespace : namespace;
  const hub = new HubCluster(client, informers, events, {
    namespace: hubNamespace,
    placeNamespace: namespace,
  });
  const runs = new PlaceCluster(place.client, place.informers, {
    namespace,
    hubNamespace,
    ownership,
    addresses,
    activator,
    idleKey,
    listenerName: config.listener,
  });
  const reconciler = new RolloutReconciler(hub, runs, {
    clock,
    settings: {
      version: PLATFORM_VERSION,
      apiUrl,
      addresses,
      idleKey,
      agentsNonRoot,
      buildPullSecret,
      tracing: podTracingVariables(),
    },
    listenerName: config.listener,
    isBlind: () => informers.problem !== undefined || place.informers.problem !== undefined,
    patience: {
      ...DEFAULT_PATIENCE,
      readinessMs: config.readinessMs,
      imagePullMs: config.imagePullMs,
      retireMs: config.retireMs,
      standbyWarmMs: config.standbyWarmMs,
    },
  });
  return {
    name: `rollout ${namespace}`,
    reconcile: (key) => reconciler.reconcile(key),
    subject: { ref: RESOURCES.AgentRevision, find: (key) => hub.revisionsUnderWay(key) },
    sources: [...hub.sources, ...runs.sources],
  };
}

/** One machine has no other node that a pod could go to, and its API server no such kind. */
function budgetControllers(
  { addresses, listener, namespaces }: ListenerConfig,
  { client, informers }: Clusters['place'],
): readonly ControllerSpec[] {
  if (addresses === 'loopback') return [];
  return namespaces.map((namespace) => {
    const budgets = new BudgetReconciler(client, informers, { namespace, listenerName: listener });
    return {
      name: `disruption budgets ${namespace}`,
      reconcile: (key) => budgets.reconcile(key),
      sources: budgets.sources,
    };
  });
}

/** On one machine the proxy of Services holds requests to deployments that sleep. */
async function openActivator(
  { addresses }: ListenerConfig,
  clock: Clock,
  log: Logger,
): Promise<Activator | undefined> {
  if (addresses === 'loopback') return undefined;
  const { Activator } = await import('./place/activator.js');
  return new Activator({ host: '0.0.0.0', clock, log });
}

async function start(config: ListenerConfig, log: Logger, context: ProgramContext): Promise<void> {
  const clock = systemClock;
  const clusters = await openClusters(config, log, clock, context);
  const { connection, client, informers } = clusters.hub;
  const leader = new LeaderElector({
    connection,
    lease: { namespace: config.homeNamespace, name: listenerLeaseName(config.listener) },
    identity: config.identity,
    log,
    clock,
    onLost: (why) => context.stop(EXIT.failed, why),
  });
  const events =
    clusters.ownership === 'label'
      ? new HubReports({
          client,
          listener: { namespace: config.homeNamespace, name: config.listener },
          clock,
          log,
        })
      : new EventRecorder({ client, component: FIELD_MANAGER.listener, log, clock });
  context.own({ name: 'events', stop: () => events.flush() });
  const activator = await openActivator(config, clock, log);
  if (activator) context.own({ name: 'activator', stop: () => activator.stop() });
  const controllers = [
    ...config.namespaces.map((namespace) =>
      rolloutController(config, clusters, events, clock, namespace, activator),
    ),
    ...budgetControllers(config, clusters.place),
  ];
  const caches = clusters.place === clusters.hub ? [informers] : [informers, clusters.place.informers];
  const running = context.own(
    await startControllers({
      informers: allInformers(caches),
      controllers,
      log,
      clock,
      leader,
      reporting: { client, events },
    }),
  );
  await running.working;
  const heartbeat = new Heartbeat({
    client,
    listener: { namespace: config.homeNamespace, name: config.listener },
    version: PLATFORM_VERSION,
    everyMs: config.heartbeatMs,
    clock,
    log,
  });
  heartbeat.start();
  context.own(heartbeat);
}

const log = createLogger('listener');
runProgram({ log }, async (context) => {
  const config = loadConfig(CONFIG);
  log.level = config.logLevel;
  context.own(await startTelemetry({ program: 'listener', log }));
  await start(config, log, context);
});
