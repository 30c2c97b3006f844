import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { copyFileSync, cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@langchain/langgraph-sdk';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { formatGitIntegration, GIT_INTEGRATIONS } from '#lib/manifests';
import { SECRET_TYPE, SECRETS } from '#lib/resources';
import { type GitRepository, type GitServer, gitServer, waitFor } from '#lib/testing';
import { download, duckdb, listKeys, storeClient } from '../support/export-reader.js';
import {
  newDataFolder,
  type Platform,
  removeDataFolder,
  repository,
  startPlatform,
} from '../support/platform.js';
import { type PythonIndex, pythonIndex } from '../support/python-index.js';
import { Rest } from '../support/rest.js';

interface Deployment {
  readonly id: string;
  readonly latest_revision_id: string;
  readonly url: string | null;
}
interface Revision {
  readonly status: string;
  readonly status_reason: string | null;
  readonly status_message: string | null;
}
interface TracedRun {
  readonly status: string;
  readonly session_id: string;
}

const python = process.env['AGENTPLANE_TEST_PYTHON'];
if (!python)
  process.stderr.write('SKIPPED: the template in Python: AGENTPLANE_TEST_PYTHON names no interpreter\n');

const TEMPLATE = join(import.meta.dirname, 'testdata', 'python-template');
const TOKEN = 'token-of-the-git-host';
const ANSWER = /^I found: \{"query": "what is it\?", "results": \["42"\], "model": "rules\/plain"\}$/;
const PATIENT = { intervalMs: 100 };
/** Of the SDK in Python: the last message of a run, and the name of the graph's assistant. */
const ASK = `
import sys
from langgraph_sdk import get_sync_client
client = get_sync_client(url=sys.argv[1], api_key=sys.argv[2])
thread = client.threads.create()
asked = {"messages": [{"role": "user", "content": "what is it?"}]}
values = client.runs.wait(thread["thread_id"], "agent", input=asked)
print(values["messages"][-1]["content"])
`;

(python ? describe : describe.skip)('the public template of agents in Python', () => {
  const dataFolder = newDataFolder();
  const folder = mkdtempSync(join(tmpdir(), 'agentplane-template-'));
  /** Of deployments, by name. */
  const ids = new Map<string, string>();
  let index: PythonIndex;
  let git: GitServer;
  let source: GitRepository;
  let platform: Platform;
  let rest: Rest;

  beforeAll(async () => {
    index = await pythonIndex(python ?? '', ['python-dotenv==1.1.0']);
    git = await gitServer();
    source = await git.repository('template', TOKEN);
    cpSync(TEMPLATE, source.folder, { recursive: true });
    await source.commit({});
    platform = await startPlatform(dataFolder, { environment: { AGENTPLANE_BUILD_PYTHON_INDEX: index.url } });
    rest = new Rest(platform.credentials);
  });
  afterAll(async () => {
    await platform?.stop();
    await git?.close();
    await index?.close();
    removeDataFolder(dataFolder);
    rmSync(folder, { recursive: true, force: true });
  });

  const integrate = async (): Promise<string> => {
    const id = randomUUID();
    const { kubeconfig: kubeconfigPath } = platform.credentials;
    const client = new KubeClient(await loadKubeConnection({ kubeconfigPath }), { fieldManager: 'test' });
    await client.create(SECRETS, {
      metadata: { name: GIT_INTEGRATIONS, namespace: 'ws-default' },
      type: SECRET_TYPE.gitIntegrations,
      data: { [id]: formatGitIntegration({ name: 'ours', host: git.host, token: TOKEN, ca: git.ca }) },
    });
    await client.close();
    return id;
  };
  const deploy = async (name: string, of: object): Promise<Revision> => {
    const { status, body } = await rest.post<Deployment>('/v2/deployments', { name, secrets: [], ...of });
    expect([status, body]).toEqual([201, expect.anything()]);
    ids.set(name, body.id);
    return await waitFor(async () => {
      const path = `/v2/deployments/${body.id}/revisions/${body.latest_revision_id}`;
      const { body: revision } = await rest.get<Revision>(path);
      return /DEPLOYED|FAILED/.test(revision.status) && revision;
    }, PATIENT);
  };
  const deployFromGit = (name: string, integration: string, config: object = {}): Promise<Revision> =>
    deploy(name, {
      source: 'git_host',
      source_config: { repo_url: source.url, integration_id: integration, ...config },
      source_revision_config: { repo_ref: 'main', graph_config_path: 'langgraph.json' },
    });
  const urlOf = (name: string): Promise<string> =>
    waitFor(async () => {
      const { body } = await rest.get<Deployment>(`/v2/deployments/${ids.get(name)}`);
      return body.url ?? undefined;
    }, PATIENT);

  /** By both SDKs; the id of a run. */
  const expectAnswers = async (name: string): Promise<string> => {
    const apiUrl = await urlOf(name);
    const { apiKey } = platform.credentials;
    const { stdout } = await promisify(execFile)(python ?? '', ['-c', ASK, apiUrl, apiKey]);
    expect(stdout.trim()).toMatch(ANSWER);
    const client = new Client({ apiUrl, apiKey });
    const { thread_id: threadId } = await client.threads.create();
    const input = { messages: [{ role: 'user', content: 'what is it?' }] };
    const { run_id: runId } = await client.runs.create(threadId, 'agent', { input });
    await client.runs.join(threadId, runId);
    const { values } = await client.threads.getState<{ messages: { content: string }[] }>(threadId);
    expect(values.messages.at(-1)?.content).toMatch(ANSWER);
    return runId;
  };
  /** The project of a deployment, once it has the trace of a run. */
  const projectWith = async (name: string, runId: string): Promise<string> => {
    const run = await waitFor(async () => {
      const { status, body } = await rest.get<TracedRun>(`/runs/${runId}`);
      return status === 200 && body.status === 'success' && body;
    }, PATIENT);
    const { body: projects } = await rest.get<{ id: string }[]>(`/sessions?name=${name}`);
    expect(projects.map(({ id }) => id)).toEqual([run.session_id]);
    return run.session_id;
  };
  const exportedRoots = async (project: string): Promise<readonly unknown[]> => {
    const { objectStore: store, tenantId } = platform.credentials;
    const { body: destination } = await rest.post<{ id: string }>('/api/v1/bulk-exports/destinations', {
      destination_type: 'object_store',
      display_name: 'mine',
      config: {
        bucket_name: store.bucket,
        prefix: 'out',
        region: store.region,
        endpoint_url: store.endpoint,
      },
      credentials: { access_key_id: store.accessKeyId, secret_access_key: store.secretAccessKey },
    });
    const { body: made } = await rest.post<{ id: string }>('/api/v1/bulk-exports', {
      bulk_export_destination_id: destination.id,
      session_id: project,
      start_time: new Date(Date.now() - 3_600_000).toISOString(),
      end_time: new Date(Date.now() - 100).toISOString(),
      format_version: 'v2_beta',
    });
    await waitFor(async () => {
      const { body } = await rest.get<{ status: string }>(`/api/v1/bulk-exports/${made.id}`);
      if (/FAILED|TIMEDOUT|CANCELLED/.test(body.status)) throw new Error(body.status);
      return body.status === 'COMPLETED';
    }, PATIENT);
    const client = storeClient(store);
    const prefix = `out/export_id=${made.id}/tenant_id=${tenantId}/session_id=${project}/`;
    const files = await download(client, store.bucket, await listKeys(client, store.bucket, prefix));
    const rows = await duckdb(files, 'SELECT id FROM FILES WHERE is_root');
    rmSync(files, { recursive: true });
    return rows.map(({ id }) => id);
  };

  it('builds it from git as it is, answers both SDKs and exports its traces', async () => {
    const integration = await integrate();
    const revision = await deployFromGit('from-git', integration);
    expect([revision.status, revision.status_message]).toEqual(['DEPLOYED', 'serving']);
    expect(index.requests.some((path) => path.startsWith('/wheels/langgraph-'))).toBe(true);
    // nothing of a build is shared with other images
    expect(existsSync(join(dataFolder, 'images', 'dependencies'))).toBe(false);
    const runId = await expectAnswers('from-git');
    const roots = await exportedRoots(await projectWith('from-git', runId));
    expect(roots).toContain(runId);
    const refused = await deployFromGit('own-install', integration, { install_command: 'true' });
    expect(refused).toMatchObject({ status: 'BUILD_FAILED' });
    expect(refused.status_message).toContain('left no environment in .venv');
  });

  it('takes it as a folder, and answers both SDKs', async () => {
    cpSync(TEMPLATE, folder, { recursive: true });
    copyFileSync(join(folder, '.env.example'), join(folder, '.env'));
    const words = ['bin/agentplane.js', 'image', 'add', 'template', folder, '--data', dataFolder];
    const env = { ...process.env, PATH: '/usr/local/bin:/usr/bin:/bin', PIP_INDEX_URL: index.url };
    await promisify(execFile)(process.execPath, words, { cwd: repository, env });
    expect(readdirSync(folder)).not.toContain('.venv');
    const image = { source_config: {}, source_revision_config: { image_uri: 'template' } };
    expect(await deploy('added', { source: 'internal_image', ...image })).toMatchObject({
      status: 'DEPLOYED',
    });
    await projectWith('added', await expectAnswers('added'));
  });
});
