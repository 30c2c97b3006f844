import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { inheritedEnvironment, proxyEnvironment } from '#lib/config';
import { errorText } from '#lib/errors';
import { EventRecorder, Informer, KubeClient, type KubeConnection, microTime } from '#lib/kube';
import { parseAmounts } from '#lib/kube-semantics';
import type { Stoppable } from '#lib/lifecycle';
import { FIELD_MANAGER, type Lease, LEASES, type Pod, PODS } from '#lib/resources';
import { type Logger, metrics } from '#lib/telemetry';
import { type Clock, systemClock } from '#lib/time';
import { MemoryWatch } from '../context/memory-watch.js';
import type { ImageResolver, NodeContext } from '../context/node-context.js';
import { SleepWatch } from '../context/sleep-watch.js';
import { openCpuLimits } from '../cpu/cpu-limits.js';
import { LogServer, mayReadLogs, type ServingIdentity } from '../log/log-server.js';
import { within } from '../pace.js';
import { readJson, writeWhole } from '../pod-files/pod-files.js';
import { PodWorkers } from '../pod/pod-workers.js';
import { LoopbackPorts } from '../port/loopback-ports.js';
import { Spares } from '../spare/spares.js';
import { FEW_STUCK } from '../strays/bounded-reader.js';
import { type EndingOfStrays, endStrays } from '../strays/end-strays.js';
import { findMountProblem } from '../user/launch.js';
import { findTools } from '../user/spawn-request.js';
import { chooseUsers, type UserOptions } from './choose-users.js';
import { nodeCapacity, Registration } from './registration.js';

/** Identity of the node, for as long as its data folder exists. */
export interface NodeIdentity {
  /** Name of the Node object: `agentplane-HOST-SHORTID`. */
  readonly name: string;
  /** Holder of its Lease: the same after a restart, so that it is taken over at once. */
  readonly leaseHolder: string;
}

/** The identity kept in `node.json` of the node's folder; made on the first call. */
export function ensureNodeIdentity(folder: string, host = hostname()): NodeIdentity {
  const file = join(folder, 'node.json');
  const known = readJson<NodeIdentity>(file);
  if (known) return known;
  const word = host
    .toLowerCase()
    .split('.')[0]
    ?.replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 30);
  const name = `agentplane-${word || 'node'}-${randomBytes(3).toString('hex')}`;
  const identity = { name, leaseHolder: name };
  mkdirSync(folder, { recursive: true });
  writeWhole(file, `${JSON.stringify(identity, null, 2)}\n`);
  return identity;
}

export interface NodeLeaseOptions {
  /** Client with connections of its own, so that a renewal never waits behind other requests. */
  readonly client: KubeClient;
  readonly nodeName: string;
  readonly holder: string;
  readonly clock: Clock;
  readonly log: Logger;
}

const NAMESPACE = 'kube-node-lease';
const DURATION_SECONDS = 40;
const RENEW_MS = 10_000;
const RETRY_MS = 1_000;

/** Says every ten seconds that the node is alive. */
class NodeLease {
  #cancel: () => void = () => undefined;
  #isStopped = false;

  constructor(private readonly options: NodeLeaseOptions) {}

  /** @param nodeUid the Node that the Lease goes with */
  async start(nodeUid: string): Promise<void> {
    await this.#ensure(nodeUid);
    this.#after(RENEW_MS);
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  /** Renews at once; after a sleep, before anything else is judged. */
  async renew(): Promise<void> {
    const { client, nodeName: name, holder, clock } = this.options;
    const spec = {
      holderIdentity: holder,
      renewTime: microTime(clock.now()),
      leaseDurationSeconds: DURATION_SECONDS,
    };
    await client.merge(LEASES, { namespace: NAMESPACE, name }, { spec });
  }

  async #ensure(nodeUid: string): Promise<void> {
    const { client, nodeName: name, holder, clock } = this.options;
    const known = await client.find(LEASES, { namespace: NAMESPACE, name });
    if (known) return this.renew();
    const now = microTime(clock.now());
    const lease: Pick<Lease, 'spec'> = {
      spec: {
        holderIdentity: holder,
        leaseDurationSeconds: DURATION_SECONDS,
        acquireTime: now,
        renewTime: now,
      },
    };
    const owner = { apiVersion: 'v1', kind: 'Node', name, uid: nodeUid };
    await client.create(LEASES, {
      metadata: { namespace: NAMESPACE, name, ownerReferences: [owner] },
      ...lease,
    });
  }

  #after(ms: number): void {
    if (this.#isStopped) return;
    this.#cancel = this.options.clock.after(ms, () => {
      this.renew()
        .then(() => this.#after(RENEW_MS))
        .catch((error: unknown) => {
          this.options.log.warn({ problem: errorText(error) }, 'renewing the node lease failed, retrying');
          this.#after(RETRY_MS);
        });
    });
  }
}

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
  /** Real ports of a pod of this node that is ready, by container port. */
  servingPortsOf(pod: Pod): Readonly<Record<string, number>> | undefined;
  /** Calls back when a pod has become ready, before the API server hears of it. */
  onServing(follower: (pod: Pod) => void): void;
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
    ports: new LoopbackPorts({ clock }),
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
    servingPortsOf: (pod) => workers.servingPortsOf(pod),
    onServing: (follower) => workers.onServing(follower),
    forgetSpares: (namespace) => spares.forget(namespace),
    async stop() {
      endReading();
      spares.stop();
      await registration.leave();
      await endPods(workers, context, options.stopGraceMs ?? STOP_GRACE_MS);
      context.ports.stop();
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
