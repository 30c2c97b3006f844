import { join } from 'node:path';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { COMPONENT, LABEL, PODS } from '#lib/resources';
import { waitFor } from '#lib/testing';
import { agentplane } from '../cli/agentplane.js';
import { ChangedDeployment } from '../support/changed-deployment.js';
import { newDataFolder, type Platform, removeDataFolder, startPlatform } from '../support/platform.js';
import { Rest } from '../support/rest.js';

const AGENT = join(import.meta.dirname, '..', 'control-plane', 'testdata', 'pacing-agent');
const WITHIN_MS = 240_000;
const dataFolder = newDataFolder();
let platform: Platform;
let kube: KubeClient;
let url: string;

beforeAll(async () => {
  platform = await startPlatform(dataFolder);
  const added = await agentplane(['image', 'add', 'pacing', AGENT, '--data', dataFolder]);
  if (added.code !== 0) throw new Error(`image add exited with ${added.code}: ${added.complaint}`);
  const deployment = await ChangedDeployment.create(new Rest(platform.credentials), 'pacing', {
    // a tenth of a core is used even where many others want the machine
    sourceConfig: { resource_spec: { min_scale: 1, max_scale: 2, cpu: 0.1, cpu_limit: 1 } },
  });
  url = await deployment.url();
  kube = new KubeClient(await loadKubeConnection({ kubeconfigPath: platform.credentials.kubeconfig }), {
    fieldManager: 'test',
  });
});

afterAll(async () => {
  await kube?.close();
  await platform?.stop();
  removeDataFolder(dataFolder);
});

/** Pods that answer HTTP and are ready. */
async function answeringPods(): Promise<number> {
  const labelSelector = `${LABEL.component}=${COMPONENT.agentApi},${LABEL.deployment}=pacing`;
  const { items } = await kube.list(PODS, { labelSelector });
  return items.filter(({ status }) => status?.containerStatuses?.every(({ ready }) => ready)).length;
}

async function ask(method: string, path: string, body?: unknown): Promise<unknown> {
  const answer = await fetch(url + path, {
    method,
    headers: { 'x-api-key': platform.credentials.apiKey, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

/** One run, which is far from all that a pod takes at a time. */
it('has more pods while one run computes, and fewer once it has ended', async () => {
  expect(await answeringPods()).toBe(1);
  const { thread_id: thread } = (await ask('POST', '/threads', {})) as { thread_id: string };
  const { run_id: run } = (await ask('POST', `/threads/${thread}/runs`, {
    assistant_id: 'computing',
    input: { waitMs: WITHIN_MS },
  })) as { run_id: string };
  await waitFor(async () => (await answeringPods()) === 2, { what: 'two pods', timeoutMs: WITHIN_MS });
  await ask('POST', `/threads/${thread}/runs/${run}/cancel?wait=true`).catch(() => undefined);
  await waitFor(async () => (await answeringPods()) === 1, { what: 'one pod', timeoutMs: WITHIN_MS });
});
