import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { delimiter } from 'node:path';
import { EventRecorder, Informer, KubeClient, type KubeConnection } from '#lib/kube';
import { parseAmounts } from '#lib/kube-semantics';
import { inheritedEnvironment, proxyEnvironment } from '#lib/config';
import { errorText } from '#lib/errors';
import type { Stoppable } from '#lib/lifecycle';
import { FIELD_MANAGER, type Pod, PODS } from '#lib/resources';
import { type Logger, metrics } from '#lib/telemetry';
import { type Clock, systemClock } from '#lib/time';
import { MemoryWatch } from '../context/memory-watch.js';
import { mayReadLogs } from '../log/may-read-logs.js';
import { LogServer, type ServingIdentity } from '../log/log-server.js';
import { LoopbackPorts } from '../port/loopback-ports.js';
import { PodWorkers } from '../pod/pod-workers.js';
import { endStrays } from '../strays/end-strays.js';
import type { ImageResolver, NodeContext } from '../context/node-context.js';
import { findTools } from '../user/spawn-request.js';
import { findMountProblem } from '../user/mount-script.js';
import { chooseUsers, type UserOptions } from './choose-users.js';
import { nodeCapacity } from './node-capacity.js';
import { NodeLease } from './node-lease.js';
import { ensureNodeIdentity } from './node-name.js';
import { Registration } from './registration.js';
import { SleepWatch } from '../context/sleep-watch.js';

export interface NodeOptions {
  /** The API server as this node sees it: `system:node:NAME`, with the name from `ensureNodeIdentity`. */
  readonly connection: KubeConnection;
  /** `node/` of the data folder. */
  readonly folder: string;
  readonly images: ImageResolver;
  readonly serving: ServingIdentity;
  /** Wished port of the log server on 127.0.0.1; any when it is taken or 0. */
  readonly port: number;
  readonly version: string;
  readonly log: Logger;
  readonly clock?: Clock;
  /** Arguments of Node for every program of an image, for example limits of its heap. */
  readonly nodeArguments?: readonly string[];
  /** Whom pods run as. Default: as this process. */
  readonly users?: UserOptions;
  /** Longest time in milliseconds that processes get when the node stops. Default 10,000. */
  readonly stopGraceMs?: number;
}

export interface RunningNode extends Stoppable {
  /** Name of the Node object. */
  readonly nodeName: string;
  readonly port: number;
  /** Whether the pod was given that port of this machine. */
  hasPort(pod: Pod, port: number): boolean;
}

/** What a program may need of the machine; never the platform's own settings, which may hold secrets. */
const INHERITED = [
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'TMPDIR',
  'LANG',
  'LC_ALL',
  'TZ',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
];

const OWN_USER: UserOptions = { ranges: [], programs: [] };
const STOP_GRACE_MS = 10_000;

/**
 * Starts this machine as a node of any Kubernetes: whatever pods the scheduler binds to it run as processes. A pure client
 * of the API, in this order: processes of an earlier run are ended, Node and Lease are written, pods are followed.
 * Resolves when the API server knows the state of the pods that were bound to it before.
 */
export async function startNode(options: NodeOptions): Promise<RunningNode> {
  const { connection, folder, log, clock = systemClock, version } = options;
  const identity = ensureNodeIdentity(folder);
  const podsFolder = join(folder, 'pods');
  mkdirSync(podsFolder, { recursive: true, mode: 0o700 });
  await endStrays(podsFolder, clock, log);
  const users = chooseUsers(options.users ?? OWN_USER, { folder, podsFolder, log });
  const left = await users.endProcesses({ clock, isIdle: () => true });
  if (left > 0) log.warn({ processes: left }, 'ended processes that pods of an earlier node left behind');

  const client = new KubeClient(connection, { fieldManager: FIELD_MANAGER.node, clock });
  const leaseClient = new KubeClient(connection, {
    fieldManager: FIELD_MANAGER.node,
    timeoutMs: 10_000,
    clock,
  });
  const sleepWatch = new SleepWatch(clock);
  const context: NodeContext = {
    ...{ client, connection, clock, log, podsFolder, sleepWatch, images: options.images },
    events: new EventRecorder({ client, component: FIELD_MANAGER.node, log, clock }),
    ports: new LoopbackPorts(),
    memoryWatch: new MemoryWatch(clock),
    allocatable: parseAmounts(nodeCapacity()),
    runtime: { command: process.execPath, args: options.nodeArguments ?? [] },
    environment: machineEnvironment(),
    users,
    ...startTools(folder, users.areOwn, log),
  };
  const workers = new PodWorkers(context);
  const logServer = new LogServer({
    serving: options.serving,
    logs: { find: (namespace, pod, container) => workers.find(namespace, pod)?.findLog(container) },
    mayRead: (reader) => mayReadLogs(client, identity.name, reader),
    clock,
    log,
  });
  const port = await logServer.listen(options.port);
  const registration = new Registration({
    ...{ client, nodeName: identity.name, port, version, clock, log },
    rootProblem: users.problem,
  });
  const lease = new NodeLease({
    ...{ client: leaseClient, nodeName: identity.name, holder: identity.leaseHolder, clock, log },
  });
  sleepWatch.onAwake((sleptMs) => {
    log.warn({ sleptMs }, 'machine was suspended; renewing the node lease first');
    void Promise.all([lease.renew(), registration.report()]).catch((error: unknown) =>
      log.warn({ problem: errorText(error) }, 'renewing the node lease after a suspension failed'),
    );
  });
  sleepWatch.start();
  await lease.start(await registration.start());

  const selection = { fieldSelector: `spec.nodeName=${identity.name}` };
  const informer = new Informer<Pod>({ client, ref: PODS, selection, clock, log });
  informer.start();
  await informer.synced();
  await workers.start(informer);
  const endReading = metrics.nodePods.read(() =>
    informer.list().map(({ status }) => [{ phase: status?.phase ?? 'Pending' }, 1] as const),
  );
  log.info({ node: identity.name, port, pods: informer.size }, 'node ready');

  return {
    name: 'node',
    nodeName: identity.name,
    port,
    hasPort: (pod, ofPod) => context.ports.isOf(pod, ofPod),
    async stop() {
      endReading();
      await workers.stop(options.stopGraceMs ?? STOP_GRACE_MS);
      await users.endProcesses({ clock, isIdle: () => true });
      context.ports.sockets.releaseAll();
      await informer.stop();
      sleepWatch.stop();
      registration.stop();
      lease.stop();
      await logServer.stop();
      await context.events.flush();
      await Promise.all([client.close(), leaseClient.close()]);
    },
  };
}

/** The number of `nobody`, who is as good as any user of a pod. */
const NOBODY = 65_534;

/** What processes are started with, and whether they can have mounts. */
function startTools(
  folder: string,
  areOwn: boolean,
  log: Logger,
): Pick<NodeContext, 'tools' | 'mountProblem'> {
  const tools = findTools();
  const stage = join(folder, 'mounts.probe');
  mkdirSync(stage, { recursive: true });
  const mountProblem = findMountProblem(tools.unshare, stage, areOwn ? NOBODY : undefined);
  if (mountProblem !== undefined) log.info({ mountProblem }, 'pods with volumes are refused');
  return { tools, mountProblem };
}

/** The folder of this Node comes first, so that `node` in a command is the one that everything is built for. */
function machineEnvironment(): Record<string, string> {
  const inherited = inheritedEnvironment(INHERITED);
  return {
    ...inherited,
    ...proxyEnvironment(),
    PATH: `${dirname(process.execPath)}${delimiter}${inherited.PATH ?? ''}`,
  };
}
