import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeClient } from '#lib/kube';
import { NODES } from '#lib/resources';

/**
 * Nodes and pods become ready at once, and pods are removed as soon as they are deleted. Jobs do not end: `workExports` plays
 * their workers. No pod has an address, so nothing is dialled that nobody serves.
 */
const STAGES = `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: { name: node-ready }
spec:
  resourceRef: { apiGroup: v1, kind: Node }
  selector:
    matchExpressions:
      - { key: '.status.conditions.[] | select( .type == "Ready" ) | .status', operator: NotIn, values: ["True"] }
  next:
    statusTemplate: |
      conditions:
      {{ range NodeConditions }}
      - lastHeartbeatTime: {{ Now | Quote }}
        lastTransitionTime: {{ Now | Quote }}
        message: {{ .message | Quote }}
        reason: {{ .reason | Quote }}
        status: {{ .status | Quote }}
        type: {{ .type  | Quote}}
      {{ end }}
      addresses:
      - { address: 127.0.0.1, type: InternalIP }
      phase: Running
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: { name: pod-ready }
spec:
  resourceRef: { apiGroup: v1, kind: Pod }
  selector:
    matchExpressions:
      - { key: .metadata.deletionTimestamp, operator: DoesNotExist }
      - { key: .status.phase, operator: In, values: [Pending] }
  next:
    statusTemplate: |
      {{ $now := Now }}
      conditions:
      - { lastTransitionTime: {{ $now | Quote }}, status: "True", type: Initialized }
      - { lastTransitionTime: {{ $now | Quote }}, status: "True", type: ContainersReady }
      - { lastTransitionTime: {{ $now | Quote }}, status: "True", type: Ready }
      containerStatuses:
      {{ range .spec.containers }}
      - image: {{ .image | Quote }}
        name: {{ .name | Quote }}
        ready: true
        restartCount: 0
        state: { running: { startedAt: {{ $now | Quote }} } }
      {{ end }}
      phase: Running
      startTime: {{ $now | Quote }}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: { name: pod-delete }
spec:
  resourceRef: { apiGroup: v1, kind: Pod }
  selector:
    matchExpressions:
      - { key: .metadata.deletionTimestamp, operator: Exists }
  next: { delete: true }
`;

/** kwok as `bash test/cluster/install.sh --kwok` builds it, or undefined. */
export function findKwok(installation: string): string | undefined {
  const built = join(installation, 'bin', 'kwok');
  return existsSync(built) ? built : undefined;
}

/** Nodes without machines: kwok writes what a kubelet would. */
export class Kwok {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;

  /**
   * @param folder for its configuration and its log
   * @param more of its configuration, and flags
   */
  constructor(
    binary: string,
    kubeconfig: string,
    folder: string,
    more: { readonly config?: string; readonly flags?: readonly string[] } = {},
  ) {
    const config = join(folder, 'kwok.yaml');
    writeFileSync(config, `${STAGES}${more.config ?? ''}`);
    const log = openSync(join(folder, 'kwok.log'), 'a');
    this.#child = spawn(
      binary,
      [
        `--kubeconfig=${kubeconfig}`,
        `--config=${config}`,
        '--manage-all-nodes=true',
        '--node-ip=127.0.0.1',
        '--node-lease-duration-seconds=40',
        ...(more.flags ?? []),
      ],
      { stdio: ['ignore', log, log] },
    );
    this.#ended = once(this.#child, 'exit');
  }

  /** One node that has room for everything. */
  async addNode(client: KubeClient, name: string): Promise<void> {
    const room = { cpu: '100k', memory: '100Ti', pods: '100k', 'ephemeral-storage': '100Ti' };
    await client.create(NODES, {
      metadata: { name, labels: { type: 'kwok', 'kubernetes.io/hostname': name } },
      status: { allocatable: room, capacity: room },
    });
  }

  /** At once: it keeps nothing, and a stop that waits for its requests would wait for an API server that is lost. */
  async stop(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }
}
