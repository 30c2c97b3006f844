import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { KubeClient, type KubeConnection, loadKubeConnection } from '#lib/kube';
import { createLogger } from '#lib/telemetry';
import { waitFor } from '#lib/testing';
import {
  ANNOTATION,
  type ContainerStatus,
  NAMESPACES,
  type Pod,
  type PodContainer,
  PODS,
  type PodSpec,
  SERVICE_ACCOUNTS,
} from '#lib/resources';
import { type NodeOptions, type RunningNode, startNode } from '../node/start-node.js';
import type { ProcessRecord } from '../strays/end-strays.js';
import { certificates } from './certificates.js';

const PROGRAM = join(import.meta.dirname, 'program.mjs');

/** A node over a folder, and pods for it: bound as they are made, without a scheduler. */
export class PodDesk {
  readonly folder: string;
  readonly image: string;
  readonly #kubeconfigPath: string;
  readonly #more: Partial<NodeOptions>;
  #client: KubeClient | undefined;
  #connection: KubeConnection | undefined;
  #node: RunningNode | undefined;
  #made = 0;

  constructor(kubeconfigPath: string, folder: string, more: Partial<NodeOptions> = {}) {
    this.#kubeconfigPath = kubeconfigPath;
    this.#more = more;
    this.folder = folder;
    this.image = join(folder, 'image');
  }

  get client(): KubeClient {
    if (!this.#client) throw new Error('start the desk first');
    return this.#client;
  }

  async open(...namespaces: readonly string[]): Promise<void> {
    mkdirSync(this.image, { recursive: true });
    this.#connection = await loadKubeConnection({ kubeconfigPath: this.#kubeconfigPath });
    this.#client = new KubeClient(this.#connection, { fieldManager: 'test' });
    for (const namespace of namespaces) {
      await this.client.create(NAMESPACES, { metadata: { name: namespace } });
      const account = { namespace, name: 'default' };
      if (!(await this.client.find(SERVICE_ACCOUNTS, account)))
        await this.client.create(SERVICE_ACCOUNTS, { metadata: account });
    }
    await this.startNode();
  }

  async startNode(): Promise<void> {
    if (!this.#connection) throw new Error('open the desk first');
    const images: NodeOptions['images'] = {
      resolve: async (reference, reader) =>
        reference === 'test/program'
          ? { folder: this.image, entryPoint: PROGRAM }
          : this.#more.images?.resolve(reference, reader),
    };
    this.#node = await startNode({
      connection: this.#connection,
      folder: join(this.folder, 'node'),
      serving: await certificates(),
      port: 0,
      version: '0.0.0',
      log: createLogger('test', process.env.TEST_LOG ?? 'silent'),
      stopGraceMs: 2_000,
      ...this.#more,
      images,
    });
  }

  get node(): RunningNode {
    if (!this.#node) throw new Error('start the node first');
    return this.#node;
  }

  async stopNode(): Promise<void> {
    await this.#node?.stop();
    this.#node = undefined;
  }

  async close(): Promise<void> {
    await this.stopNode();
    await this.#client?.close();
  }

  /** A pod of one container, `main`. */
  run(
    namespace: string,
    container: Partial<PodContainer> & object,
    spec: Partial<PodSpec> & object = {},
    labels: Readonly<Record<string, string>> = {},
  ): Promise<Pod> {
    const name = `pod-${++this.#made}`;
    return this.client.create(PODS, {
      metadata: { namespace, name, labels: { ...labels, app: name } },
      spec: {
        nodeName: this.#node?.nodeName ?? '',
        automountServiceAccountToken: false,
        restartPolicy: 'Never',
        ...spec,
        containers: [{ name: 'main', image: 'test/program', ...container }],
      },
    });
  }

  /** A pod that runs a line of shell; resolves when it has ended, with what it left as its termination message. */
  async shell(
    namespace: string,
    line: string,
    spec: Partial<PodSpec> & object = {},
    labels: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    const command = ['sh', '-c', `exec >"$TERMINATION_MESSAGE_PATH" 2>&1; ${line}`];
    const pod = await this.run(namespace, { command }, spec, labels);
    const over = await this.until(pod, 'to end', (now) => mainOf(now)?.state?.terminated !== undefined);
    await this.remove(pod);
    return mainOf(over)?.state?.terminated?.message?.trim() ?? '';
  }

  until(pod: Pod, what: string, test: (pod: Pod) => boolean | undefined): Promise<Pod> {
    const { name, namespace = '' } = pod.metadata;
    return waitFor(
      async () => {
        const now = await this.client.get(PODS, { namespace, name });
        if (test(now)) return now;
        throw new Error(JSON.stringify(now.status));
      },
      { what: `${name} ${what}` },
    );
  }

  async remove(
    { metadata: { name, namespace = '' } }: Pod,
    options: { readonly gracePeriodSeconds?: number } = {},
  ): Promise<void> {
    await this.client.delete(PODS, { namespace, name }, options);
    await waitFor(async () => !(await this.client.find(PODS, { namespace, name })), {
      what: `${name} to be deleted`,
    });
  }

  podFolder(pod: Pod): string {
    return join(this.folder, 'node', 'pods', pod.metadata.uid ?? '');
  }

  /** Of its container `main`. */
  processOf(pod: Pod): ProcessRecord {
    return JSON.parse(readFileSync(join(this.podFolder(pod), 'main.process.json'), 'utf8')) as ProcessRecord;
  }
}

export function isReady({ status }: Pod): boolean | undefined {
  return status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True');
}

/** The port of this machine that leads to port 8000 of the pod. */
export function portOf({ metadata }: Pod): number {
  const ports = metadata.annotations?.[ANNOTATION.loopbackPorts] ?? '{}';
  return (JSON.parse(ports) as Record<string, number>)['8000'] ?? 0;
}

export function mainOf(pod: Pod): ContainerStatus | undefined {
  return pod.status?.containerStatuses?.[0];
}
