import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { JOBS, type KubeObject, NAMESPACES, RESOURCES } from '#lib/resources';
import { waitFor } from '#lib/testing';
import { newDataFolder, type Platform, removeDataFolder, startPlatform } from '../support/platform.js';
import { descendants, programsBelow } from '../support/process-tree.js';
import { Rest } from '../support/rest.js';
import { queryTraceStore } from '../support/trace-database.js';
import { makeWorkspace, type Workspace } from '../support/workspace.js';

const DAYS = ['2026-03-01', '2026-03-02'];
const RUNS_PER_DAY = 3_000;
const BATCH = 500;
const LAKE = { AGENTPLANE_LAKE: 'on', AGENTPLANE_LAKE_QUIET_HOURS: '0', AGENTPLANE_LAKE_ERASE_HOURS: '1' };
/** Objects of deleted rows are deleted first, by tidying. */
const LEFT_TO_TIDYING = new Set(['attachment_objects', 'attachment_usage']);
/** The longest pause of a program that was killed often. */
const REMOVED_MS = 600_000;

interface Deployment {
  readonly id: string;
  readonly status: string;
}

describe('a workspace that is removed while programs are killed', () => {
  const dataFolder = newDataFolder();
  let platform: Platform;
  let kube: KubeClient;
  let gone: Workspace;
  let kept: Workspace;

  beforeAll(async () => {
    platform = await startPlatform(dataFolder, { environment: LAKE });
    await connect();
    gone = await makeWorkspace(platform.credentials, kube, 'gone');
    kept = await makeWorkspace(platform.credentials, kube, 'kept');
    for (const workspace of [gone, kept]) await fill(workspace);
  });
  afterAll(async () => {
    await kube?.close();
    await platform?.stop();
    removeDataFolder(dataFolder);
  });

  async function connect(): Promise<void> {
    const connection = await loadKubeConnection({ kubeconfigPath: platform.credentials.kubeconfig });
    kube = new KubeClient(connection, { fieldManager: 'test' });
  }

  const restOf = ({ apiKey, tenantId }: Workspace): Rest =>
    new Rest({ restUrl: platform.credentials.restUrl, apiKey, tenantId });
  const query = (sql: string, values: readonly unknown[] = []) => queryTraceStore(dataFolder, sql, values);

  /** Two sealed days of runs with feedback, a dataset, and an agent that serves. */
  async function fill(workspace: Workspace): Promise<void> {
    const rest = restOf(workspace);
    const { body } = await rest.post<Deployment>('/v2/deployments', {
      name: 'agent',
      source: 'internal_image',
      source_config: {},
      source_revision_config: { image_uri: 'sample-agent' },
      secrets: [],
    });
    for (const day of DAYS)
      for (let from = 0; from < RUNS_PER_DAY; from += BATCH) {
        const post = Array.from({ length: BATCH }, (_, at) => runOf(day, from + at));
        expect((await rest.post('/runs/batch', { post, patch: [] })).status).toBe(202);
      }
    const [first] = await query('SELECT id, trace_id FROM runs WHERE tenant_id = $1 LIMIT 1', [
      workspace.tenantId,
    ]);
    const feedback = { run_id: first?.['id'], trace_id: first?.['trace_id'], key: 'good', score: 1 };
    expect((await rest.post('/feedback', feedback)).status).toBeLessThan(300);
    expect((await rest.post('/datasets', { name: 'examples' })).status).toBeLessThan(300);
    await waitFor(() => filesOf(workspace).length === DAYS.length, {
      what: 'sealed days',
      timeoutMs: 300_000,
    });
    await waitFor(
      async () => (await rest.get<Deployment>(`/v2/deployments/${body.id}`)).body.status === 'READY',
    );
  }

  function runOf(day: string, at: number): object {
    const id = randomUUID();
    const time = `${day}T10:00:00.${String(at % 1_000).padStart(3, '0')}000Z`;
    const dotted_order = `${time.replace(/[-:.]/g, '').replace('Z', '')}Z${id}`;
    const run = { id, trace_id: id, dotted_order, name: 'n', run_type: 'chain', session_name: `of ${day}` };
    return { ...run, start_time: time, end_time: time, inputs: { text: 'x'.repeat(500) }, outputs: { at } };
  }

  /** Sealed files of a workspace. */
  function filesOf({ tenantId }: Workspace): readonly string[] {
    const folder = join(dataFolder, 'objects', 'agentplane-attachments', 'lake', tenantId);
    if (!existsSync(folder)) return [];
    return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.parquet'),
    );
  }

  /** Rows of a tenant by table; tables without any are left out. */
  async function rowsOf({ tenantId }: Workspace): Promise<Readonly<Record<string, number>>> {
    const tables = await query(
      `SELECT c.relname AS name FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
        AND NOT c.relispartition AND EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'tenant_id')`,
    );
    const counts = await query(
      tables
        .map(
          ({ name }) =>
            `SELECT '${String(name)}' AS name, count(*)::int AS rows FROM ${String(name)} WHERE tenant_id = $1`,
        )
        .join(' UNION ALL '),
      [tenantId],
    );
    return Object.fromEntries(
      counts
        .filter(({ name, rows }) => Number(rows) > 0 && !LEFT_TO_TIDYING.has(String(name)))
        .map(({ name, rows }) => [String(name), Number(rows)]),
    );
  }

  /** What the removal of another workspace could take; sealing changes its own rows meanwhile. */
  async function ownOf(workspace: Workspace): Promise<object> {
    const { runs, run_keys, feedback, datasets, projects, api_keys } = await rowsOf(workspace);
    return { runs, run_keys, feedback, datasets, projects, api_keys };
  }

  /** Databases and roles of deployments, by the names that the server has. */
  async function databases(): Promise<readonly string[]> {
    const rows = await query(
      `SELECT datname AS name FROM pg_database WHERE datname LIKE 'agent%' UNION ALL SELECT rolname FROM pg_roles WHERE rolname LIKE 'agent\\_%' ORDER BY 1`,
    );
    return rows.map(({ name }) => String(name));
  }

  /** How far the removal is; each other text is a step. */
  async function step(): Promise<string> {
    const workspace = await kube.find(RESOURCES.Workspace, { name: gone.name });
    if (!workspace) return 'gone';
    const namespace = await kube.find(NAMESPACES, { name: gone.namespace });
    const left = await Promise.all(
      [RESOURCES.AgentDeployment, RESOURCES.AgentRevision].map(async (ref) => {
        const { items } = await kube.list<KubeObject>(ref, { namespace: gone.namespace });
        return items.length;
      }),
    );
    return [
      namespace?.metadata.deletionTimestamp ?? namespace !== undefined,
      ...left,
      ...Object.keys(await rowsOf(gone)),
    ].join(' ');
  }

  function kill(victim: 'controller' | 'embedded' | 'api' | 'postgres'): boolean {
    const root = platform.process.pid ?? 0;
    const found =
      victim === 'postgres'
        ? descendants(root)
            .filter(({ command }) => /bin\/postgres /.test(command))
            .slice(0, 1)
        : programsBelow(root, victim);
    for (const { pid } of found) process.kill(pid, 'SIGKILL');
    return found.length > 0;
  }

  it('takes all that it has with it where the controller is killed at each step, and nothing else', async () => {
    const before = await ownOf(kept);
    const files = filesOf(kept).length;
    const all = await databases();
    await kube.delete(RESOURCES.Workspace, { name: gone.name });
    const steps: string[] = [];
    const others = ['postgres', 'embedded', 'api'] as const;
    await waitFor(
      async () => {
        const now = await step().catch(() => undefined);
        if (now === 'gone') return true;
        if (now === undefined || now === steps.at(-1) || !kill('controller')) return false;
        steps.push(now);
        const other = others[steps.length - 3];
        if (other !== undefined) kill(other);
        return false;
      },
      { what: 'the removal', timeoutMs: REMOVED_MS },
    );
    process.stderr.write(`killed after ${steps.length} steps:\n${steps.join('\n')}\n`);
    expect(steps.length).toBeGreaterThan(4);
    expect(await rowsOf(gone)).toEqual({});
    // a worker that had not noticed would have an hour, and one that failed when others were killed stays for its log
    await query(`UPDATE lake_garbage SET since = since - interval '2 hours'`);
    await kube.delete(JOBS, { namespace: 'agentplane-system', name: 'lake-seal' });
    await waitFor(() => filesOf(gone).length === 0, { what: 'the files to be deleted', timeoutMs: 180_000 });
    expect(await kube.find(NAMESPACES, { name: gone.namespace })).toBeUndefined();
    const left = await databases();
    expect(all.length - left.length).toBe(2);
    expect(await ownOf(kept)).toEqual(before);
    expect(filesOf(kept).length).toBeGreaterThanOrEqual(files);
  });
});
