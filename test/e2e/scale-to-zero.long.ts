import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@langchain/langgraph-sdk';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { COMPONENT, LABEL, PODS } from '#lib/resources';
import { waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { findKubectl, Kubectl, leaveOut } from '../support/kubectl.js';
import { newDataFolder, type Platform, removeDataFolder, startPlatform } from '../support/platform.js';
import { Rest } from '../support/rest.js';

interface Deployment {
  readonly id: string;
  readonly status: string;
  readonly status_reason: string | null;
  readonly status_message: string | null;
  readonly latest_revision_id: string;
  readonly url: string;
}

interface Revision {
  readonly status: string;
  readonly status_reason: string | null;
}

describe('a deployment with a min_scale of 0 on one machine', () => {
  const dataFolder = newDataFolder();
  const binary = findKubectl();
  let platform: Platform;
  let rest: Rest;
  let kubectl: Kubectl | undefined;
  let kubernetes: KubeClient;

  beforeAll(async () => {
    platform = await startPlatform(dataFolder);
    rest = new Rest(platform.credentials);
    const connection = await loadKubeConnection({ kubeconfigPath: platform.credentials.kubeconfig });
    kubernetes = new KubeClient(connection, { fieldManager: 'test' });
    if (binary) kubectl = new Kubectl(binary, platform.credentials.kubeconfig);
    else leaveOut('kubectl');
  });

  afterAll(async () => {
    await kubernetes.close();
    await platform.stop();
    removeDataFolder(dataFolder);
  });

  async function create(name: string, more: object = {}): Promise<string> {
    const { status, body } = await rest.post<Deployment>('/v2/deployments', {
      name,
      source: 'internal_image',
      source_config: { resource_spec: { min_scale: 0 } },
      source_revision_config: { image_uri: 'sample-agent' },
      idle_seconds: 3,
      ...more,
    });
    expect(status).toBe(201);
    return body.id;
  }

  async function get(id: string): Promise<Deployment> {
    return (await rest.get<Deployment>(`/v2/deployments/${id}`)).body;
  }

  /** The deployment once its reason is one of these. */
  async function until(id: string, ...reasons: string[]): Promise<Deployment> {
    return waitFor(
      async () => {
        const found = await get(id);
        if (reasons.includes(found.status_reason ?? '')) return found;
        throw new Error(`${found.status} ${found.status_reason}: ${found.status_message}`);
      },
      { what: `${reasons.join(' or ')} of ${id}` },
    );
  }

  const clientOf = ({ url }: Deployment): Client =>
    new Client({
      apiUrl: url,
      apiKey: platform.credentials.apiKey,
      callerOptions: { maxRetries: 0 },
    });

  const podsOf = async (name: string): Promise<string[]> => {
    const { items } = await kubernetes.list(PODS, { labelSelector: `${LABEL.deployment}=${name}` });
    return items.map(({ metadata }) => metadata.name);
  };

  /** Number of the listener's process, in the files of its pod. */
  async function listenerProcess(): Promise<number> {
    const labelSelector = `${LABEL.component}=${COMPONENT.listener}`;
    const { items } = await kubernetes.list(PODS, { labelSelector });
    const folder = join(dataFolder, 'node', 'pods', items[0]?.metadata.uid ?? '');
    const [file = ''] = readdirSync(folder).filter((name) => name.endsWith('.process.json'));
    return (JSON.parse(readFileSync(join(folder, file), 'utf8')) as { readonly pid: number }).pid;
  }

  it('proves itself, falls asleep, wakes for a request that waits, and says all of it alike', async () => {
    const id = await create('napper');
    const asleep = await until(id, 'Asleep');
    expect(asleep.status).toBe('READY');
    expect(asleep.status_message).toMatch(/^asleep since .*; the next request starts it$/);
    const revision = `/v2/deployments/${id}/revisions/${asleep.latest_revision_id}`;
    expect((await rest.get<Revision>(revision)).body).toMatchObject({
      status: 'DEPLOYED',
      status_reason: 'Asleep',
    });
    await waitFor(async () => (await podsOf('napper')).length === 0);
    if (kubectl) {
      const shown = await kubectl.run(['get', 'adep', 'napper']);
      expect(shown).toContain('Asleep');
      expect(await kubectl.run(['get', 'adep', 'napper', '-o', 'yaml'])).not.toContain('FieldsIgnored');
    }
    const probe = await fetch(`${asleep.url}/ok`);
    expect(await probe.json()).toEqual({ ok: true, asleep: true });
    expect((await get(id)).status_reason).toBe('Asleep');

    const client = clientOf(asleep);
    await client.threads.create();
    expect((await until(id, 'Ready')).status_message).toBe('the newest revision serves');
    // events are written a quarter of a second late, and a wake may take less
    await waitFor(async () => {
      const { body: events } = await rest.get<unknown>(`/v2/deployments/${id}/events`);
      return ['FellAsleep', 'Woken'].every((reason) => JSON.stringify(events).includes(reason));
    });
  });

  /** When a cron is due that the deployment is asleep for; sooner where the machine is fast. */
  async function sleepUntilCron(id: string, client: Client): Promise<number> {
    for (const leadMs of [28_000, 60_000, 150_000]) {
      const at = new Date(Math.ceil((Date.now() + leadMs) / 1_000) * 1_000);
      // of this day alone
      const schedule = `${at.getUTCSeconds()} ${at.getUTCMinutes()} ${at.getUTCHours()} ${at.getUTCDate()} * *`;
      await client.crons.create('agent', { schedule, input: { messages: [] }, onRunCompleted: 'keep' });
      const sleeps = await waitFor(
        async () => {
          const isAsleep = /or what is due at 20.*Z$/.test((await get(id)).status_message ?? '');
          if (isAsleep && (await podsOf('clockwork')).length === 0) return 'in time';
          return Date.now() > at.getTime() - 3_000 && 'too late';
        },
        { what: 'its sleep' },
      );
      if (sleeps === 'in time') return at.getTime();
      await until(id, 'Ready');
      for (const { cron_id: cron } of await client.crons.search()) await client.crons.delete(cron);
      for (const { thread_id: thread } of await client.threads.search()) await client.threads.delete(thread);
    }
    throw new Error('the deployment does not fall asleep within two minutes');
  }

  it('wakes for a cron, which fires once', async () => {
    const id = await create('clockwork');
    await until(id, 'Asleep');
    const client = clientOf(await get(id));
    const dueMs = await sleepUntilCron(id, client);
    await until(id, 'Waking', 'Ready');
    await waitFor(() => Date.now() > dueMs + 1_500);
    // a request is held until its pod is ready
    const threads = await waitFor(async () => {
      const found = await client.threads.search();
      return found.length > 0 && found;
    });
    expect(threads).toHaveLength(1);
    const [run, ...others] = await client.runs.list(threads[0]?.thread_id ?? '');
    expect(others).toEqual([]);
    expect(Date.parse(run?.created_at ?? '')).toBeGreaterThanOrEqual(dueMs);
    await until(id, 'Asleep');
    expect((await client.threads.search()).length).toBe(1);
  });

  it('answers the request that wakes it, at whichever moment the listener is killed', async () => {
    const id = await create('stubborn');
    for (const afterMs of [0, 20, 50, 100, 200, 350]) {
      const asleep = await until(id, 'Asleep');
      const answer = clientOf(asleep).threads.search();
      await systemClock.sleep(afterMs);
      process.kill(await listenerProcess(), 'SIGKILL');
      expect(await answer).toEqual([]);
      await until(id, 'Ready');
    }
  });

  it('sleeps through a killed platform, and wakes for the first request to the next', async () => {
    const id = await create('sleeper');
    await until(id, 'Asleep');
    const { url } = await get(id);
    await platform.kill();
    platform = await startPlatform(dataFolder);
    rest = new Rest(platform.credentials);
    expect((await get(id)).status_reason).toBe('Asleep');
    expect(await podsOf('sleeper')).toEqual([]);
    const answer = await fetch(`${url}/threads/search`, {
      method: 'POST',
      headers: { 'x-api-key': platform.credentials.apiKey, 'content-type': 'application/json' },
      body: '{}',
    });
    expect([answer.status, await answer.json()]).toEqual([200, []]);
  });
});
