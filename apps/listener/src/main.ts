import { loadConfig, PLATFORM_VERSION } from '#lib/config';
import {
  type ControllerSpec,
  EventRecorder,
  failureEvents,
  fromMapped,
  fromObjects,
  Informers,
  isDesiredChange,
  KubeClient,
  LeaderElector,
  loadKubeConnection,
  startControllers,
} from '#lib/kube';
import { EXIT, type ProgramContext, runProgram } from '#lib/lifecycle';
import { FIELD_MANAGER, type KubeObject, LABEL, type ObjectKey, RESOURCES } from '#lib/resources';
import { createLogger, type Logger, startTelemetry } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { CONFIG, type ListenerConfig } from './config.js';
import { Heartbeat } from './heartbeat/heartbeat.js';
import { cachesOf, type NamespaceCaches } from './rollout/observe.js';
import { RolloutReconciler } from './rollout/rollout-reconciler.js';

/** The deployment that a revision, a workload, a pod or a Service belongs to. */
function deploymentOf({ metadata }: KubeObject): readonly ObjectKey[] {
  const name = metadata.labels?.[LABEL.deployment];
  return name === undefined ? [] : [{ namespace: metadata.namespace ?? '', name }];
}

function sourcesOf(caches: NamespaceCaches): ControllerSpec['sources'] {
  return [
    fromObjects(caches.deployments, isDesiredChange),
    fromMapped(caches.revisions, ({ metadata, spec }) => [
      { namespace: metadata.namespace ?? '', name: spec.deploymentName },
    ]),
    fromMapped(caches.workloads, deploymentOf),
    fromMapped(caches.pods, deploymentOf),
    fromMapped(caches.services, deploymentOf),
  ];
}

async function start(config: ListenerConfig, log: Logger, context: ProgramContext): Promise<void> {
  const clock = systemClock;
  const connection = await loadKubeConnection(
    config.kubeconfigPath === undefined ? {} : { kubeconfigPath: config.kubeconfigPath },
  );
  const client = new KubeClient(connection, { fieldManager: FIELD_MANAGER.listener });
  context.own({ name: 'kubernetes client', stop: () => client.close() });
  const informers = new Informers({ client, log, clock });
  const leader = new LeaderElector({
    connection,
    lease: { namespace: config.homeNamespace, name: `agentplane-listener-${config.listener}` },
    identity: config.identity,
    log,
    clock,
    onLost: (why) => context.stop(EXIT.failed, why),
  });
  const events = new EventRecorder({ client, component: FIELD_MANAGER.listener, log, clock });
  context.own({ name: 'events', stop: () => events.flush() });
  const controllers = config.namespaces.map((namespace) => {
    const caches = cachesOf(informers, namespace);
    const reconciler = new RolloutReconciler(caches, {
      client,
      clock,
      events,
      settings: { version: PLATFORM_VERSION, apiUrl: config.apiUrl, addresses: config.addresses },
      listenerName: config.listener,
      patience: {
        readinessMs: config.readinessMs,
        imagePullMs: config.imagePullMs,
        retireMs: config.retireMs,
      },
    });
    return {
      name: `rollout ${namespace}`,
      reconcile: (key: ObjectKey) => reconciler.reconcile(key),
      onFailure: failureEvents(events, RESOURCES.AgentDeployment, caches.deployments),
      sources: sourcesOf(caches),
    };
  });
  const running = context.own(await startControllers({ informers, controllers, log, clock, leader }));
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
