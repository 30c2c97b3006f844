import { randomUUID } from 'node:crypto';
import { Client } from '@langchain/langgraph-sdk';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { platformSecretName, RESOURCES, SECRETS } from '#lib/resources';
import { waitFor } from '#lib/testing';
import { Rest } from '../support/rest.js';
import { sharedPlatform } from '../support/shared-platform.js';

interface Deployment {
  readonly id: string;
  readonly latest_revision_id: string;
  readonly url?: string | null;
}

interface Project {
  readonly id: string;
}

/** What an attacker can do who read the environment of an agent. */
describe("a deployment's own key", () => {
  const platform = sharedPlatform();
  let rest: Rest;
  let stolen: Rest;
  /** Addresses of the agents, by name. */
  const agents = new Map<string, string>();

  beforeAll(async () => {
    rest = new Rest(platform.credentials);
    // the wire's name is not the object's name
    for (const name of ['First Agent', 'second']) agents.set(name, await deploy(name));
    stolen = new Rest({ ...platform.credentials, apiKey: await ownKey('First Agent') });
  });

  async function deploy(name: string): Promise<string> {
    const { body } = await rest.post<Deployment>('/v2/deployments', {
      name,
      source: 'internal_image',
      source_config: {},
      source_revision_config: { image_uri: 'sample-agent' },
      secrets: [],
    });
    return waitFor(
      async () => {
        const path = `/v2/deployments/${body.id}`;
        const revision = `${path}/revisions/${body.latest_revision_id}`;
        const { status } = (await rest.get<{ readonly status: string }>(revision)).body;
        return status === 'DEPLOYED' && ((await rest.get<Deployment>(path)).body.url ?? undefined);
      },
      { what: `the agent ${name}` },
    );
  }

  async function ownKey(name: string): Promise<string> {
    const client = new KubeClient(
      await loadKubeConnection({ kubeconfigPath: platform.credentials.kubeconfig }),
    );
    try {
      const { items } = await client.list(RESOURCES.AgentDeployment);
      const { metadata } = items.find(({ spec }) => spec.name === name) ?? {};
      const secret = await client.find(SECRETS, {
        namespace: metadata?.namespace ?? '',
        name: platformSecretName(metadata?.name ?? ''),
      });
      return Buffer.from(secret?.data?.['LANGSMITH_API_KEY'] ?? '', 'base64').toString();
    } finally {
      await client.close();
    }
  }

  async function projectOf(name: string): Promise<string> {
    const { body } = await rest.get<Project[]>(`/sessions?name=${encodeURIComponent(name)}`);
    return body[0]?.id ?? '';
  }

  async function makeThread(agent: string, key: string): Promise<number> {
    const answer = await fetch(`${agents.get(agent)}/threads`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: '{}',
    });
    await answer.body?.cancel();
    return answer.status;
  }

  it('sends the traces of its agent', async () => {
    const { apiKey } = platform.credentials;
    const client = new Client({ apiUrl: agents.get('First Agent'), apiKey });
    const { thread_id } = await client.threads.create();
    const run = await client.runs.create(thread_id, 'agent', {
      input: { messages: [{ role: 'user', content: 'hello' }] },
    });
    await client.runs.join(thread_id, run.run_id);
    const found = await waitFor(
      async () => {
        const { status, body } = await stolen.get<{ session_id: string }>(`/runs/${run.run_id}`);
        return status === 200 && body;
      },
      { what: 'the trace' },
    );
    expect(found.session_id).toBe(await projectOf('First Agent'));
  });

  it('brings nothing back of a person who was erased, with uploads under way', async () => {
    const { apiKey } = platform.credentials;
    const url = agents.get('First Agent') ?? '';
    const client = new Client({ apiUrl: url, apiKey });
    const say = async (metadata: Record<string, string>) => {
      const { thread_id } = await client.threads.create({ metadata });
      const input = { messages: [{ role: 'user', content: 'hello' }] };
      const { run_id } = await client.runs.create(thread_id, 'agent', { input });
      await client.runs.join(thread_id, run_id);
      return run_id;
    };
    const isTraced = async (runId: string) => (await stolen.get(`/runs/${runId}`)).status === 200;
    const old = await say({ person: 'alice' });
    await waitFor(() => isTraced(old), { what: 'the old trace' });
    const fresh = await say({ person: 'alice' });
    const answer = await fetch(`${url}/threads/erase`, {
      method: 'POST',
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
      body: JSON.stringify({ metadata: { person: 'alice' } }),
    });
    expect(await answer.json()).toMatchObject({ threads: 2, traces: 'with_their_runs', is_complete: true });
    await waitFor(async () => !(await isTraced(old)), {
      what: 'the old trace to be deleted',
    });
    // its upload comes after that of the erased one
    const later = await say({ person: 'bob' });
    await waitFor(() => isTraced(later), { what: 'the later trace' });
    expect([await isTraced(old), await isTraced(fresh)]).toEqual([false, false]);
  });

  it('deletes traces of its own project by name, and none of another', async () => {
    const run = { name: 'n', run_type: 'chain', start_time: '2026-11-20T10:00:00Z' };
    const [own, foreign] = [randomUUID(), randomUUID()];
    await rest.post('/runs', { ...run, id: own, session_name: 'First Agent' });
    await rest.post('/runs', { ...run, id: foreign, session_name: 'second' });
    const session_id = await projectOf('second');
    expect((await stolen.post('/runs/delete', { session_id, trace_ids: [foreign] })).status).toBe(404);
    const { body } = await stolen.post('/runs/delete', { trace_ids: [own, foreign] });
    expect(body).toEqual({ deleted_runs: 1 });
    expect((await rest.get(`/runs/${own}`)).status).toBe(404);
    expect((await rest.get(`/runs/${foreign}`)).status).toBe(200);
  });

  it('calls its own agent, and no other', async () => {
    const { apiKey } = stolen.credentials;
    expect(await makeThread('First Agent', apiKey)).toBe(200);
    expect(await makeThread('second', apiKey)).toBe(403);
  });

  it('neither lists nor deletes projects', async () => {
    const id = await projectOf('second');
    for (const [method, path] of [
      ['GET', '/sessions'],
      ['GET', `/sessions/${id}`],
      ['DELETE', `/sessions/${id}`],
      ['GET', '/v2/deployments'],
      ['GET', '/api/v1/api-key'],
    ] as const)
      expect([method, path, (await stolen.call(method, path)).status]).toEqual([method, path, 403]);
    expect(await projectOf('second')).toBe(id);
  });

  it('neither writes into another project nor reads from it', async () => {
    const run = { id: randomUUID(), name: 'n', run_type: 'chain', session_name: 'second' };
    expect((await stolen.post('/runs', run)).status).toBe(403);
    expect((await rest.post('/runs', run)).status).toBe(202);
    expect((await stolen.get(`/runs/${run.id}`)).status).toBe(404);
    const fake = { ...run, id: randomUUID(), session_name: 'second-fake' };
    expect((await stolen.post('/runs', fake)).status).toBe(403);
    expect(await projectOf('second-fake')).toBe('');
  });

  it('opens no agent with a key that reads or ingests, and every agent with one that invokes', async () => {
    const made = async (scope: string) =>
      (await rest.post<{ readonly key: string }>('/api/v1/api-key', { scope })).body.key;
    expect(await makeThread('second', await made('read'))).toBe(403);
    expect(await makeThread('second', await made('ingest'))).toBe(403);
    const invoke = await made('invoke');
    expect([await makeThread('second', invoke), await makeThread('First Agent', invoke)]).toEqual([200, 200]);
    const asInvoker = new Rest({ ...platform.credentials, apiKey: invoke });
    expect((await asInvoker.get('/sessions')).status).toBe(403);
  });
});
