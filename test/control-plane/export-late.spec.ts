import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import {
  type BulkExport,
  type BulkExportSpec,
  exportWireStatus,
  findCondition,
  idOf,
  isFinishedExport,
  RESOURCES,
} from '#lib/resources';
import { itLong, temporaryFolder, testEmbeddedKube, waitFor } from '#lib/testing';
import { type ControlPlane, NAMESPACE, testControlPlane } from './control-plane.js';
import { WorkerNode } from './worker-node.js';

const DAYS = ['2026-05-01', '2026-05-02', '2026-05-03'] as const;
const RUNS_PER_DAY = 60;
const WINDOW = { startTime: `${DAYS[0]}T00:00:00Z`, endTime: '2026-05-04T00:00:00Z' };

interface Shown {
  readonly id: string;
  readonly status: string;
  readonly status_message: string;
  readonly rows_exported: number;
  readonly late_runs_of_bulk_export_id: string | null;
}

interface Late {
  readonly late_runs: number;
  readonly exact: boolean;
  readonly days: readonly {
    readonly start_time: string;
    readonly late_runs: number | null;
    readonly unknown: string | null;
  }[];
}

describe('the export of late runs', () => {
  const folder = temporaryFolder();
  const start = testControlPlane(testEmbeddedKube(), folder);
  let plane: ControlPlane;
  let node: WorkerNode;
  let sql: pg.Client;
  let url: string;
  let key: string;
  let projectId: string;
  let count = 0;
  let name: string;

  beforeAll(async () => {
    plane = await start({ isForExports: true, controller: { AGENTPLANE_EXPORT_FILE_ROWS: '40' } });
    sql = new pg.Client({ connectionString: plane.databaseUri });
    sql.on('error', () => undefined);
    await sql.connect();
    url = await plane.startApi();
    ({ key } = await plane.traces.apiKeys.mint(plane.tenantId, { name: 'test', scope: 'workspace' }));
    node = new WorkerNode(plane);
  });
  afterAll(async () => {
    await node.stop();
    await sql.end();
    await plane.stop();
  });
  beforeEach(async () => {
    name = `l${++count}`;
    projectId = (await plane.traces.projects.ensure(plane.tenantId, name)).id;
  });

  const at = (object: string) => ({ namespace: NAMESPACE, name: object });

  /** @returns ids of the runs that were added */
  async function add(days: readonly string[], perDay: number): Promise<string[]> {
    const post = days.flatMap((day) =>
      Array.from({ length: perDay }, () => {
        const start_time = new Date(
          Date.parse(`${day}T00:00:00Z`) + Math.random() * 86_400_000,
        ).toISOString();
        const run = { id: randomUUID(), run_type: 'chain', name: 'made', session_name: name, start_time };
        return { id: run.id, run: Buffer.from(JSON.stringify(run)), fields: { inputs: Buffer.from('{}') } };
      }),
    );
    expect((await plane.traces.ingest(plane.tenantId, { post, patch: [] })).refused).toEqual([]);
    return post.map(({ id }) => id);
  }
  async function rename(ids: readonly string[]): Promise<void> {
    const patch = ids.map((id) => ({
      run: Buffer.from(JSON.stringify({ id, trace_id: id, name: 'changed' })),
      fields: {},
    }));
    expect((await plane.traces.ingest(plane.tenantId, { post: [], patch })).refused).toEqual([]);
  }
  async function rest<T>(path: string, method = 'GET', headers: Record<string, string> = {}) {
    const response = await fetch(`${url}/api/v1/bulk-exports${path}`, {
      method,
      headers: { 'x-api-key': key, ...headers },
    });
    return { status: response.status, body: (await response.json()) as T };
  }
  async function begin(more: Partial<BulkExportSpec> = {}, object = name): Promise<string> {
    const spec = {
      destinationRef: { name: 'local' },
      tracingProject: { id: projectId },
      formatVersion: 'v2_beta',
      ...WINDOW,
      ...more,
    };
    await plane.client.create(RESOURCES.BulkExport, { metadata: at(object), spec: spec as BulkExportSpec });
    return waitFor(async () => idOf(await plane.client.get<BulkExport>(RESOURCES.BulkExport, at(object))));
  }
  async function completed(id: string): Promise<Shown> {
    const { body } = await waitFor(
      async () => {
        const answer = await rest<Shown>(`/${id}`);
        return /COMPLETED|FAILED|CANCELLED|TIMEDOUT/.test(answer.body.status) && answer;
      },
      { what: `${id} to end` },
    );
    expect([body.status, body.status_message]).toEqual(['COMPLETED', body.status_message]);
    return body;
  }
  async function exportLate(id: string, headers: Record<string, string> = {}): Promise<string> {
    const { status, body } = await rest<Shown>(`/${id}/late`, 'POST', headers);
    expect({ status, body }).toMatchObject({ status: 200, body: { late_runs_of_bulk_export_id: id } });
    await completed(body.id);
    return body.id;
  }

  /** Names of runs by id, as the files of exports have them: those of later ones count. */
  async function read(chain: readonly string[]): Promise<Map<string, string>> {
    const connection = await (await DuckDBInstance.create()).connect();
    const found = new Map<string, string>();
    for (const id of chain) {
      const runs = await rest<readonly { metadata: { result: { exported_files: readonly string[] } } }[]>(
        `/${id}/runs`,
      );
      const files = runs.body.flatMap(({ metadata }) => metadata.result.exported_files);
      if (files.length === 0) continue;
      const list = files.map((one) => `'${join(folder, 'store', one)}'`).join(', ');
      const rows = await connection.runAndReadAll(
        `SELECT id, name FROM read_parquet([${list}], hive_partitioning = false)`,
      );
      for (const row of rows.getRowObjectsJson()) found.set(String(row['id']), String(row['name']));
    }
    connection.closeSync();
    return found;
  }
  async function stored(): Promise<[string, string][]> {
    const { rows } = await sql.query<{ id: string; name: string }>(
      'SELECT id, name FROM runs WHERE project_id = $1 ORDER BY id',
      [projectId],
    );
    return rows.map((row) => [row.id, row.name]);
  }
  const sorted = (found: ReadonlyMap<string, string>): [string, string][] =>
    [...found].sort(([a], [b]) => (a < b ? -1 : 1));

  it('has the runs that came and changed since, and no others', async () => {
    const [first = '', second = ''] = await add(DAYS, RUNS_PER_DAY);
    const made = await begin();
    await completed(made);
    expect((await rest<Late>(`/${made}/late`)).body).toMatchObject({ late_runs: 0, exact: true });
    const added = await add([DAYS[2]], 7);
    await rename([first, second]);
    expect((await rest<Late>(`/${made}/late`)).body).toMatchObject({
      late_runs: 9,
      exact: true,
      days: [{ late_runs: 2 }, { late_runs: 0 }, { late_runs: 7 }],
    });
    const late = await exportLate(made, { 'idempotency-key': `late-${name}` });
    expect(await exportLate(made, { 'idempotency-key': `late-${name}` })).toBe(late);
    expect([...(await read([late])).keys()].sort()).toEqual([first, second, ...added].sort());
    expect(sorted(await read([made, late]))).toEqual(await stored());
    expect((await rest<Late>(`/${late}/late`)).body.late_runs).toBe(0);
  });

  it('misses nothing of writers that are at work all the time', async () => {
    const kept = await add(DAYS, RUNS_PER_DAY);
    let isOver = false;
    const writers = Array.from({ length: 3 }, async (_, writer) => {
      for (let n = 0; !isOver; n++) {
        const added = await add(DAYS, 2);
        await rename([...added.slice(0, 2), ...kept.slice((n * 3 + writer) % kept.length).slice(0, 1)]);
        await setTimeout(200);
      }
    });
    const made = await begin();
    await completed(made);
    const chain = [made, await exportLate(made)];
    isOver = true;
    await Promise.all(writers);
    chain.push(await exportLate(chain.at(-1) ?? ''));
    expect(sorted(await read(chain))).toEqual(await stored());
    expect((await rest<Late>(`/${chain.at(-1) ?? ''}/late`)).body).toMatchObject({
      late_runs: 0,
      exact: true,
    });
  });

  itLong('goes on after a worker was killed', async () => {
    const made = await begin();
    await completed(made);
    const added = await add(DAYS, RUNS_PER_DAY);
    plane.fault = ({ query, key: object }) =>
      query.has('partNumber') && object.includes('part-00002') ? { kind: 'delay', ms: 60_000 } : undefined;
    const { id } = (await rest<Shown>(`/${made}/late`, 'POST')).body;
    const { metadata } = await waitFor(async () =>
      (await plane.client.list(RESOURCES.BulkExport, { namespace: NAMESPACE })).items.find(
        (object) => idOf(object) === id,
      ),
    );
    await waitFor(async () => (await rest<Shown>(`/${id}`)).body.rows_exported > 0);
    await node.kill(metadata.name);
    plane.fault = undefined;
    await completed(id);
    expect([...(await read([id])).keys()].sort()).toEqual(added.sort());
  });

  it('refuses by REST what has no late runs, or of which nothing is known', async () => {
    const running = await begin({ endTime: '2126-05-04T00:00:00Z' }, `${name}-running`);
    for (const method of ['GET', 'POST'])
      expect((await rest<{ detail: string }>(`/${running}/late`, method)).body.detail).toContain(
        'only an export that is COMPLETED has late runs',
      );
    await plane.client.merge(RESOURCES.BulkExport, at(`${name}-running`), { spec: { cancel: true } });
    const made = await begin();
    await completed(made);
    await sql.query('UPDATE export_progress SET read_from = NULL');
    const { body } = await rest<Late>(`/${made}/late`);
    expect(body).toMatchObject({ late_runs: 0, exact: false });
    expect(body.days.map(({ late_runs, unknown }) => [late_runs, unknown])).toEqual(
      DAYS.map(() => [null, 'no_mark']),
    );
    const refused = await rest<{ detail: string }>(`/${made}/late`, 'POST');
    expect([refused.status, refused.body.detail]).toEqual([
      400,
      expect.stringContaining('nothing says what its run of 2026-05-01T00:00:00Z has read'),
    ]);
    // as a resource it fails, and exports nothing
    await begin({ lateRunsOf: { id: made } }, `${name}-late`);
    expect(await reasonOf(`${name}-late`)).toEqual([
      'RunFailed',
      expect.stringContaining('nothing says what'),
    ]);
  });

  it.each<[string, Partial<BulkExportSpec>, string, string]>([
    ['another filter', { filter: 'eq(status, "error")' }, 'LateRunsUnknown', 'spec.filter is another'],
    ['another window', { endTime: '2026-05-03T00:00:00Z' }, 'LateRunsUnknown', 'spec.endTime is another'],
    [
      'an unknown export',
      { lateRunsOf: { id: randomUUID() } },
      'PredecessorMissing',
      'has no export of this id',
    ],
  ])('refuses %s as a resource', async (_name, more, reason, message) => {
    const made = await begin();
    await completed(made);
    await begin({ lateRunsOf: { id: made }, ...more }, `${name}-late`);
    expect(await reasonOf(`${name}-late`)).toEqual([reason, expect.stringContaining(message)]);
  });

  /** Of an export that has failed. */
  async function reasonOf(object: string): Promise<readonly unknown[]> {
    const found = await waitFor(async () => {
      const one = await plane.client.get<BulkExport>(RESOURCES.BulkExport, at(object));
      return isFinishedExport(exportWireStatus(one)) && one;
    });
    const failed = findCondition(found.status?.conditions, 'Failed');
    return [failed?.reason, failed?.message];
  }
});
