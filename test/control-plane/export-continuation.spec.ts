import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import type { FaultHook, FaultTarget } from '#lib/embedded-object-store';
import { openObjectStore, type ObjectStore } from '#lib/object-store';
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
const BUCKET = 'exports';
const RUNS_PER_DAY = 45;
/** So a day has three files. */
const FILE_ROWS = 20;

interface Manifest {
  readonly rows: number;
  readonly files: readonly { readonly key: string; readonly rows: number }[];
}

const isPart = ({ query }: FaultTarget): boolean => query.has('partNumber');
const isBegin = ({ method, query }: FaultTarget): boolean => method === 'POST' && query.has('uploads');

/** Refuses the second file of the second day, for good. */
const refuseSecondDay: FaultHook = (target) =>
  isBegin(target) && target.key.includes('day=2/part-00002')
    ? { kind: 'error', code: 'AccessDenied' }
    : undefined;

describe('an export that continues another', () => {
  const folder = temporaryFolder();
  const start = testControlPlane(testEmbeddedKube(), folder);
  let plane: ControlPlane;
  let node: WorkerNode;
  let sql: pg.Client;
  let store: ObjectStore;
  let url: string;
  let key: string;
  let projectId: string;
  let count = 0;
  let name: string;

  beforeAll(async () => {
    plane = await start({
      isForExports: true,
      controller: {
        AGENTPLANE_EXPORT_CONCURRENT_RUNS: '1',
        AGENTPLANE_EXPORT_FILE_ROWS: String(FILE_ROWS),
      },
    });
    sql = new pg.Client({ connectionString: plane.databaseUri });
    sql.on('error', () => undefined);
    await sql.connect();
    url = await plane.startApi();
    ({ key } = await plane.traces.apiKeys.mint(plane.tenantId, { name: 'test', scope: 'workspace' }));
    const { config } = (await plane.client.get(RESOURCES.BulkExportDestination, at('local'))).spec;
    const keys = { accessKeyId: 'AKTEST', secretAccessKey: 'secret' };
    store = openObjectStore({ endpoint: config.endpointUrl ?? '', allowPrivateEndpoints: true, ...keys });
    await ingest();
    node = new WorkerNode(plane);
  });
  afterAll(async () => {
    await node.stop();
    store.close();
    await sql.end();
    await plane.stop();
  });
  beforeEach(() => {
    name = `c${++count}`;
  });
  afterEach(() => {
    plane.fault = undefined;
  });

  const at = (object: string) => ({ namespace: NAMESPACE, name: object });
  const theExport = (object = name): Promise<BulkExport> =>
    plane.client.get(RESOURCES.BulkExport, at(object));

  async function startController(more: Readonly<Record<string, string>>): Promise<void> {
    await plane.program('controller').end('SIGTERM');
    await plane.startController(more);
  }

  async function ingest(): Promise<void> {
    const post = DAYS.flatMap((day) =>
      Array.from({ length: RUNS_PER_DAY }, (_, n) => {
        const start_time = new Date(Date.parse(`${day}T00:00:00Z`) + n * 1_800_000).toISOString();
        const run = { id: randomUUID(), run_type: 'chain', name: `r${n}`, session_name: 'p', start_time };
        return { run: Buffer.from(JSON.stringify(run)), fields: { inputs: Buffer.from('{}') } };
      }),
    );
    await plane.traces.ingest(plane.tenantId, { post, patch: [] });
    projectId = (await plane.traces.projects.ensure(plane.tenantId, 'p')).id;
  }

  async function begin(more: Partial<BulkExportSpec> = {}, object = name): Promise<string> {
    const spec = {
      destinationRef: { name: 'local' },
      tracingProject: { id: projectId },
      formatVersion: 'v2_beta',
      startTime: `${DAYS[0]}T00:00:00Z`,
      endTime: '2026-05-04T00:00:00Z',
      ...more,
    };
    const made = await plane.client.create(RESOURCES.BulkExport, {
      metadata: at(object),
      spec: spec as BulkExportSpec,
    });
    return waitFor(async () => idOf(await theExport(made.metadata.name)));
  }

  async function rest<T>(
    path: string,
    method = 'GET',
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ status: number; body: T }> {
    const response = await fetch(`${url}/api/v1/bulk-exports${path}`, {
      method,
      headers: { 'x-api-key': key, ...headers },
    });
    return { status: response.status, body: (await response.json()) as T };
  }

  interface Shown {
    readonly id: string;
    readonly status: string;
    readonly status_message: string;
    readonly rows_exported: number;
    readonly continues_bulk_export_id: string | null;
  }

  /** By REST: in the API server or in the archive. */
  async function ended(id: string, status: string): Promise<Shown> {
    const { body } = await waitFor(
      async () => {
        const answer = await rest<Shown>(`/${id}`);
        return /COMPLETED|FAILED|CANCELLED|TIMEDOUT/.test(answer.body.status) && answer;
      },
      { what: `${name} to end` },
    );
    expect([body.status, body.status_message]).toEqual([status, body.status_message]);
    return body;
  }

  async function continued(id: string, headers = {}): Promise<string> {
    const { status, body } = await rest<Shown>(`/${id}/continue`, 'POST', headers);
    expect({ status, body }).toMatchObject({ status: 200, body: { continues_bulk_export_id: id } });
    return body.id;
  }

  async function manifestOf(id: string, day: string): Promise<Manifest> {
    return await readManifest(`manifests/export_id=${id}/runs/${day}.json`);
  }

  async function readManifest(at: string): Promise<Manifest> {
    const found = await store.get(BUCKET, at);
    return JSON.parse(Buffer.concat(await found.toArray()).toString()) as Manifest;
  }

  /** The manifests of the last of a chain, and that of its export, name every object of all of it, and these hold every row once. */
  async function expectExact(chain: readonly string[]): Promise<void> {
    const last = chain.at(-1) ?? '';
    const manifests = await Promise.all(DAYS.map((day) => manifestOf(last, day)));
    const named = manifests.flatMap(({ files }) => files.map((file) => file.key));
    const stored: string[] = [];
    for (const id of chain)
      for await (const entry of store.list(BUCKET, `export_id=${id}/`)) stored.push(entry.key);
    expect([...named].sort()).toEqual([...stored].sort());
    const connection = await (await DuckDBInstance.create()).connect();
    const list = named.map((one) => `'${join(folder, 'store', BUCKET, one)}'`).join(', ');
    const read = await connection.runAndReadAll(
      `SELECT id FROM read_parquet([${list}], hive_partitioning = false) ORDER BY start_time, id, trace_id`,
    );
    const ids = read.getRowObjectsJson().map((row) => String(row['id']));
    connection.closeSync();
    const { rows } = await sql.query<{ id: string }>(
      'SELECT id FROM runs WHERE project_id = $1 ORDER BY start_time, id, trace_id',
      [projectId],
    );
    expect(ids).toEqual(rows.map(({ id }) => id));
    expect(manifests.reduce((sum, manifest) => sum + manifest.rows, 0)).toBe(rows.length);
    const whole = await readManifest(`manifests/export_id=${last}/export.json`);
    expect(whole).toMatchObject({ status: 'COMPLETED', rows: rows.length });
    expect(whole.files.map((file) => file.key).sort()).toEqual([...named].sort());
  }

  /** Objects that requests have completed or begun since. */
  function written(): string[] {
    const keys: string[] = [];
    const before = plane.fault;
    plane.fault = (target) => {
      if (isBegin(target)) keys.push(target.key);
      return before?.(target);
    };
    return keys;
  }

  it('keeps the days and files that are finished, and exports the rest', async () => {
    plane.fault = refuseSecondDay;
    const first = await begin();
    await ended(first, 'FAILED');
    const before = await waitFor(async () => {
      const one = await theExport();
      return one.status?.runs?.cancelled === 1 && one;
    });
    plane.fault = undefined;
    const keys = written();
    const second = await continued(first);
    const shown = await ended(second, 'COMPLETED');
    expect(shown.rows_exported).toBe(DAYS.length * RUNS_PER_DAY);
    // one of three files of the second day was there, none of the third
    expect(keys.map((one) => /day=.*/.exec(one)?.[0])).toEqual([
      'day=2/part-00002.parquet',
      'day=2/part-00003.parquet',
      'day=3/part-00001.parquet',
      'day=3/part-00002.parquet',
      'day=3/part-00003.parquet',
    ]);
    await expectExact([first, second]);
    expect((await theExport()).status).toEqual(before.status);
  });

  itLong(
    'keeps every row once after kills of its workers and of those before, and continues in turn',
    async () => {
      const chain: string[] = [];
      for (const day of [1, 3]) {
        // each ends with a worker that dies in a file of its day, twice
        plane.fault = (target) =>
          isPart(target) && target.key.includes(`day=${day}/part-00002`)
            ? { kind: 'delay', ms: 60_000 }
            : undefined;
        const hangs = (): Promise<unknown> => {
          const { promise, resolve } = Promise.withResolvers<void>();
          const before = plane.fault;
          plane.fault = (target) => {
            const fault = before?.(target);
            if (fault) resolve();
            return fault;
          };
          return promise;
        };
        const former = chain.at(-1);
        for (const attempt of [1, 2]) {
          const hanging = hangs();
          if (attempt === 1) chain.push(former === undefined ? await begin() : await continued(former));
          await hanging;
          const { metadata } = await waitFor(async () =>
            (await plane.client.list(RESOURCES.BulkExport, { namespace: NAMESPACE })).items.find(
              (one) => idOf(one) === chain.at(-1),
            ),
          );
          await node.kill(metadata.name);
        }
        await ended(chain.at(-1) ?? '', 'FAILED');
      }
      plane.fault = undefined;
      chain.push(await continued(chain.at(-1) ?? ''));
      await ended(chain.at(-1) ?? '', 'COMPLETED');
      await expectExact(chain);
    },
  );

  // what a stopped worker left is cleared a minute later at the earliest
  itLong('continues one that ran out of time, as a resource', async () => {
    await startController({ AGENTPLANE_EXPORT_TIMEOUT_MS: '4000' });
    plane.fault = (target) =>
      isPart(target) && target.key.includes('day=1/part-00003') ? { kind: 'delay', ms: 20_000 } : undefined;
    const first = await begin();
    await ended(first, 'TIMEDOUT');
    plane.fault = undefined;
    await startController({});
    const second = await begin({ continues: { id: first } }, `${name}-again`);
    await ended(second, 'COMPLETED');
    await expectExact([first, second]);
  });

  it('continues one that is in the archive', async () => {
    plane.fault = refuseSecondDay;
    const first = await begin();
    await ended(first, 'FAILED');
    await startController({ AGENTPLANE_EXPORT_HISTORY_MS: '1000' });
    await waitFor(async () => (await plane.client.find(RESOURCES.BulkExport, at(name))) === undefined);
    plane.fault = undefined;
    const once = { 'idempotency-key': randomUUID() };
    const second = await continued(first, once);
    await ended(second, 'COMPLETED');
    await expectExact([first, second]);
    const made = `continued-${first}-1`;
    await waitFor(async () => (await plane.client.find(RESOURCES.BulkExport, at(made))) === undefined);
    expect(await continued(first, once)).toBe(second);
    await waitFor(async () => (await rest<{ detail?: string }>(`/${first}/continue`, 'POST')).status === 409);
    await startController({});
  });

  it('fails where an adopted file was removed from the bucket', async () => {
    plane.fault = refuseSecondDay;
    const first = await begin();
    await ended(first, 'FAILED');
    plane.fault = undefined;
    const place = `export_id=${first}/tenant_id=${plane.tenantId}/session_id=${projectId}/resource=runs`;
    const lost = `${place}/year=2026/month=5/day=1/part-00002.parquet`;
    await store.delete(BUCKET, lost);
    const shown = await ended(await continued(first), 'FAILED');
    expect(shown.status_message).toMatch(
      new RegExp(
        `adopting the files of the export that is continued failed: ${lost} in bucket ${BUCKET} does not exist any more; make a new export$`,
      ),
    );
  });

  describe('that cannot be', () => {
    let first: string;

    beforeAll(async () => {
      plane.fault = refuseSecondDay;
      name = 'refused';
      first = await begin();
      await ended(first, 'FAILED');
      plane.fault = undefined;
    });

    /** Reason and message of a resource that was refused. */
    async function asResource(more: Partial<BulkExportSpec>): Promise<readonly unknown[]> {
      await begin(more);
      const found = await waitFor(async () => {
        const one = await theExport();
        return isFinishedExport(exportWireStatus(one)) && one;
      });
      const said = findCondition(found.status?.conditions, 'Ready');
      expect(findCondition(found.status?.conditions, 'Failed')?.message).toBe(said?.message);
      return [said?.reason, said?.message];
    }

    async function byRest(id: string): Promise<readonly unknown[]> {
      const { status, body } = await rest<{ detail: string }>(`/${id}/continue`, 'POST');
      return [status, body.detail];
    }

    it('names the state of one that was cancelled, the same in both interfaces', async () => {
      const id = await begin({ cancel: true }, 'cancelled');
      await ended(id, 'CANCELLED');
      const message = `continuing export ${id} failed: it is CANCELLED; only an export that is FAILED or TIMEDOUT can be continued`;
      expect(await byRest(id)).toEqual([400, message]);
      expect(await asResource({ continues: { id } })).toEqual(['NotContinuable', message]);
    });

    it('finds no export of a foreign id', async () => {
      const id = randomUUID();
      expect((await byRest(id))[0]).toBe(404);
      expect(await asResource({ continues: { id } })).toEqual([
        'PredecessorMissing',
        `continuing export ${id} failed: the workspace has no export of this id; make a new export`,
      ]);
    });

    it.each<[string, Partial<BulkExportSpec>]>([
      ['filter', { filter: 'eq(run_type, "llm")' }],
      ['formatVersion', { formatVersion: 'v1' }],
      ['endTime', { endTime: '2026-05-03T00:00:00Z' }],
    ])('needs the same %s', async (field, change) => {
      expect(await asResource({ continues: { id: first }, ...change })).toEqual([
        'NotContinuable',
        `continuing export ${first} failed: spec.${field} is another than that of the export; give it the same, or make a new export`,
      ]);
    });

    it('refuses a second continuation, the same in both interfaces', async () => {
      plane.fault = refuseSecondDay;
      const second = await continued(first);
      await ended(second, 'FAILED');
      const message = `continuing export ${first} failed: export ${second} (FAILED) continues it already; continue that one once it has failed`;
      expect(await byRest(first)).toEqual([409, message]);
      expect(await asResource({ continues: { id: first } })).toEqual(['AlreadyContinued', message]);
    });

    it('refuses a destination that leads elsewhere, and one that was deleted', async () => {
      const { spec } = await plane.client.get(RESOURCES.BulkExportDestination, at('local'));
      await plane.client.create(RESOURCES.BulkExportDestination, { metadata: at('moving'), spec });
      plane.fault = refuseSecondDay;
      const id = await begin({ destinationRef: { name: 'moving' } }, 'moved');
      await ended(id, 'FAILED');
      await plane.client.merge(RESOURCES.BulkExportDestination, at('moving'), {
        spec: { config: { prefix: 'elsewhere' } },
      });
      const message = `continuing export ${id} failed: prefix of BulkExportDestination moving was changed since, and its files are where it led before; make a new export`;
      expect(await byRest(id)).toEqual([400, message]);
      const given = { continues: { id }, destinationRef: { name: 'moving' } };
      expect(await asResource(given)).toEqual(['NotContinuable', message]);
      await plane.client.delete(RESOURCES.BulkExportDestination, at('moving'));
      await waitFor(async () => /was deleted; create it again/.test(String((await byRest(id))[1])));
    });
  });
});
