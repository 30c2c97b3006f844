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
    resourceSpec: { queue_min_scale: 1, queue_max_scale: 3 },
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

/** Pods for runs that are ready. */
async function queuePods(): Promise<number> {
  const { items } = await kube.list(PODS, { labelSelector: `${LABEL.component}=${COMPONENT.agentQueue}` });
  return items.filter(({ status }) => status?.containerStatuses?.every(({ ready }) => ready)).length;
}

/** Pods that take runs follow the runs: more while runs wait, fewer once they were too many for a minute. */
it('has more pods for runs while runs wait, loses no run, and has fewer pods again', async () => {
  const { url, headers } = agent.target;
  const client = new Client({ apiUrl: url, apiKey: null, defaultHeaders: headers });
  const submitted = await Promise.all(
    Array.from({ length: 40 }, async () => {
      const { thread_id } = await client.threads.create();
      return client.runs.create(thread_id, 'slow', { input: { waitMs: 4_000 } });
    }),
  );
  await waitFor(async () => (await queuePods()) === 3, { what: 'three pods for runs', timeoutMs: WITHIN_MS });
  for (const { thread_id, run_id } of submitted) await client.runs.join(thread_id, run_id);
  for (const { thread_id, run_id } of submitted) {
    expect((await client.runs.get(thread_id, run_id)).status).toBe('success');
    const { steps } = (await client.threads.getState<{ steps: string[] }>(thread_id)).values;
    expect(steps).toEqual(['first', 'second', 'third']);
  }
  await waitFor(async () => (await queuePods()) === 1, { what: 'one pod for runs', timeoutMs: WITHIN_MS });
});
