import { release } from 'node:os';
import type { KubeClient } from '#lib/kube';
import { errorText } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import {
  ANNOTATION,
  type Node,
  NODES,
  PROCESS_RUNTIME,
  PROCESS_RUNTIME_TAINT,
  type Taint,
} from '#lib/resources';
import { kubeTime } from '../kube-time.js';
import { nodeCapacity } from './node-capacity.js';
import { nodeConditions, type NodeTroubles } from './node-conditions.js';

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
  readonly #options: RegistrationOptions;
  #cancel: () => void = () => undefined;
  #isStopped = false;

  constructor(options: RegistrationOptions) {
    this.#options = options;
  }

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
    const { client, nodeName, isJoined, log } = this.#options;
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
    const { client, nodeName, port, version, clock } = this.#options;
    const resources = nodeCapacity();
    await client.mergeStatus(
      NODES,
      { name: nodeName },
      {
        status: {
          capacity: resources,
          allocatable: resources,
          conditions: nodeConditions(kubeTime(clock.now()), isReady, this.#options),
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
    const { client, nodeName, isJoined } = this.#options;
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
    const { clock, log } = this.#options;
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
