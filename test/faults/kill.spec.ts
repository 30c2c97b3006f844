import { randomUUID } from 'node:crypto';
import { download, duckdb, listKeys, storeClient } from '../support/export-reader.js';
import { newDataFolder, type Platform, removeDataFolder, startPlatform } from '../support/platform.js';
import { killProgram } from '../support/process-tree.js';
import { Rest } from '../support/rest.js';
import { waitUntil } from '../support/wait-until.js';

const ROWS = 50_000;
const BATCH = 500;
const DAY = '2026-03-01';
const BODY = 'the quick brown fox jumps over the lazy dog. '.repeat(40);

interface Deployment {
  id: string;
  latest_revision_id: string;
  active_revision_id: string | null;
}

function dottedOrder(time: string, id: string): string {
  return `${time.replace(/[-:.]/g, '').replace('Z', '')}Z${id}`;
}

/** One finished root run; start times spread over the day so that every file has its own range. */
function generatedRun(at: number, project: string): Record<string, unknown> {
  const id = randomUUID();
  const seconds = String(Math.floor((at * 86_000) / ROWS));
  const start = new Date(Date.parse(`${DAY}T00:00:00Z`) + Number(seconds) * 1000 + (at % 1000));
  const time = start.toISOString().replace('Z', '000Z');
  return {
    id,
    trace_id: id,
    dotted_order: dottedOrder(time, id),
    name: 'generated',
    run_type: 'chain',
    session_name: project,
    start_time: time,
    end_time: time,
    inputs: { at, text: BODY },
    outputs: { at, text: BODY },
  };
}

/** Kills everything that may die, in the middle of an export and of a rollout, and counts afterwards. */
describe('SIGKILL', () => {
  const dataFolder = newDataFolder();
  let platform: Platform;
  let rest: Rest;
  const sent = new Set<string>();

  beforeAll(async () => {
    platform = await startPlatform(dataFolder);
    rest = new Rest(platform.credentials);
    for (let from = 0; from < ROWS; from += BATCH) {
      const post = Array.from({ length: BATCH }, (_, at) => generatedRun(from + at, 'many'));
      for (const run of post) sent.add(run.id as string);
      const { status } = await rest.post('/runs/batch', { post, patch: [] });
      expect(status).toBe(202);
    }
  }, 300_000);

  afterAll(async () => {
    await platform.stop();
    removeDataFolder(dataFolder);
  }, 60_000);

  async function create(secrets: { name: string; value: string }[]): Promise<Deployment> {
    const { body } = await rest.post<Deployment>('/v2/deployments', {
      name: 'rolling',
      source: 'internal_image',
      source_config: {},
      source_revision_config: { image_uri: 'sample-agent' },
      secrets,
    });
    return body;
  }

  async function deployed(deployment: Deployment, withinMs: number): Promise<void> {
    await waitUntil(
      'the rollout',
      async () =>
        (
          await rest.get<{ status: string }>(
            `/v2/deployments/${deployment.id}/revisions/${deployment.latest_revision_id}`,
          )
        ).body.status === 'DEPLOYED',
      withinMs,
    );
  }

  it('loses no row, doubles none and completes the rollout when worker, controller, listener and api are killed', async () => {
    const root = platform.process.pid ?? 0;
    const first = await create([{ name: 'A', value: '1' }]);
    await deployed(first, 90_000);

    const project = await waitUntil('the project', async () => {
      const { body } = await rest.get<{ id: string }[]>('/sessions?name=many');
      return body[0]?.id;
    });
    const destinations = await rest.get<{ id: string }[]>('/api/v1/bulk-exports/destinations');
    const created = await rest.post<{ id: string }>('/api/v1/bulk-exports', {
      bulk_export_destination_id: destinations.body[0]?.id,
      session_id: project,
      start_time: `${DAY}T00:00:00Z`,
      end_time: '2026-03-02T00:00:00Z',
      format_version: 'v2_beta',
    });
    expect(created.status).toBe(200);
    const second = await rest.patch<Deployment>(`/v2/deployments/${first.id}`, {
      secrets: [{ name: 'A', value: '2' }],
    });
    expect(second.status).toBe(200);

    await waitUntil('the export worker to be killed', () => killProgram(root, 'export-worker'), 60_000, 50);
    expect(killProgram(root, 'controller')).toBe(true);
    expect(killProgram(root, 'listener')).toBe(true);
    expect(killProgram(root, 'api')).toBe(true);

    await waitUntil(
      'the export',
      async () => {
        const { body } = await rest.get<{ status: string }>(`/api/v1/bulk-exports/${created.body.id}`);
        return body.status === 'COMPLETED';
      },
      240_000,
      500,
    );
    await deployed(second.body, 120_000);
    const now = await rest.get<Deployment>(`/v2/deployments/${first.id}`);
    expect(now.body.active_revision_id).toBe(second.body.latest_revision_id);

    const { objectStore, tenantId } = platform.credentials;
    const client = storeClient(objectStore);
    const all = await listKeys(client, objectStore.bucket, '');
    const keys = all.filter((key) => key.includes(`export_id=${created.body.id}/tenant_id=${tenantId}/`));
    const folder = await download(client, objectStore.bucket, keys);
    const rows = await duckdb(folder, 'SELECT id FROM FILES');
    expect(rows).toHaveLength(ROWS);
    expect(new Set(rows.map((row) => row.id))).toEqual(sent);
  }, 600_000);
});
