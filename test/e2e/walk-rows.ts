import { Client } from '@langchain/langgraph-sdk';
import { Client as TraceClient } from 'langsmith';
import { waitFor } from '#lib/testing';
import { download, duckdb, listKeys, storeClient } from '../support/export-reader.js';
import type { Kubectl } from '../support/kubectl.js';
import type { Credentials } from '../support/platform.js';
import type { Rest } from '../support/rest.js';

export interface Deployment {
  id: string;
  name: string;
  status: string;
  latest_revision_id: string | null;
  active_revision_id: string | null;
  source_config: { custom_url?: string | null };
  secrets: { name: string; value: string }[];
  url?: string | null;
}
interface Revision {
  id: string;
  status: string;
  status_message?: string | null;
}
interface BulkExport {
  id: string;
  status: string;
}

/** A platform to walk through, wherever it runs. */
export interface WalkTarget {
  readonly rest: Rest;
  readonly kubectl: Kubectl;
  /** Where the sample agent comes from. */
  readonly agent: {
    readonly source: string;
    readonly source_revision_config: { readonly image_uri: string };
  };
  readonly objectStore: Credentials['objectStore'];
  /** The address of an agent as this process reaches it. */
  reach(url: string): string;
  /** Waits where a Service leads to pods a moment after they are ready: every node must hear of it first. */
  awaitService?(url: string): Promise<void>;
  queryTraceStore(sql: string, values: readonly unknown[]): Promise<Record<string, unknown>[]>;
}

export async function deployed(rest: Rest, deploymentId: string, revisionId: string): Promise<void> {
  await waitFor(
    async () => {
      const { body } = await rest.get<Revision>(`/v2/deployments/${deploymentId}/revisions/${revisionId}`);
      if (body.status.endsWith('FAILED')) throw new Error(`${body.status}: ${body.status_message}`);
      return body.status === 'DEPLOYED';
    },
    { what: `revision ${revisionId} to be DEPLOYED` },
  );
}

/** As the platform says it. */
export async function urlOf(rest: Rest, deploymentId: string): Promise<string> {
  return waitFor(
    async () => {
      const { body } = await rest.get<Deployment>(`/v2/deployments/${deploymentId}`);
      return body.url ?? body.source_config.custom_url ?? undefined;
    },
    { what: 'the address of the deployment' },
  );
}

export function agentAt({ rest, reach }: Pick<WalkTarget, 'rest' | 'reach'>, url: string): Client {
  return new Client({
    apiUrl: reach(url),
    apiKey: rest.credentials.apiKey,
    callerOptions: { maxRetries: 0 },
  });
}

/**
 * The README's walk through REST, as tests of the describe block that calls this: the same on one machine and on a cluster.
 * Answers the deployment that was made.
 */
