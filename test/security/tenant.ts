import { randomUUID } from 'node:crypto';
import { KEY_SCOPES, type KeyScope } from '#lib/auth';
import type { KubeClient } from '#lib/kube';
import { platformSecretName, RESOURCES, SECRETS } from '#lib/resources';
import { waitFor } from '#lib/testing';
import type { Credentials } from '../support/platform.js';
import { Rest } from '../support/rest.js';
import type { Workspace } from '../support/workspace.js';

/** Ids of what a tenant owns, by the names of the path parameters of the interface. */
export interface TenantIds {
  readonly api_key_id: string;
  /** Runs of the trace store: one is only read, the others are aims of writes. */
  readonly run_id: string;
  readonly posted_run_id: string;
  readonly patched_run_id: string;
  /** Of a run; the other one is only an aim of writes. */
  readonly feedback_id: string;
  readonly posted_feedback_id: string;
  readonly session_id: string;
  /** A project whose id others try to take. */
  readonly taken_session_id: string;
  readonly dataset_id: string;
  readonly experiment_id: string;
  readonly example_id: string;
  readonly deleted_example_id: string;
  readonly erased_example_id: string;
  readonly prompt_name: string;
  readonly prompt_commit_id: string;
  readonly price_id: string;
  readonly application_id: string;
  readonly deployment_id: string;
  readonly revision_id: string;
  readonly listener_id: string;
  readonly destination_id: string;
  readonly integration_id: string;
  readonly export_id: string;
  readonly export_run_id: string;
  readonly assistant_id: string;
  readonly thread_id: string;
  readonly thread_run_id: string;
  readonly checkpoint_id: string;
  readonly cron_id: string;
}

export type TenantKey = KeyScope | 'expired' | 'revoked';

/** A workspace with keys of every kind, a running agent, traces, a destination and an export. */
export interface Tenant {
  readonly name: string;
  readonly namespace: string;
  readonly tenantId: string;
  readonly keys: Readonly<Record<TenantKey, string>>;
  readonly ids: TenantIds;
  /** Name of the deployment and of its tracing project. */
  readonly project: string;
  readonly agentUrl: string;
  readonly rest: Rest;
  /** A secret of the deployment, known to its agent alone. */
  readonly secret: string;
}

type Body = Readonly<Record<string, unknown>>;

/** Fills a workspace until everything in it has settled. */
export async function fillTenant(
  draft: Workspace,
  credentials: Credentials,
  kube: KubeClient,
): Promise<Tenant> {
  const { name, namespace, tenantId, apiKey: workspaceKey } = draft;
  const rest = new Rest({ restUrl: credentials.restUrl, apiKey: workspaceKey, tenantId });
  const secret = `canary-${name}-${randomUUID()}`;
  const project = `${name} agent`;
  const deployment = await make(rest, '/v2/deployments', {
    name: project,
    source: 'internal_image',
    source_config: {},
    source_revision_config: { image_uri: 'sample-agent' },
    secrets: [{ name: 'CANARY', value: secret }],
  });
  const ids = { deployment_id: text(deployment, 'id'), revision_id: text(deployment, 'latest_revision_id') };
  const agentUrl = await agentAddress(rest, ids.deployment_id, ids.revision_id);
  const { keys, api_key_id } = await makeKeys(rest, kube, { namespace, project, workspaceKey });
  const agent = await useAgent(agentUrl, workspaceKey);
  const traces = await useTraces(rest, project, agent.thread_run_id);
  const exported = await exportTraces(rest, credentials, traces.session_id);
  const late = new Rest({ restUrl: credentials.restUrl, apiKey: keys.expired, tenantId });
  await waitFor(async () => (await late.get('/sessions')).status === 401, {
    what: 'the end of a key',
  });
  const integration = await make(rest, '/v1/integrations/git_host', {
    name: 'canary',
    host: 'example.org',
    token: secret,
  });
  const listeners = (await rest.get<{ resources: Body[] }>('/v2/listeners')).body.resources;
  return {
    name,
    namespace,
    tenantId,
    project,
    agentUrl,
    rest,
    keys,
    ids: {
      ...ids,
      ...agent,
      ...traces,
      ...exported,
      integration_id: text(integration, 'id'),
      api_key_id,
      listener_id: text(listeners[0] ?? {}, 'id'),
    },
    secret,
  };
}

