import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { type BulkExport, type BulkExportSpec, RESOURCES } from '#lib/resources';
import { formatInstant, instantOf } from '#lib/time';
import { waitFor } from '#lib/testing';
import { testApi } from '../testdata/test-api.js';
import { coveredWindows, exportFigures } from './export-estimate.js';

const SPEC: BulkExportSpec = {
  destinationRef: { name: 'd' },
  tracingProject: { id: randomUUID() },
  startTime: '2026-11-01T00:00:00Z',
  format: 'parquet',
  formatVersion: 'v1',
  compression: 'zstd',
  cancel: false,
  suspend: false,
};
const NOW = instantOf(new Date('2026-11-20T12:00:00Z'));

function completed(status: BulkExport['status'], spec: Partial<BulkExportSpec> = {}): BulkExport {
  const condition = { type: 'Completed', status: 'True', reason: 'Completed', message: '' };
  return {
    apiVersion: 'agentplane.dev/v1alpha1',
    kind: 'BulkExport',
    metadata: { name: 'e' },
    spec: { ...SPEC, ...spec },
    status: { ...status, conditions: [{ ...condition, lastTransitionTime: '2026-11-20T00:00:00Z' }] },
  } as BulkExport;
}

describe('the windows of an estimate', () => {
  it.each<[string, Partial<BulkExportSpec>, readonly [string, number, number]]>([
    ['a part of a day', { endTime: '2026-11-01T10:00:00Z' }, ['2026-11-01T10:00:00Z', 1, 1]],
    ['days and a second', { endTime: '2026-11-03T00:00:01Z' }, ['2026-11-03T00:00:01Z', 1, 3]],
    ['a schedule of days', { intervalHours: 24 }, ['2026-11-20T00:00:00Z', 19, 19]],
    ['a schedule over midnights', { intervalHours: 36 }, ['2026-11-20T12:00:00Z', 13, 26]],
    [
      'a schedule in its first window',
      { intervalHours: 24, startTime: '2026-11-20T00:00:00Z' },
      ['2026-11-20T00:00:00Z', 0, 0],
    ],
    [
      'a schedule that begins later',
      { intervalHours: 24, startTime: '2026-12-01T00:00:00Z' },
      ['2026-12-01T00:00:00Z', 0, 0],
    ],
  ])('covers %s', (_name, spec, [end, windows, runs]) => {
    const found = coveredWindows({ ...SPEC, ...spec }, NOW);
    expect([formatInstant(found.window.end, 'if-any'), found.windows, found.runs]).toEqual([
      end,
      windows,
      runs,
    ]);
  });
});

describe('the figures of an estimate', () => {
  it('measures completed exports with the same columns and compression', () => {
    const earlier = [
      completed({
        rows: 10_000,
        bytes: 5_000_000,
        startedAt: '2026-11-20T00:00:00Z',
        finishedAt: '2026-11-20T00:00:04Z',
      }),
      completed({ rows: 2_000, bytes: 400_000 }),
      completed({ rows: 50_000, bytes: 10 }, { compression: 'none' }),
      completed({ rows: 50_000, bytes: 10 }, { exportFields: ['id'] }),
      completed({ rows: 50_000, bytes: 10 }, { format: 'jsonl' }),
      completed({ rows: 0, bytes: 0 }),
    ];
    expect(exportFigures(SPEC, earlier)).toEqual({
      bytesPerRow: 450,
      rowsPerSecond: 2_500,
      measuredExports: 2,
    });
  });

  it.each<[string, Partial<BulkExportSpec>, number]>([
    ['all columns', {}, 1_300],
    ['columns without payloads', { exportFields: ['id', 'name'] }, 200],
    ['gzip', { compression: 'gzip' }, 1_560],
  ])('defaults to what %s has where too little was exported', (_name, spec, bytesPerRow) => {
    const earlier = [completed({ rows: 999, bytes: 5_000_000 }, spec)];
    expect(exportFigures({ ...SPEC, ...spec }, earlier)).toEqual({
      bytesPerRow,
      rowsPerSecond: 20_000,
      measuredExports: 0,
    });
  });
});