export function walkRows(target: () => WalkTarget): () => Deployment {
  let deployment: Deployment;
  let url: string;
  let projectId: string;
  const runIds: string[] = [];

  it('creates a deployment and names its revision at once', async () => {
    const answer = await target().rest.post<Deployment>('/v2/deployments', {
      name: 'weather',
      ...target().agent,
      source_config: {},
      secrets: [{ name: 'GREETING', value: 'good day' }],
    });
    expect(answer.status).toBe(201);
    deployment = answer.body;
    expect(deployment.latest_revision_id).toMatch(/^[0-9a-f-]{36}$/);
    expect(deployment.secrets).toEqual([{ name: 'GREETING', value: '' }]);
    await deployed(target().rest, deployment.id, deployment.latest_revision_id ?? '');
    const { body } = await target().rest.get<Deployment>(`/v2/deployments/${deployment.id}`);
    expect(body.active_revision_id).toBe(deployment.latest_revision_id);
    expect(body.status).toBe('READY');
    url = await urlOf(target().rest, deployment.id);
    await target().awaitService?.(url);
  });

  it('has a tracing project of its name', async () => {
    const { body } = await target().rest.get<{ id: string; name: string }[]>('/sessions?name=weather');
    expect(body).toHaveLength(1);
    projectId = body[0]?.id ?? '';
  });

  it('answers the LangGraph SDK: threads, wait, streams, state, order', async () => {
    const client = agentAt(target(), url);
    const thread = await client.threads.create();
    const input = { messages: [{ role: 'user', content: 'what is 2 + 40?' }] };
    const values = (await client.runs.wait(thread.thread_id, 'agent', { input })) as {
      messages: { type: string; content: string }[];
    };
    expect(values.messages.at(-1)?.content).toContain('42');

    const modes = new Set<string>();
    for await (const event of client.runs.stream(thread.thread_id, 'agent', {
      input: { messages: [{ role: 'user', content: 'and hello' }] },
      streamMode: ['values', 'updates', 'messages-tuple'],
    })) {
      modes.add(event.event);
      if (event.event === 'metadata') runIds.push((event.data as { run_id: string }).run_id);
    }
    expect([...modes]).toEqual(expect.arrayContaining(['metadata', 'values', 'updates', 'messages']));

    const state = await client.threads.getState(thread.thread_id);
    expect((state.values as typeof values).messages.length).toBeGreaterThanOrEqual(4);

    const both = await Promise.all(
      ['first', 'second'].map((content) =>
        client.runs.create(thread.thread_id, 'agent', { input: { messages: [{ role: 'user', content }] } }),
      ),
    );
    await Promise.all(both.map((run) => client.runs.join(thread.thread_id, run.run_id)));
    const said = ((await client.threads.getState(thread.thread_id)).values as typeof values).messages
      .filter((message) => message.type === 'human')
      .map((message) => message.content);
    expect(said.slice(-2).sort()).toEqual(['first', 'second']);
    runIds.push(...both.map((run) => run.run_id));
  });

  it('makes a finished run readable by the tracing SDK within 3 s', async () => {
    const traces = new TraceClient({
      apiUrl: target().rest.credentials.restUrl,
      apiKey: target().rest.credentials.apiKey,
    });
    const run = await waitFor(
      async () => {
        const found = await traces.readRun(runIds.at(-1) ?? '');
        return found.end_time ? found : undefined;
      },
      { what: 'the trace', timeoutMs: 3_000, intervalMs: 100 },
    );
    expect(run.session_id).toBe(projectId);
    expect(run.status).toBe('success');
  });

  it('switches to a new revision without a failed request', async () => {
    const client = agentAt(target(), url);
    const failures: string[] = [];
    let asked = 0;
    let going = true;
    const callers = Array.from({ length: 2 }, async () => {
      while (going) {
        asked++;
        await client.runs
          .wait(null, 'agent', { input: { messages: [{ role: 'user', content: 'hi' }] } })
          .catch((error: unknown) => failures.push(String(error)));
      }
    });
    const { body, status } = await target().rest.patch<Deployment>(`/v2/deployments/${deployment.id}`, {
      secrets: [{ name: 'GREETING', value: 'good evening' }],
    });
    expect(status).toBe(200);
    expect(body.latest_revision_id).not.toBe(deployment.latest_revision_id);
    await deployed(target().rest, deployment.id, body.latest_revision_id ?? '');
    const before = asked;
    await waitFor(() => asked >= before + 10);
    going = false;
    await Promise.all(callers);
    expect({ failures, asked: asked > 5 }).toEqual({ failures: [], asked: true });
  });

  it('redeploys an earlier revision on the Deployment that was kept for it', async () => {
    const workloads = () =>
      target().kubectl.run(['get', 'deployments', '-l', 'agentplane.dev/deployment=weather', '-o', 'name']);
    const before = await workloads();
    const { body, status } = await target().rest.post<Deployment>(
      `/v2/deployments/${deployment.id}/revisions/${deployment.latest_revision_id}/redeploy`,
    );
    expect(status).toBe(200);
    await deployed(target().rest, deployment.id, body.latest_revision_id ?? '');
    expect(await workloads()).toBe(before);
    await agentAt(target(), url).runs.wait(null, 'agent', {
      input: { messages: [{ role: 'user', content: 'hi' }] },
    });
  });

  it('exports to Parquet what the database holds, a run for each UTC day', async () => {
    const { objectStore } = target();
    const destination = await target().rest.post<{ id: string }>('/api/v1/bulk-exports/destinations', {
      destination_type: 'object_store',
      display_name: 'mine',
      config: {
        bucket_name: objectStore.bucket,
        prefix: 'exports',
        region: objectStore.region,
        endpoint_url: objectStore.endpoint,
      },
      credentials: {
        access_key_id: objectStore.accessKeyId,
        secret_access_key: objectStore.secretAccessKey,
      },
    });
    expect(destination.status).toBe(200);
    const window = {
      start_time: new Date(Date.now() - 86_400_000).toISOString(),
      end_time: new Date(Date.now() - 500).toISOString(),
    };
    const created = await target().rest.post<BulkExport>('/api/v1/bulk-exports', {
      bulk_export_destination_id: destination.body.id,
      session_id: projectId,
      ...window,
      format_version: 'v2_beta',
    });
    expect(created.status).toBe(200);
    await waitFor(
      async () => {
        const { body } = await target().rest.get<BulkExport>(`/api/v1/bulk-exports/${created.body.id}`);
        if (['FAILED', 'TIMEDOUT', 'CANCELLED'].includes(body.status)) throw new Error(body.status);
        return body.status === 'COMPLETED';
      },
      { what: 'the export to be COMPLETED' },
    );
    const runs = await target().rest.get<{ status: string }[]>(
      `/api/v1/bulk-exports/${created.body.id}/runs`,
    );
    expect(runs.body).toHaveLength(window.start_time.slice(0, 10) === window.end_time.slice(0, 10) ? 1 : 2);
    expect(new Set(runs.body.map((run) => run.status))).toEqual(new Set(['COMPLETED']));

    const client = storeClient(objectStore);
    const prefix = `exports/export_id=${created.body.id}/tenant_id=${target().rest.credentials.tenantId}/session_id=${projectId}/resource=runs/`;
    const keys = await listKeys(client, objectStore.bucket, prefix);
    expect(keys.filter((key) => key.endsWith('.parquet'))[0]).toMatch(/year=\d{4}\/month=\d+\/day=\d+\//);
    const folder = await download(client, objectStore.bucket, keys);
    const rows = await duckdb(folder, 'SELECT id, start_time, is_root FROM FILES ORDER BY start_time, id');
    const stored = await target().queryTraceStore(
      'SELECT id FROM runs WHERE project_id = $1 AND start_time >= $2 AND start_time < $3 ORDER BY start_time, id',
      [projectId, window.start_time, window.end_time],
    );
    expect(rows.map((row) => row.id)).toEqual(stored.map((row) => row.id));
    for (const id of runIds) expect(stored).toContainEqual({ id });
    const types = await duckdb(folder, 'SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM FILES)');
    expect(Object.fromEntries(types.map((row) => [row.column_name, row.column_type]))).toMatchObject({
      id: 'VARCHAR',
      start_time: 'TIMESTAMP WITH TIME ZONE',
      total_tokens: 'BIGINT',
      total_cost: 'DECIMAL(18,10)',
      is_root: 'BOOLEAN',
      tags: 'VARCHAR[]',
    });
  });

  it('includes the start of the window and excludes its end, to the microsecond', async () => {
    const start = '2026-02-10T10:00:00.000001Z';
    const end = '2026-02-12T00:00:00.000000Z';
    const inside = [
      start,
      '2026-02-10T23:59:59.999999Z',
      '2026-02-11T00:00:00.000000Z',
      '2026-02-11T23:59:59.999999Z',
    ];
    const outside = ['2026-02-10T10:00:00.000000Z', end];
    const post = [...inside, ...outside].map((time, at) => {
      const id = `00000000-0000-4000-8000-00000000000${at}`;
      const dotted_order = `${time.replace(/[-:.]/g, '').replace('Z', '')}Z${id}`;
      return {
        id,
        trace_id: id,
        dotted_order,
        name: 'edge',
        run_type: 'chain',
        session_name: 'edges',
        start_time: time,
        end_time: time,
        inputs: {},
        outputs: {},
      };
    });
    expect((await target().rest.post('/runs/batch', { post, patch: [] })).status).toBe(202);
    const project = (await target().rest.get<{ id: string }[]>('/sessions?name=edges')).body[0]?.id;
    const destinations = await target().rest.get<{ id: string }[]>('/api/v1/bulk-exports/destinations');
    const created = await target().rest.post<BulkExport>('/api/v1/bulk-exports', {
      bulk_export_destination_id: destinations.body.at(-1)?.id,
      session_id: project,
      start_time: start,
      end_time: end,
    });
    await waitFor(
      async () => {
        const { body } = await target().rest.get<BulkExport>(`/api/v1/bulk-exports/${created.body.id}`);
        if (body.status === 'FAILED') throw new Error(body.status);
        return body.status === 'COMPLETED';
      },
      { what: 'the export' },
    );
    const runs = await target().rest.get<unknown[]>(`/api/v1/bulk-exports/${created.body.id}/runs`);
    expect(runs.body).toHaveLength(2);
    const { objectStore } = target();
    const client = storeClient(objectStore);
    const keys = (await listKeys(client, objectStore.bucket, '')).filter((key) =>
      key.includes(created.body.id),
    );
    const folder = await download(client, objectStore.bucket, keys);
    const rows = await duckdb(folder, 'SELECT id FROM FILES ORDER BY start_time');
    expect(rows.map((row) => row.id)).toEqual(post.slice(0, inside.length).map(({ id }) => id));
  });

  it('cancels an export', async () => {
    const destinations = await target().rest.get<{ id: string }[]>('/api/v1/bulk-exports/destinations');
    const created = await target().rest.post<BulkExport>('/api/v1/bulk-exports', {
      bulk_export_destination_id: destinations.body[0]?.id,
      session_id: projectId,
      start_time: '2026-01-01T00:00:00Z',
      end_time: '2026-03-01T00:00:00Z',
    });
    const answer = await target().rest.patch<BulkExport>(`/api/v1/bulk-exports/${created.body.id}`, {
      status: 'Cancelled',
    });
    expect(answer.status).toBe(200);
    await waitFor(
      async () => {
        const { body } = await target().rest.get<BulkExport>(`/api/v1/bulk-exports/${created.body.id}`);
        return body.status === 'CANCELLED';
      },
      { what: 'the export to be CANCELLED' },
    );
  });

  return () => deployment;
}
