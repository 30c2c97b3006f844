import { release } from 'node:os';
import type { KubeClient } from '#lib/kube';
import { errorText } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { PODS_RUN_AS_ROOT, LABEL, type Node, type NodeCondition, NODES } from '#lib/resources';
import { kubeTime } from '../kube-time.js';
import { nodeCapacity } from './node-capacity.js';

export interface RegistrationOptions {
  readonly client: KubeClient;
  readonly nodeName: string;
  /** Port of the log server. */
  readonly port: number;
  readonly version: string;
  /** Why pods run as root; undefined when they do not. */
  readonly rootProblem: string | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

const HEARTBEAT_MS = 60_000;

/** The Node object: its labels, what it can hold, and that it is ready. CPU of pods is not limited. */
export class Registration {
  readonly #options: RegistrationOptions;
  #cancel: () => void = () => undefined;

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
    this.#cancel();
  }

  /** Writes the status now. */
  async report(): Promise<void> {
    const { client, nodeName, port, version, rootProblem, clock } = this.#options;
    const resources = nodeCapacity();
    await client.mergeStatus(
      NODES,
      { name: nodeName },
      {
        status: {
          capacity: resources,
          allocatable: resources,
          conditions: conditions(kubeTime(clock.now()), rootProblem),
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
    const { client, nodeName } = this.#options;
    const labels = {
      [LABEL.runtime]: 'process',
      'kubernetes.io/hostname': nodeName,
      'kubernetes.io/os': process.platform,
      'kubernetes.io/arch': process.arch === 'x64' ? 'amd64' : process.arch,
    };
    const found = await client.find(NODES, { name: nodeName });
    if (!found) return client.create(NODES, { metadata: { name: nodeName, labels } });
    return client.merge(NODES, { name: nodeName }, { metadata: { labels } });
  }

  #beat(): void {
    const { clock, log } = this.#options;
    this.#cancel = clock.after(HEARTBEAT_MS, () => {
      void this.report()
        .catch((error: unknown) =>
          log.warn({ problem: errorText(error) }, 'writing the node status failed, retrying'),
        )
        .finally(() => this.#beat());
    });
  }
}

function conditions(now: string, rootProblem: string | undefined): NodeCondition[] {
  const good = (type: string, reason: string, status: 'True' | 'False'): NodeCondition => ({
    ...{ type, reason, status },
    message: 'process runtime is posting ready status',
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  });
  return [
    good('MemoryPressure', 'ProcessRuntime', 'False'),
    good('DiskPressure', 'ProcessRuntime', 'False'),
    good('PIDPressure', 'ProcessRuntime', 'False'),
    good('Ready', 'ProcessRuntimeReady', 'True'),
    ...(rootProblem === undefined
      ? []
      : [
          {
            ...good(PODS_RUN_AS_ROOT, 'NoUsersOfTheirOwn', 'True'),
            message: `pods run as root and can read everything here: ${rootProblem}`,
          },
        ]),
  ];
}