describe('the route of estimates', () => {
  const { api, tenant } = testApi();
  const PATH = '/api/v1/bulk-exports';
  let body: Readonly<Record<string, unknown>> = {};

  beforeAll(async () => {
    const id = randomUUID();
    await api.client.create(RESOURCES.BulkExportDestination, {
      metadata: { name: 'd', namespace: tenant.namespace, annotations: { 'agentplane.dev/id': id } },
      spec: { type: 'object_store', config: { bucketName: 'bucket', includeBucketInPrefix: true } },
    });
    const post = Array.from({ length: 30 }, (_, n) => {
      const run = { id: randomUUID(), name: 'n', run_type: n % 3 === 0 ? 'llm' : 'chain', session_name: 'p' };
      const start_time = `2026-11-0${1 + (n % 2)}T10:00:00Z`;
      return { run: Buffer.from(JSON.stringify({ ...run, trace_id: run.id, start_time })) };
    });
    expect((await api.store.ingest(tenant.tenantId, { post, patch: [] })).refused).toEqual([]);
    body = {
      bulk_export_destination_id: id,
      session_id: (await api.store.projects.ensure(tenant.tenantId, 'p')).id,
      start_time: '2026-11-01T00:00:00Z',
      end_time: '2026-11-02T00:00:00Z',
    };
    await waitFor(async () => (await tenant.call('GET', `${PATH}/destinations/${id}`)).status === 200);
  });

  const estimate = (over: object = {}) => tenant.call('POST', `${PATH}/estimate`, { ...body, ...over });

  it('answers rows, bytes and runs, and makes nothing', async () => {
    expect((await estimate()).json).toEqual({
      start_time: '2026-11-01T00:00:00.000000Z',
      end_time: '2026-11-02T00:00:00.000000Z',
      windows: 1,
      runs: 1,
      rows: 15,
      exact: true,
      bytes: 19_500,
      bytes_per_row: 1_300,
      measured_exports: 0,
      seconds: 3,
    });
    expect((await estimate({ filter: 'eq(run_type, "llm")' })).json).toMatchObject({ rows: 5, exact: true });
    expect((await tenant.call('GET', PATH)).json).toEqual([]);
  });

  it('answers about how many rows a window has that has not ended, and counts the ended windows of a schedule', async () => {
    const open = await estimate({ end_time: '2036-11-02T00:00:00Z' });
    expect(open.json).toMatchObject({ rows: 30, exact: false, windows: 1 });
    const { json } = await estimate({ end_time: null, interval_hours: 24 });
    expect(json.windows).toBeGreaterThan(1);
    expect(json).toMatchObject({ rows: 30, exact: true, runs: json.windows });
  });

  it.each<[string, object]>([
    ['no end', { end_time: null }],
    ['an end before the start', { end_time: '2026-10-01T00:00:00Z' }],
    ['two ends', { interval_hours: 24 }],
    ['a filter without meaning', { filter: 'eq(nmae, "x")' }],
    ['a column that does not exist', { export_fields: ['nope'] }],
    ['a destination that does not exist', { bulk_export_destination_id: randomUUID() }],
    ['a project that does not exist', { session_id: randomUUID() }],
  ])('refuses %s in the words of a request to create', async (_name, over) => {
    const refused = await estimate(over);
    const { status, json } = await tenant.call('POST', PATH, { ...body, ...over });
    expect(status).toBeGreaterThanOrEqual(400);
    expect([refused.status, refused.json]).toEqual([status, json]);
  });

  it('refuses a workspace whose plan has no exports', async () => {
    const other = await api.workspace('developer');
    expect((await other.call('POST', `${PATH}/estimate`, body)).status).toBe(403);
  });
});
