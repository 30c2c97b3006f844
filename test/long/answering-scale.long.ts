import { Client } from '@langchain/langgraph-sdk';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { COMPONENT, LABEL, PODS } from '#lib/resources';
import { waitFor } from '#lib/testing';
import { deployAgent, type DeployedAgent } from '../conformance/agent-server/deployed.js';
import { newDataFolder, removeDataFolder } from '../support/platform.js';

const dataFolder = newDataFolder();
const WITHIN_MS = 180_000;
let agent: DeployedAgent;
let kube: KubeClient;

beforeAll(async () => {
  agent = await deployAgent(dataFolder, [], {
    resourceSpec: { min_scale: 1, max_scale: 3, cpu: 1 },
    secrets: [{ name: 'N_JOBS_PER_WORKER', value: '4' }],
  });
  kube = new KubeClient(await loadKubeConnection({ kubeconfigPath: agent.kubeconfig }), {
    fieldManager: 'test',
  });
});

afterAll(async () => {
  await kube?.close();
  await agent?.stop();
  removeDataFolder(dataFolder);
});

/** Pods that answer HTTP and are ready. */
async function answeringPods(): Promise<number> {
  const labelSelector = `${LABEL.component}=${COMPONENT.agentApi},${LABEL.deployment}=conformance`;
  const { items } = await kube.list(PODS, { labelSelector });
  return items.filter(({ status }) => status?.containerStatuses?.every(({ ready }) => ready)).length;
}

/** Without a queue the pods that answer HTTP take the runs: more while runs wait, fewer once they were too many for a minute. */
it('has more pods while runs wait, loses no run, and has fewer pods again', async () => {
  const { url, headers } = agent.target;
  const client = new Client({ apiUrl: url, apiKey: null, defaultHeaders: headers });
  const submitted = await Promise.all(
    Array.from({ length: 40 }, async () => {
      const { thread_id } = await client.threads.create();
      return client.runs.create(thread_id, 'slow', { input: { waitMs: 4_000 } });
    }),
  );
  await waitFor(async () => (await answeringPods()) === 3, { what: 'three pods', timeoutMs: WITHIN_MS });
  for (const { thread_id, run_id } of submitted) await client.runs.join(thread_id, run_id);
  for (const { thread_id, run_id } of submitted) {
    expect((await client.runs.get(thread_id, run_id)).status).toBe('success');
    const { steps } = (await client.threads.getState<{ steps: string[] }>(thread_id)).values;
    expect(steps).toEqual(['first', 'second', 'third']);
  }
  await waitFor(async () => (await answeringPods()) === 1, { what: 'one pod', timeoutMs: WITHIN_MS });
});
