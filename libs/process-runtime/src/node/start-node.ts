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
import { within } from '../within.js';
import { mayReadLogs } from '../log/may-read-logs.js';
import { LogServer, type ServingIdentity } from '../log/log-server.js';
import { openCpuLimits } from '../cpu/cpu-limits.js';
import { LoopbackPorts } from '../port/loopback-ports.js';
import { PodWorkers } from '../pod/pod-workers.js';
import { FEW_STUCK } from '../strays/bounded-reader.js';
import { endStrays, type EndingOfStrays } from '../strays/end-strays.js';
import { Spares } from '../spare/spares.js';
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
  /** Spare processes that each namespace has for its pods. Default 0. */
  readonly spares?: number;
  /** Users of pods. Default: the user of this process. */
  readonly users?: UserOptions;
  /**
   * True when this machine joins a cluster of other nodes: pods that do not select its runtime are neither
   * bound to it nor taken, and it is cordoned while it is stopped. Default false.
   */
  readonly isJoined?: boolean;
  /** Longest time in milliseconds that processes get when the node stops. Default 10,000. */
  readonly stopGraceMs?: number;
  /** Ends a process that an earlier node left. Default: by signals. */
  readonly endStray?: EndingOfStrays['end'];
}

export interface RunningNode extends Stoppable {
  /** Name of the Node object. */
  readonly nodeName: string;
  readonly port: number;
  /** True when the pod was given that port of this machine. */
  hasPort(pod: Pod, port: number): boolean;
  /** Ends the spares of a namespace until it starts a program that can have some. */
  forgetSpares(namespace: string): void;
}

/**
 * Variables that a program may need of the machine; never the platform's own settings, which may hold
 * secrets.
 */
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
  // pip reads its own before 24.2
  'PIP_CERT',
];

const OWN_USER: UserOptions = { ranges: [], programs: [] };
const STOP_GRACE_MS = 10_000;
/**
 * Time for which containers are awaited after their grace: one that waits for a file system of its own does
 * not end by a signal.
 */
const KILLED_MS = 6_000;
/** Time for which they are awaited once the processes that blocked them were killed. */
const FREED_MS = 1_000;
/** A stop takes no longer than its program gives it. */
const STOP_BOUNDS = { ...FEW_STUCK, totalMs: 2_000 };

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
  const { strays, users, unasked } = await endEarlier(options, podsFolder, clock);

  const client = new KubeClient(connection, { fieldManager: FIELD_MANAGER.node, clock });
  const leaseClient = new KubeClient(connection, {
    fieldManager: FIELD_MANAGER.node,
    timeoutMs: 10_000,
    clock,
  });
  const sleepWatch = new SleepWatch(clock);
  const environment = machineEnvironment();
  const { tools, mountProblem } = startTools(folder, users.areOwn, log);
  const spares = new Spares({ count: options.spares ?? 0, podsFolder, environment, tools, clock, log });
  const context: NodeContext = {
    client,
    connection,
    clock,
    log,
    podsFolder,
    sleepWatch,
    images: options.images,
    events: new EventRecorder({ client, component: FIELD_MANAGER.node, log, clock }),
    ports: new LoopbackPorts(),
    memoryWatch: new MemoryWatch(clock),
    cpuLimits: openCpuLimits(identity.name),
    allocatable: parseAmounts(nodeCapacity()),
    isJoined: options.isJoined ?? false,
    runtime: { command: process.execPath, args: options.nodeArguments ?? [] },
    environment,
    users,
    spares,
    strays,
    tools,
    mountProblem,
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
    client,
    nodeName: identity.name,
    port,
    version,
    clock,
    log,
    rootProblem: users.problem,
    isUserShared: !users.areOwn && users.problem === undefined,
    cpuProblem: context.cpuLimits.problem,
    isJoined: context.isJoined,
  });
  const lease = new NodeLease({
    client: leaseClient,
    nodeName: identity.name,
    holder: identity.leaseHolder,
    clock,
    log,
  });
  renewOnAwake(context, lease, registration);
  sleepWatch.start();
  await lease.start(await registration.start());

  const selection = { fieldSelector: `spec.nodeName=${identity.name}` };
  const informer = new Informer<Pod>({ client, ref: PODS, selection, clock, log });
  informer.start();
  await informer.synced();
  await workers.start(informer);
  void workers.endLeft(unasked);
  const endReading = metrics.nodePods.read(() =>
    informer.list().map(({ status }) => [{ phase: status?.phase ?? 'Pending' }, 1] as const),
  );
  log.info({ node: identity.name, port, pods: informer.size }, 'node ready');

  return {
    name: 'node',
    nodeName: identity.name,
    port,
    hasPort: (pod, ofPod) => context.ports.isOf(pod, ofPod),
    forgetSpares: (namespace) => spares.forget(namespace),
    async stop() {
      endReading();
      spares.stop();
      await registration.leave();
      await endPods(workers, context, options.stopGraceMs ?? STOP_GRACE_MS);
      context.ports.sockets.releaseAll();
      context.cpuLimits.close();
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

function renewOnAwake(
  { sleepWatch, log }: Pick<NodeContext, 'sleepWatch' | 'log'>,
  lease: NodeLease,
  registration: Registration,
): void {
  sleepWatch.onAwake((sleptMs) => {
    log.warn({ sleptMs }, 'machine was suspended; renewing the node lease first');
    void Promise.all([lease.renew(), registration.report()]).catch((error: unknown) =>
      log.warn({ problem: errorText(error) }, 'renewing the node lease after a suspension failed'),
    );
  });
}

/** Ends what pods of an earlier node left. */
async function endEarlier(
  { users: userOptions = OWN_USER, folder, log, endStray }: NodeOptions,
  podsFolder: string,
  clock: Clock,
): Promise<Pick<NodeContext, 'strays' | 'users'> & { readonly unasked: readonly number[] }> {
  const strays = await endStrays(podsFolder, { clock, log, end: endStray });
  const users = chooseUsers(userOptions, { folder, podsFolder, log });
  const { ended, unasked } = await users.endProcesses({ clock, isIdle: () => true, bounds: FEW_STUCK });
  if (ended > 0) log.warn({ processes: ended }, 'ended processes that pods of an earlier node left behind');
  if (unasked.length > 0)
    log.warn(
      { uids: unasked },
      'asking processes of these users took too long: those of an earlier node end once no pod of their user runs',
    );
  return { strays, users, unasked };
}

/** A pod that does not end by signals may wait for what its user runs, which is killed then. */
async function endPods(workers: PodWorkers, { users, clock }: NodeContext, graceMs: number): Promise<void> {
  const stopped = workers.stop(graceMs);
  await within(stopped, graceMs + KILLED_MS, clock);
  await users.endProcesses({ clock, isIdle: () => true, bounds: STOP_BOUNDS });
  await within(stopped, FREED_MS, clock);
}

/** The number of the user `nobody`, which has no more rights than any user of a pod. */
const NOBODY = 65_534;

/** Tools for starting processes, and whether processes can have mounts. */
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
