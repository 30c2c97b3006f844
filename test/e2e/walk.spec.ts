import { execFile, execFileSync } from 'node:child_process';
import { existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@langchain/langgraph-sdk';
import { Client as TraceClient } from 'langsmith';
import { waitFor } from '#lib/testing';
import { download, duckdb, listKeys, storeClient } from '../support/export-reader.js';
import { findKubectl, Kubectl, leaveOut } from '../support/kubectl.js';
import {
  newDataFolder,
  type Platform,
  removeDataFolder,
  repository,
  startPlatform,
} from '../support/platform.js';
import { listProcesses, programsBelow } from '../support/process-tree.js';
import { Rest } from '../support/rest.js';
import { queryTraceStore } from '../support/trace-database.js';

interface Deployment {
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

/** Whether a process was given this text; only Linux tells. */
function mentions(pid: number, text: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(text);
  } catch {
    return false;
  }
}

const python = process.env['AGENTPLANE_TEST_PYTHON'];
if (!python)
  process.stderr.write(
    'SKIPPED: deploying an agent in Python: AGENTPLANE_TEST_PYTHON names no interpreter\n',
  );

/** What a new user does, in the order of the README, on the started platform. */
describe('first light', () => {
  const dataFolder = newDataFolder();
  const binary = findKubectl();
  let platform: Platform;
  let rest: Rest;
  let kubectl: Kubectl;

  beforeAll(async () => {
    platform = await startPlatform(dataFolder);
    rest = new Rest(platform.credentials);
    if (binary) kubectl = new Kubectl(binary, platform.credentials.kubeconfig);
    else leaveOut('kubectl');
  }, 180_000);

  afterAll(async () => {
    await platform.stop();
    removeDataFolder(dataFolder);
  }, 60_000);

  async function deployed(deploymentId: string, revisionId: string): Promise<void> {
    await waitFor(
      async () => {
        const { body } = await rest.get<Revision>(`/v2/deployments/${deploymentId}/revisions/${revisionId}`);
        if (body.status.endsWith('FAILED')) throw new Error(`${body.status}: ${body.status_message}`);
        return body.status === 'DEPLOYED';
      },
      { what: `revision ${revisionId} to be DEPLOYED`, timeoutMs: 90_000 },
    );
  }

  async function urlOf(deploymentId: string): Promise<string> {
    return waitFor(
      async () => {
        const { body } = await rest.get<Deployment>(`/v2/deployments/${deploymentId}`);
        return body.url ?? body.source_config.custom_url ?? undefined;
      },
      { what: 'the address of the deployment', timeoutMs: 60_000 },
    );
  }

  function agentAt(apiUrl: string): Client {
    return new Client({ apiUrl, apiKey: platform.credentials.apiKey, callerOptions: { maxRetries: 0 } });
  }

  /** Processes that have to do with this platform: its data folder stands in their arguments or environment. */
  function leftovers(): string[] {
    return listProcesses()
      .filter(
        ({ pid, command }) =>
          pid !== process.pid && (command.includes(dataFolder) || mentions(pid, dataFolder)),
      )
      .map(({ pid, command }) => `${pid} ${command}`);
  }

  describe('the start', () => {
    it('says what a newcomer needs in under 15 lines', () => {
      const lines = platform.greeting.trim().split('\n');
      expect(lines.length).toBeLessThan(15);
      for (const said of [
        platform.credentials.restUrl,
        platform.credentials.apiKey,
        platform.credentials.tenantId,
        platform.credentials.kubeconfig,
        dataFolder,
      ])
        expect(platform.greeting).toContain(said);
      expect(lines.at(-1)).toMatch(/^Ready/);
    });

    it('keeps the credentials to the owner', () => {
      expect(existsSync(join(dataFolder, 'credentials.json'))).toBe(true);
    });
  });

  (binary ? describe : describe.skip)('kubectl', () => {
    it('applies the sample deployment and waits for it', async () => {
      const watch = kubectl.start(['get', 'adep', '-w']);
      await kubectl.run(['apply', '-f', join(repository, 'examples/deployment.yaml')]);
      await kubectl.run(['wait', '--for=condition=Ready', 'adep/sample-agent', '--timeout=90s']);
      await waitFor(() => watch.text().includes('sample-agent'), {
        what: 'the watch to show it',
        timeoutMs: 60_000,
      });
      watch.stop();
    }, 120_000);

    it('lists every kind with its short name, and describes', async () => {
      expect(await kubectl.run(['get', 'adep,arev'])).toMatch(/sample-agent-00001/);
      await kubectl.run(['get', 'bx,bxr']);
      expect(await kubectl.run(['get', 'bxd'])).toMatch(/local/);
      expect(await kubectl.run(['describe', 'adep', 'sample-agent'])).toMatch(/Revision/);
    });

    it('shows the logs of the agent', async () => {
      const pod = (
        await kubectl.run(['get', 'pods', '-l', 'agentplane.dev/revision=sample-agent-00001', '-o', 'name'])
      ).trim();
      expect((await kubectl.run(['logs', pod])).length).toBeGreaterThan(0);
    });

    it('edits', async () => {
      const editor = join(dataFolder, 'editor.sh');
      writeFileSync(
        editor,
        '#!/bin/sh\nsed -i "s/^  name: sample-agent$/&\\n  annotations:\\n    example.com\\/edited: \\"yes\\"/" "$1"\n',
        {
          mode: 0o755,
        },
      );
      await kubectl.run(['edit', 'adep', 'sample-agent'], { env: { KUBE_EDITOR: editor } });
      expect(await kubectl.run(['get', 'adep', 'sample-agent', '-o', 'yaml'])).toContain(
        'example.com/edited',
      );
    });

    it('refuses to change what is immutable', async () => {
      const text = readFileSync(join(repository, 'examples/deployment.yaml'), 'utf8');
      const changed = text.replace('source: internal_image', 'source: external_image');
      const answer = await kubectl.try(['apply', '-f', '-'], { input: changed });
      expect(answer.code).not.toBe(0);
      expect(answer.stderr).toMatch(/immutable/i);
    });

    it('exports by a resource and waits for its end', async () => {
      const rows = await agentRuns();
      expect(rows).toBeGreaterThan(0);
      await kubectl.run(['apply', '-f', join(repository, 'examples/export.yaml')]);
      const name = (await kubectl.run(['get', 'bx', '-o', 'jsonpath={.items[0].metadata.name}'])).trim();
      await kubectl.run(['wait', '--for=condition=Completed', `bx/${name}`, '--timeout=90s']);
      expect(await kubectl.run(['get', 'bx', name])).toMatch(name);
    }, 150_000);

    async function agentRuns(): Promise<number> {
      const url = (await kubectl.run(['get', 'adep', 'sample-agent', '-o', 'jsonpath={.status.url}'])).trim();
      const client = agentAt(url);
      await client.runs.wait(null, 'agent', { input: { messages: [{ role: 'user', content: 'hello' }] } });
      return 1;
    }

    it('deletes and leaves nothing behind', async () => {
      await kubectl.run(['delete', 'adep', 'sample-agent', '--timeout=60s']);
      await waitFor(
        async () => {
          const left = await kubectl.run([
            'get',
            'arev,pods',
            '-l',
            'agentplane.dev/deployment=sample-agent',
            '-o',
            'name',
          ]);
          return left.trim() === '';
        },
        { what: 'revisions and pods to go', timeoutMs: 60_000 },
      );
    }, 90_000);
  });

  (python ? describe : describe.skip)('an agent in Python', () => {
    it('deploys from its folder, answers the LangGraph SDK and sends traces to its own project', async () => {
      const wheels = join(dataFolder, 'wheels');
      const pack = join(repository, 'libs/image-store/testdata/python/pack-wheels.py');
      execFileSync(python ?? '', [pack, wheels]);
      const folder = join(repository, 'examples', 'new-python-agent');
      const words = ['bin/agentplane.js', 'image', 'add', 'python-agent', folder, '--data', dataFolder];
      const PATH = `${dirname(realpathSync(python ?? ''))}:/usr/bin:/bin`;
      const env = { ...process.env, PATH, PIP_NO_INDEX: '1', PIP_FIND_LINKS: wheels };
      await promisify(execFile)(process.execPath, words, { cwd: repository, env });
      const { body: made } = await rest.post<Deployment>('/v2/deployments', {
        name: 'snake',
        source: 'internal_image',
        source_config: {},
        source_revision_config: { image_uri: 'python-agent' },
        secrets: [],
      });
      await deployed(made.id, made.latest_revision_id ?? '');
      const client = agentAt(await urlOf(made.id));
      const { thread_id: threadId } = await client.threads.create();
      const input = { messages: [{ role: 'user', content: 'weather in Rome' }] };
      let runId = '';
      for await (const { event, data } of client.runs.stream(threadId, 'agent', { input }))
        if (event === 'metadata') runId = (data as { run_id: string }).run_id;
      const { values } = await client.threads.getState<{ messages: { content: string }[] }>(threadId);
      expect(values.messages.at(-1)?.content).toBe('Done: sunny in Rome.');
      const { restUrl: apiUrl, apiKey } = platform.credentials;
      const traces = new TraceClient({ apiUrl, apiKey });
      const run = await waitFor(
        async () => {
          const found = await traces.readRun(runId);
          return found.end_time ? found : undefined;
        },
        { what: 'the trace', timeoutMs: 30_000, intervalMs: 100 },
      );
      const { body: projects } = await rest.get<{ id: string }[]>('/sessions?name=snake');
      expect(projects.map(({ id }) => id)).toEqual([run.session_id]);
      expect(run).toMatchObject({ status: 'success', run_type: 'chain' });
    }, 300_000);
  });

  describe('REST, the agent, its traces and their export', () => {
    let deployment: Deployment;
    let url: string;
    let projectId: string;
    const runIds: string[] = [];

    it('creates a deployment and names its revision at once', async () => {
      const answer = await rest.post<Deployment>('/v2/deployments', {
        name: 'weather',
        source: 'internal_image',
        source_config: {},
        source_revision_config: { image_uri: 'sample-agent' },
        secrets: [{ name: 'GREETING', value: 'good day' }],
      });
      expect(answer.status).toBe(201);
      deployment = answer.body;
      expect(deployment.latest_revision_id).toMatch(/^[0-9a-f-]{36}$/);
      expect(deployment.secrets).toEqual([{ name: 'GREETING', value: '' }]);
      await deployed(deployment.id, deployment.latest_revision_id ?? '');
      const { body } = await rest.get<Deployment>(`/v2/deployments/${deployment.id}`);
      expect(body.active_revision_id).toBe(deployment.latest_revision_id);
      expect(body.status).toBe('READY');
      url = await urlOf(deployment.id);
    }, 120_000);

    it('has a tracing project of its name', async () => {
      const { body } = await rest.get<{ id: string; name: string }[]>('/sessions?name=weather');
      expect(body).toHaveLength(1);
      projectId = body[0]?.id ?? '';
    });

    it('answers the LangGraph SDK: threads, wait, streams, state, order', async () => {
      const client = agentAt(url);
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
    }, 60_000);

    it('makes a finished run readable by the tracing SDK within 3 s', async () => {
      const traces = new TraceClient({
        apiUrl: platform.credentials.restUrl,
        apiKey: platform.credentials.apiKey,
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
      const client = agentAt(url);
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
      const { body, status } = await rest.patch<Deployment>(`/v2/deployments/${deployment.id}`, {
        secrets: [{ name: 'GREETING', value: 'good evening' }],
      });
      expect(status).toBe(200);
      expect(body.latest_revision_id).not.toBe(deployment.latest_revision_id);
      await deployed(deployment.id, body.latest_revision_id ?? '');
      await new Promise((resolve) => setTimeout(resolve, 3000));
      going = false;
      await Promise.all(callers);
      expect({ failures, asked: asked > 5 }).toEqual({ failures: [], asked: true });
    }, 150_000);

    it('redeploys an earlier revision within seconds, on the Deployment that was kept for it', async () => {
      const workloads = () =>
        kubectl.run(['get', 'deployments', '-l', 'agentplane.dev/deployment=weather', '-o', 'name']);
      const before = await workloads();
      const startedMs = Date.now();
      const { body, status } = await rest.post<Deployment>(
        `/v2/deployments/${deployment.id}/revisions/${deployment.latest_revision_id}/redeploy`,
      );
      expect(status).toBe(200);
      await deployed(deployment.id, body.latest_revision_id ?? '');
      // it was still warm: a start of the agent takes longer
      expect(Date.now() - startedMs).toBeLessThan(4000);
      expect(await workloads()).toBe(before);
      await agentAt(url).runs.wait(null, 'agent', { input: { messages: [{ role: 'user', content: 'hi' }] } });
    }, 120_000);

    it('exports to Parquet what the database holds, a run for each UTC day', async () => {
      const { objectStore } = platform.credentials;
      const destination = await rest.post<{ id: string }>('/api/v1/bulk-exports/destinations', {
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
      const created = await rest.post<BulkExport>('/api/v1/bulk-exports', {
        bulk_export_destination_id: destination.body.id,
        session_id: projectId,
        ...window,
        format_version: 'v2_beta',
      });
      expect(created.status).toBe(200);
      await waitFor(
        async () => {
          const { body } = await rest.get<BulkExport>(`/api/v1/bulk-exports/${created.body.id}`);
          if (['FAILED', 'TIMEDOUT', 'CANCELLED'].includes(body.status)) throw new Error(body.status);
          return body.status === 'COMPLETED';
        },
        { what: 'the export to be COMPLETED', timeoutMs: 90_000 },
      );
      const runs = await rest.get<{ status: string }[]>(`/api/v1/bulk-exports/${created.body.id}/runs`);
      expect(runs.body).toHaveLength(window.start_time.slice(0, 10) === window.end_time.slice(0, 10) ? 1 : 2);
      expect(new Set(runs.body.map((run) => run.status))).toEqual(new Set(['COMPLETED']));

      const client = storeClient(objectStore);
      const prefix = `exports/export_id=${created.body.id}/tenant_id=${platform.credentials.tenantId}/session_id=${projectId}/resource=runs/`;
      const keys = await listKeys(client, objectStore.bucket, prefix);
      expect(keys.filter((key) => key.endsWith('.parquet'))[0]).toMatch(/year=\d{4}\/month=\d+\/day=\d+\//);
      const folder = await download(client, objectStore.bucket, keys);
      const rows = await duckdb(folder, 'SELECT id, start_time, is_root FROM FILES ORDER BY start_time, id');
      const stored = await queryTraceStore(
        dataFolder,
        'SELECT id FROM runs WHERE project_id = $1 AND start_time >= $2 AND start_time < $3 ORDER BY start_time, id',
        [projectId, window.start_time, window.end_time],
      );
      expect(rows.map((row) => row.id)).toEqual(stored.map((row) => row.id));
      for (const id of runIds) expect(stored).toContainEqual({ id });
      const types = await duckdb(
        folder,
        'SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM FILES)',
      );
      expect(Object.fromEntries(types.map((row) => [row.column_name, row.column_type]))).toMatchObject({
        id: 'VARCHAR',
        start_time: 'TIMESTAMP WITH TIME ZONE',
        total_tokens: 'BIGINT',
        total_cost: 'DECIMAL(18,10)',
        is_root: 'BOOLEAN',
        tags: 'VARCHAR[]',
      });
    }, 150_000);

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
      expect((await rest.post('/runs/batch', { post, patch: [] })).status).toBe(202);
      const project = (await rest.get<{ id: string }[]>('/sessions?name=edges')).body[0]?.id;
      const destinations = await rest.get<{ id: string }[]>('/api/v1/bulk-exports/destinations');
      const created = await rest.post<BulkExport>('/api/v1/bulk-exports', {
        bulk_export_destination_id: destinations.body.at(-1)?.id,
        session_id: project,
        start_time: start,
        end_time: end,
      });
      await waitFor(
        async () => {
          const { body } = await rest.get<BulkExport>(`/api/v1/bulk-exports/${created.body.id}`);
          if (body.status === 'FAILED') throw new Error(body.status);
          return body.status === 'COMPLETED';
        },
        { what: 'the export', timeoutMs: 90_000 },
      );
      const runs = await rest.get<unknown[]>(`/api/v1/bulk-exports/${created.body.id}/runs`);
      expect(runs.body).toHaveLength(2);
      const { objectStore } = platform.credentials;
      const client = storeClient(objectStore);
      const keys = (await listKeys(client, objectStore.bucket, '')).filter((key) =>
        key.includes(created.body.id),
      );
      const folder = await download(client, objectStore.bucket, keys);
      const rows = await duckdb(folder, 'SELECT id FROM FILES ORDER BY start_time');
      expect(rows.map((row) => row.id)).toEqual(post.slice(0, inside.length).map(({ id }) => id));
    }, 150_000);

    it('cancels an export', async () => {
      const destinations = await rest.get<{ id: string }[]>('/api/v1/bulk-exports/destinations');
      const created = await rest.post<BulkExport>('/api/v1/bulk-exports', {
        bulk_export_destination_id: destinations.body[0]?.id,
        session_id: projectId,
        start_time: '2026-01-01T00:00:00Z',
        end_time: '2026-03-01T00:00:00Z',
      });
      const answer = await rest.patch<BulkExport>(`/api/v1/bulk-exports/${created.body.id}`, {
        status: 'Cancelled',
      });
      expect(answer.status).toBe(200);
      await waitFor(
        async () => {
          const { body } = await rest.get<BulkExport>(`/api/v1/bulk-exports/${created.body.id}`);
          return body.status === 'CANCELLED';
        },
        { what: 'the export to be CANCELLED', timeoutMs: 60_000 },
      );
    }, 90_000);

    it('keeps everything over a stop and a second start', async () => {
      expect(await platform.stop()).toBe(0);
      expect(leftovers()).toEqual([]);
      const before = platform.credentials;
      platform = await startPlatform(dataFolder);
      rest = new Rest(platform.credentials);
      expect(platform.credentials).toEqual(before);
      const { body } = await rest.get<Deployment>(`/v2/deployments/${deployment.id}`);
      expect(body.status).toBe('READY');
      const client = agentAt(await urlOf(deployment.id));
      await waitFor(
        async () => {
          await client.runs.wait(null, 'agent', {
            input: { messages: [{ role: 'user', content: 'back?' }] },
          });
          return true;
        },
        { what: 'the agent to answer again', timeoutMs: 60_000 },
      );
      const sessions = await rest.get<unknown[]>('/sessions?name=weather');
      expect(sessions.body).toHaveLength(1);
    }, 180_000);

    it('survives kill -9 and a new start', async () => {
      const former = programsBelow(platform.process.pid ?? 0, 'agent-server').map(({ pid }) => pid);
      await platform.kill();
      platform = await startPlatform(dataFolder);
      rest = new Rest(platform.credentials);
      const agents = await waitFor(
        () => {
          const found = programsBelow(platform.process.pid ?? 0, 'agent-server').map(({ pid }) => pid);
          // a former revision stays warm for two minutes at most
          return found.length > 0 && found;
        },
        { what: 'an agent server', timeoutMs: 60_000 },
      );
      expect(agents.filter((pid) => former.includes(pid))).toEqual([]);
      expect(listProcesses().filter(({ pid }) => former.includes(pid))).toEqual([]);
      const client = agentAt(await urlOf(deployment.id));
      await waitFor(
        async () => {
          await client.runs.wait(null, 'agent', {
            input: { messages: [{ role: 'user', content: 'back?' }] },
          });
          return true;
        },
        { what: 'the agent to answer again', timeoutMs: 60_000 },
      );
    }, 270_000);
  });
});
