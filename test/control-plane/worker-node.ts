import { type Informer, Informers, KubeApiError, type KubeClient } from '#lib/kube';
import { type EnvironmentVariable, LABEL, type Pod, PODS, SECRETS } from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { waitFor } from '#lib/testing';
import { WorkerProcess } from '../../apps/export-worker/testdata/worker-process.js';
import { type ControlPlane, SYSTEM } from './control-plane.js';

const AGAIN_MS = 50;
const log = createLogger('worker-node', 'silent');

interface Carried {
  readonly pod: Pod;
  readonly worker: WorkerProcess;
  /** As a node reports it beside the exit code. */
  reason?: string;
}

/** A node for export workers alone: the pod of each attempt becomes a process, and ends as that process does. */
export class WorkerNode {
  readonly #plane: ControlPlane;
  readonly #env: Readonly<Record<string, string>>;
  /** By uid of the pod. */
  readonly #carried = new Map<string, Carried>();
  readonly #informers: Informers;
  readonly #pods: Informer<Pod>;
  #isStopped = false;
  #looks: Promise<void> = Promise.resolve();

  /** @param env what pods inherit of the machine */
  constructor(plane: ControlPlane, env: Readonly<Record<string, string>> = {}) {
    this.#plane = plane;
    this.#env = env;
    this.#informers = new Informers({ client: plane.client, log });
    this.#pods = this.#informers.of(PODS, { namespace: SYSTEM, labelSelector: LABEL.attempt });
    this.#pods.on(() => this.#lookAgain());
    this.#informers.start();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#informers.stop();
    await this.#looks;
    for (const { worker } of this.#carried.values()) {
      if (worker.isRunning) worker.kill('SIGKILL');
      await worker.ended;
    }
  }

  /**
   * Kills the worker of an export that is running, or waits for one.
   * @param reason what the node reports, for example OOMKilled
   */
  async kill(exportName: string, reason?: string): Promise<void> {
    const found = await waitFor(() => this.#running(exportName), { what: `a worker of ${exportName}` });
    if (reason !== undefined) found.reason = reason;
    found.worker.kill('SIGKILL');
    await found.worker.ended;
  }

  /** How many workers of an export have been started. */
  started(exportName: string): number {
    return [...this.#carried.values()].filter(({ pod }) => pod.metadata.labels?.[LABEL.export] === exportName)
      .length;
  }

  #running(exportName: string): Carried | undefined {
    return [...this.#carried.values()].find(
      ({ pod, worker }) => pod.metadata.labels?.[LABEL.export] === exportName && worker.isRunning,
    );
  }

  /** One look at a time, after each event. */
  #lookAgain(): void {
    this.#looks = this.#looks.then(() => this.#look());
  }

  async #look(): Promise<void> {
    if (this.#isStopped) return;
    const present = new Set<string>();
    for (const pod of this.#pods.list()) {
      const { uid = '', deletionTimestamp } = pod.metadata;
      if (deletionTimestamp !== undefined) continue;
      present.add(uid);
      if (!this.#carried.has(uid) && pod.status?.phase !== 'Failed' && pod.status?.phase !== 'Succeeded')
        // the API server may be busy, or have stopped
        await this.#start(this.#plane.client, pod).catch(() => {
          setTimeout(() => this.#lookAgain(), AGAIN_MS);
        });
    }
    for (const [uid, { worker }] of this.#carried)
      if (!present.has(uid) && worker.isRunning) worker.kill('SIGTERM');
  }

  async #start(client: KubeClient, pod: Pod): Promise<void> {
    const env = await environmentOf(client, pod);
    // deleted between the list and now
    if (!env) return;
    const carried: Carried = { pod, worker: new WorkerProcess({ ...this.#env, ...env }) };
    this.#carried.set(pod.metadata.uid ?? '', carried);
    void carried.worker.ended.then((ended) => this.#report(carried, ended));
  }

  async #report({ pod, reason }: Carried, ended: number | NodeJS.Signals): Promise<void> {
    const exitCode = ended === 'SIGKILL' ? 137 : ended === 'SIGTERM' ? 143 : Number(ended);
    const terminated = { exitCode, finishedAt: new Date().toISOString(), ...(reason ? { reason } : {}) };
    const phase = exitCode === 0 ? 'Succeeded' : 'Failed';
    while (!this.#isStopped)
      try {
        await this.#plane.reportPod(pod, { ready: false, state: { terminated } }, phase);
        return;
      } catch (error) {
        // the pod was deleted, as those of a deadline and of a cancelled run are
        if (error instanceof KubeApiError && error.code === 404) return;
        // as a kubelet, it says so once the API server is available again
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      }
  }
}

/** @returns undefined when a Secret that the pod needs is gone */
async function environmentOf(client: KubeClient, pod: Pod): Promise<Record<string, string> | undefined> {
  const found: Record<string, string> = {};
  for (const variable of pod.spec.containers[0]?.env ?? []) {
    const value = await valueOf(client, variable);
    if (value === 'gone') return undefined;
    if (value !== undefined) found[variable.name] = value.text;
  }
  return found;
}

async function valueOf(
  client: KubeClient,
  { value, valueFrom }: EnvironmentVariable,
): Promise<{ readonly text: string } | 'gone' | undefined> {
  if (value !== undefined) return { text: value };
  const ref = valueFrom?.secretKeyRef;
  if (!ref) return undefined;
  const secret = await client.find(SECRETS, { namespace: SYSTEM, name: ref.name });
  if (!secret) return 'gone';
  const encoded = secret.data?.[ref.key];
  return encoded === undefined ? undefined : { text: Buffer.from(encoded, 'base64').toString() };
}
