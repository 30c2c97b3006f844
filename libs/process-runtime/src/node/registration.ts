import { availableParallelism, release, totalmem } from 'node:os';
import { errorText } from '#lib/errors';
import type { KubeClient } from '#lib/kube';
import {
  ANNOTATION,
  CPU_LIMITS_KEPT,
  type Node,
  type NodeCondition,
  NODES,
  PODS_RUN_AS_ROOT,
  PODS_SHARE_USER,
  PROCESS_RUNTIME,
  PROCESS_RUNTIME_TAINT,
  SHARED_USER_MESSAGE,
  type Taint,
} from '#lib/resources';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { kubeTime } from '../pace.js';

/**
 * Minimum, so that two cores run the platform and the samples: requests are reservations, and idle agents use
 * none.
 */
const LEAST_CPUS = 4;

/** Capacity of this machine for pods, as a Node states it. */
export function nodeCapacity(): { readonly cpu: string; readonly memory: string; readonly pods: string } {
  return {
    cpu: String(Math.max(LEAST_CPUS, availableParallelism())),
    memory: `${Math.floor(totalmem() / 1024)}Ki`,
    pods: '110',
  };
}

/** Features that this machine lacks. */
export interface NodeTroubles {
  /** Reason why pods run as root; undefined when they do not. */
  readonly rootProblem: string | undefined;
  /** True when all pods have the user of this process, which is not root on Linux. */
  readonly isUserShared: boolean;
  /** Reason why limits of CPU are not kept; undefined when they are. */
  readonly cpuProblem: string | undefined;
}

/** All conditions of the Node; those of walls between pods exist only while there are none. */
export function nodeConditions(
  now: string,
  isReady: boolean,
  { rootProblem, isUserShared, cpuProblem }: NodeTroubles,
): readonly NodeCondition[] {
  const condition = (
    type: string,
    reason: string,
    status: 'True' | 'False',
    message = 'process runtime is posting ready status',
  ): NodeCondition => ({
    type,
    reason,
    status,
    message,
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  });
  return [
    condition('MemoryPressure', 'ProcessRuntime', 'False'),
    condition('DiskPressure', 'ProcessRuntime', 'False'),
    condition('PIDPressure', 'ProcessRuntime', 'False'),
    isReady
      ? condition('Ready', 'ProcessRuntimeReady', 'True')
      : condition(
          ...(['Ready', 'ProcessRuntimeStopped', 'False'] as const),
          'agentplane was stopped on this machine; start it again',
        ),
    cpuProblem === undefined
      ? condition(CPU_LIMITS_KEPT, 'ControlGroups', 'True', 'limits of CPU are kept by control groups')
      : condition(
          ...([CPU_LIMITS_KEPT, 'NoControlGroups', 'False'] as const),
          `CPU limits are not enforced on this machine: ${cpuProblem}`,
        ),
    ...(rootProblem === undefined
      ? []
      : [
          condition(
            ...([PODS_RUN_AS_ROOT, 'NoUsersOfTheirOwn', 'True'] as const),
            `pods run as root and can read everything here: ${rootProblem}`,
          ),
        ]),
    ...(isUserShared ? [condition(PODS_SHARE_USER, 'UserOfThePlatform', 'True', SHARED_USER_MESSAGE)] : []),
  ];
}

export interface RegistrationOptions extends NodeTroubles {
  readonly client: KubeClient;
  readonly nodeName: string;
  /** Port of the log server. */
  readonly port: number;
  readonly version: string;
  /** True when other nodes are in the cluster: then the node is tainted, and cordoned while it is stopped. */
  readonly isJoined: boolean;
  readonly clock: Clock;
  readonly log: Logger;
}

const HEARTBEAT_MS = 60_000;

/** The Node object: its labels, what it can hold, and that it is ready. */
export class Registration {
  #cancel: () => void = () => undefined;
  #isStopped = false;

  constructor(private readonly options: RegistrationOptions) {}

  /** Creates the Node or brings it up to date; answers its uid. */
  async start(): Promise<string> {
    const node = await this.#ensureNode();
    await this.report();
    this.#beat();
    return node.metadata.uid ?? '';
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  /**
   * Leaves before pods end: from here on no pods are bound to a joined node, and traffic to its pods goes
   * elsewhere.
   */
  async leave(): Promise<void> {
    const { client, nodeName, isJoined, log } = this.options;
    this.stop();
    if (!isJoined) return;
    try {
      const node = await client.find(NODES, { name: nodeName });
      // a cordon of a person's own outlives the stop
      if (node && node.spec?.unschedulable !== true)
        await client.merge(
          NODES,
          { name: nodeName },
          { metadata: { annotations: { [ANNOTATION.cordoned]: 'true' } }, spec: { unschedulable: true } },
        );
      await this.report(false);
    } catch (error) {
      log.warn({ node: nodeName, problem: errorText(error) }, 'cordoning the node failed');
    }
  }

  /** Writes the status now. */
  async report(isReady = true): Promise<void> {
    const { client, nodeName, port, version, clock } = this.options;
    const resources = nodeCapacity();
    await client.mergeStatus(
      NODES,
      { name: nodeName },
      {
        status: {
          capacity: resources,
          allocatable: resources,
          conditions: nodeConditions(kubeTime(clock.now()), isReady, this.options),
          addresses: [
            { type: 'InternalIP', address: '127.0.0.1' },
            { type: 'Hostname', address: nodeName },
          ],
          daemonEndpoints: { kubeletEndpoint: { Port: port } },
          nodeInfo: {
            architecture: process.arch === 'x64' ? 'amd64' : process.arch,
            operatingSystem: process.platform,
            osImage: process.platform,
            kernelVersion: release(),
            containerRuntimeVersion: `process://${process.versions.node}`,
            kubeletVersion: `agentplane-${version}`,
            kubeProxyVersion: `agentplane-${version}`,
            machineID: nodeName,
            systemUUID: nodeName,
            bootID: nodeName,
          },
        },
      },
    );
  }

  async #ensureNode(): Promise<Node> {
    const { client, nodeName, isJoined } = this.options;
    const labels = {
      ...PROCESS_RUNTIME,
      'kubernetes.io/hostname': nodeName,
      'kubernetes.io/os': process.platform,
      'kubernetes.io/arch': process.arch === 'x64' ? 'amd64' : process.arch,
    };
    const found = await client.find(NODES, { name: nodeName });
    const taints = isJoined ? { taints: withOwnTaint(found?.spec?.taints ?? []) } : {};
    if (!found) return client.create(NODES, { metadata: { name: nodeName, labels }, spec: taints });
    const isCordonedByUs = found.metadata.annotations?.[ANNOTATION.cordoned] !== undefined;
    const uncordoned = isCordonedByUs ? { unschedulable: null } : {};
    return client.merge(
      NODES,
      { name: nodeName },
      {
        metadata: { labels, annotations: { [ANNOTATION.cordoned]: null } },
        spec: { ...taints, ...uncordoned },
      },
    );
  }

  #beat(): void {
    const { clock, log } = this.options;
    this.#cancel = clock.after(HEARTBEAT_MS, () => {
      void this.report()
        .catch((error: unknown) =>
          log.warn({ problem: errorText(error) }, 'writing the node status failed, retrying'),
        )
        .finally(() => {
          if (!this.#isStopped) this.#beat();
        });
    });
  }
}

/** Taints of others stay: a merge replaces the list. */
function withOwnTaint(taints: readonly Taint[]): readonly Taint[] {
  const others = taints.filter(({ key }) => key !== PROCESS_RUNTIME_TAINT.key);
  return [...others, PROCESS_RUNTIME_TAINT];
}