function text(object: Body, field: string): string {
  const found = object[field];
  if (typeof found !== 'string') throw new Error(`no ${field} in ${JSON.stringify(object).slice(0, 500)}`);
  return found;
}

async function make(rest: Rest, path: string, body?: unknown): Promise<Body> {
  const answer = await rest.post<Body>(path, body);
  if (answer.status >= 300) throw new Error(`POST ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

async function agentAddress(rest: Rest, deploymentId: string, revisionId: string): Promise<string> {
  const path = `/v2/deployments/${deploymentId}`;
  return waitFor(
    async () => {
      const { body } = await rest.get<{ readonly status: string }>(`${path}/revisions/${revisionId}`);
      if (body.status !== 'DEPLOYED') return undefined;
      return (await rest.get<{ readonly url?: string | null }>(path)).body.url ?? undefined;
    },
    { what: 'a running agent' },
  );
}

interface Owner {
  readonly namespace: string;
  readonly project: string;
  readonly workspaceKey: string;
}

async function makeKeys(rest: Rest, kube: KubeClient, owner: Owner) {
  const keys: Record<string, string> = { workspace: owner.workspaceKey };
  const mint = (body: Body) => make(rest, '/api/v1/api-key', body);
  for (const scope of KEY_SCOPES)
    if (scope !== 'workspace' && scope !== 'deployment') keys[scope] = text(await mint({ scope }), 'key');
  const soon = new Date(Date.now() + 3_000).toISOString();
  keys['expired'] = text(await mint({ description: 'expired', expires_at: soon }), 'key');
  const revoked = await mint({ description: 'revoked' });
  keys['revoked'] = text(revoked, 'key');
  await rest.call('DELETE', `/api/v1/api-key/${text(revoked, 'id')}`);
  const kept = await mint({ description: 'kept' });
  const { items } = await kube.list(RESOURCES.AgentDeployment, { namespace: owner.namespace });
  const { metadata } = items.find(({ spec }) => spec.name === owner.project) ?? {};
  const { namespace } = owner;
  const secretOf = async (name: string) => {
    const { data } = await kube.get(SECRETS, { namespace, name });
    return (field: string) => Buffer.from(data?.[field] ?? '', 'base64').toString();
  };
  const platform = await secretOf(platformSecretName(metadata?.name ?? ''));
  keys['deployment'] = platform('LANGSMITH_API_KEY');
  return { keys: keys as Record<TenantKey, string>, api_key_id: text(kept, 'id') };
}

/** A thread with a finished run, an item of the store, and a cron. */
async function useAgent(agentUrl: string, key: string) {
  const call = async (method: string, path: string, body?: unknown): Promise<Body> => {
    const answer = await fetch(agentUrl + path, {
      method,
      headers: { 'x-api-key': key, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.status === 204 ? {} : ((await answer.json()) as Body);
  };
  // those that the server made for its graphs have the same ids everywhere
  const assistant = await call('POST', '/assistants', { graph_id: 'agent', name: 'of the tenant' });
  const { thread_id } = await call('POST', '/threads', { metadata: { owner: 'tenant' } });
  const input = { messages: [{ role: 'user', content: 'what is 1 + 2?' }] };
  const run = await call('POST', `/threads/${String(thread_id)}/runs`, { assistant_id: 'agent', input });
  await call('GET', `/threads/${String(thread_id)}/runs/${text(run, 'run_id')}/join`);
  const state = await call('GET', `/threads/${String(thread_id)}/state`);
  await call('PUT', '/store/items', { namespace: ['kept'], key: 'item', value: { of: thread_id } });
  const yearly = { assistant_id: 'agent', schedule: '@yearly', input };
  const cron = await call('POST', '/runs/crons', yearly);
  return {
    cron_id: text(cron, 'cron_id'),
    thread_id: String(thread_id),
    thread_run_id: text(run, 'run_id'),
    assistant_id: text(assistant, 'assistant_id'),
    checkpoint_id: text(state['checkpoint'] as Body, 'checkpoint_id'),
  };
}

/** Runs written through REST into the agent's project, once the agent's own has arrived. */
async function useTraces(rest: Rest, project: string, agentRunId: string) {
  const ids = { run_id: randomUUID(), posted_run_id: randomUUID(), patched_run_id: randomUUID() };
  const run = {
    name: 'by hand',
    run_type: 'chain',
    session_name: project,
    start_time: new Date(Date.now() - 60_000).toISOString(),
    end_time: new Date(Date.now() - 59_000).toISOString(),
    inputs: { secret: 'of the tenant' },
    extra: { metadata: { thread_id: ids.run_id } },
  };
  await make(rest, '/runs/batch', { post: Object.values(ids).map((id) => ({ id, ...run })) });
  await waitFor(
    async () => {
      const { status, body } = await rest.get<Body>(`/runs/${agentRunId}`);
      return status === 200 && body['end_time'] !== null;
    },
    { what: 'the trace of the agent' },
  );
  const feedback = { feedback_id: randomUUID(), posted_feedback_id: randomUUID() };
  for (const id of Object.values(feedback))
    await make(rest, '/feedback', { id, run_id: ids.patched_run_id, key: 'of the tenant', score: 1 });
  const { body } = await rest.get<Body[]>(`/sessions?name=${encodeURIComponent(project)}`);
  const taken = await make(rest, '/sessions', { name: `${project} of old` });
  const dataset = await makeDataset(rest, `${project} examples`);
  await make(rest, '/feedback-configs', {
    feedback_key: `kept ${ids.run_id}`,
    feedback_config: { type: 'freeform' },
  });
  const prompt = await makePrompt(rest);
  const price = await make(rest, '/model-price-map', priceOf(`${project} model`));
  const session_id = text(body[0] ?? {}, 'id');
  const application = await make(rest, '/model-price-map/apply', { session_id });
  return {
    ...ids,
    ...feedback,
    ...dataset,
    ...prompt,
    taken_session_id: text(taken, 'id'),
    price_id: text(price, 'id'),
    application_id: text(application, 'id'),
    session_id,
  };
}

async function makePrompt(rest: Rest) {
  const prompt_name = randomUUID();
  await make(rest, '/repos', { repo_handle: prompt_name });
  const { commit } = await make(rest, `/commits/-/${prompt_name}`, { manifest: { secret: 'of the tenant' } });
  const prompt_commit_id = text(commit as Body, 'id');
  await make(rest, `/repos/-/${prompt_name}/tags`, { tag_name: 'prod', commit_id: prompt_commit_id });
  return { prompt_name, prompt_commit_id };
}

/** Body of a price. */
export function priceOf(name: string): Body {
  return { name, match_pattern: '^none$', prompt_cost: 0.001, completion_cost: '0.002' };
}

async function makeDataset(rest: Rest, name: string) {
  const dataset_id = text(await make(rest, '/datasets', { name }), 'id');
  const ids = {
    example_id: randomUUID(),
    deleted_example_id: randomUUID(),
    erased_example_id: randomUUID(),
  };
  const form = new FormData();
  for (const id of Object.values(ids)) form.append(`${id}.inputs`, new Blob(['{"secret": "of the tenant"}']));
  await make(rest, `/v1/platform/datasets/${dataset_id}/examples`, form);
  const experiment = await make(rest, '/sessions', {
    name: `${name} tried`,
    reference_dataset_id: dataset_id,
  });
  return { dataset_id, experiment_id: text(experiment, 'id'), ...ids };
}

async function exportTraces(rest: Rest, { objectStore }: Credentials, sessionId: string) {
  const destination = await make(rest, '/api/v1/bulk-exports/destinations', {
    destination_type: 'object_store',
    display_name: 'bucket',
    config: {
      bucket_name: objectStore.bucket,
      prefix: `security/${randomUUID()}`,
      region: objectStore.region,
      endpoint_url: objectStore.endpoint,
    },
    credentials: {
      access_key_id: objectStore.accessKeyId,
      secret_access_key: objectStore.secretAccessKey,
    },
  });
  const made = await make(rest, '/api/v1/bulk-exports', {
    bulk_export_destination_id: text(destination, 'id'),
    session_id: sessionId,
    start_time: new Date(Date.now() - 3_600_000).toISOString(),
    end_time: new Date(Date.now() - 30_000).toISOString(),
  });
  const path = `/api/v1/bulk-exports/${text(made, 'id')}`;
  await waitFor(
    async () => {
      const { status } = (await rest.get<{ readonly status: string }>(path)).body;
      if (/FAIL|CANCEL/i.test(status)) throw new Error(`the export is ${status}`);
      return /^completed$/i.test(status);
    },
    { what: 'the export' },
  );
  const runs = (await rest.get<Body[]>(`${path}/runs`)).body;
  return {
    destination_id: text(destination, 'id'),
    export_id: text(made, 'id'),
    export_run_id: text(runs[0] ?? {}, 'id'),
  };
}
