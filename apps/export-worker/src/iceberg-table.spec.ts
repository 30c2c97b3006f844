import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { BulkExportRunSpec } from '#lib/resources';
import { testPostgres } from '#lib/testing';
import { EXPORT_COLUMNS, FEEDBACK_COLUMNS_OF_EXPORTS, tableColumns } from '#lib/trace-store';
import { ExportStand } from '../testdata/export-stand.js';

const DAY = '2026-11-20';

interface Snapshot {
  readonly 'snapshot-id': number;
  readonly 'sequence-number': number;
  readonly 'manifest-list': string;
  readonly summary: Readonly<Record<string, string>>;
}

interface Metadata {
  readonly 'table-uuid': string;
  readonly 'current-snapshot-id': number;
  readonly 'last-sequence-number': number;
  readonly snapshots: readonly Snapshot[];
  readonly schemas: readonly { readonly fields: readonly { readonly id: number; readonly name: string }[] }[];
  readonly 'partition-specs': readonly { readonly fields: readonly object[] }[];
}

describe('the table over the files of exports', () => {
  const postgres = testPostgres();
  let stand: ExportStand;
  let projectId: string;

  beforeAll(async () => {
    stand = await ExportStand.start((await postgres.freshDatabase()).uri);
    const runs = Array.from({ length: 6 }, (_, n) => ({
      run: { name: `run ${n}`, start_time: `${DAY}T0${n}:30:00Z`, tags: ['a', `t${n}`] },
      fields: { inputs: `${n}` },
    }));
    projectId = await stand.ingest('tables', runs);
  });
  afterAll(() => stand.stop());
  afterEach(() => {
    stand.fault = undefined;
  });

  /** The window of an hour of a schedule. */
  function windowOf(scheduleId: string, hour: number, change: Partial<BulkExportRunSpec> = {}) {
    const startTime = `${DAY}T0${hour}:00:00Z`;
    const endTime = `${DAY}T0${hour}:59:59.999999Z`;
    const exportWindow = { startTime, endTime, scheduleId };
    const spec = {
      ...stand.specOf(projectId, DAY),
      startTime,
      endTime,
      exportWindow,
      table: 'iceberg' as const,
      ...change,
    };
    const [uid, exportUid] = [randomUUID(), randomUUID()];
    const begin = (attempt = 1) => stand.work(spec, uid, attempt, { AGENTPLANE_EXPORT_UID: exportUid });
    return { spec, begin };
  }

  async function read(key: string): Promise<Buffer> {
    return Buffer.concat(await (await stand.store.get(stand.bucket, key)).toArray());
  }

  async function metadataOf(folder: string): Promise<Metadata> {
    const version = (await read(`x/tables/${folder}/metadata/version-hint.text`)).toString();
    return JSON.parse(
      (await read(`x/tables/${folder}/metadata/v${version}.metadata.json`)).toString(),
    ) as Metadata;
  }

  /** Ids of the exports whose manifests the current list names. */
  async function exportsOf(metadata: Metadata): Promise<readonly string[]> {
    const list = await read(
      metadata.snapshots.at(-1)?.['manifest-list'].replace(`s3://${stand.bucket}/`, '') ?? '',
    );
    return [...list.toString('latin1').matchAll(/metadata\/([0-9a-f-]{36})-m0\.avro/g)].map(
      ([, id = '']) => id,
    );
  }

  it('has an id for every column, and none twice', () => {
    for (const [resource, columns] of [
      ['runs', EXPORT_COLUMNS],
      ['feedback', FEEDBACK_COLUMNS_OF_EXPORTS],
    ] as const) {
      const ids = tableColumns(columns, resource, 'v1').map(({ fieldId }) => fieldId);
      expect(ids).toHaveLength(columns.length);
      expect(new Set(ids).size).toBe(columns.length);
    }
  });

  it('grows by one snapshot with each window of a schedule', async () => {
    const scheduleId = randomUUID();
    const windows = [windowOf(scheduleId, 0), windowOf(scheduleId, 1), windowOf(scheduleId, 9)];
    for (const { begin } of windows) expect(await begin().ended).toBe(0);
    const metadata = await metadataOf(`schedule=${scheduleId}/runs`);
    expect(metadata.snapshots.map(({ summary }) => summary['total-records'])).toEqual(['1', '2', '2']);
    expect(metadata['current-snapshot-id']).toBe(metadata.snapshots[2]?.['snapshot-id']);
    expect(metadata.snapshots.map((snapshot) => snapshot['sequence-number'])).toEqual([1, 2, 3]);
    expect(await exportsOf(metadata)).toEqual(windows.map(({ spec }) => spec.exportId));
    expect(metadata['partition-specs'][0]?.fields).toMatchObject([
      { name: 'start_time_day', transform: 'day' },
    ]);
  });

  it('belongs to the export alone where no schedule made it, with the columns that it has', async () => {
    const change = { exportFields: ['id', 'name'] as NonNullable<BulkExportRunSpec['exportFields']> };
    const { spec } = windowOf('', 2, change);
    const { scheduleId: _none, ...exportWindow } = spec.exportWindow;
    const alone = { ...spec, exportWindow };
    expect(await stand.work(alone, randomUUID(), 1, { AGENTPLANE_EXPORT_UID: randomUUID() }).ended).toBe(0);
    const metadata = await metadataOf(`export_id=${spec.exportId}/runs`);
    expect(metadata.schemas[0]?.fields).toMatchObject([
      { id: 1, name: 'id' },
      { id: 8, name: 'name' },
    ]);
    expect(metadata['partition-specs'][0]?.fields).toEqual([]);
  });

  it.each(['-m0.avro', 'snap-', 'v2.metadata.json', 'version-hint.text', 'export.json'])(
    'has each window once when its worker was killed at %s',
    async (word) => {
      const scheduleId = randomUUID();
      expect(await windowOf(scheduleId, 0).begin().ended).toBe(0);
      const second = windowOf(scheduleId, 1);
      stand.fault = ({ method, key }) => {
        if (method !== 'PUT' || !key.includes(word)) return undefined;
        worker.kill('SIGKILL');
        return { kind: 'lost-answer' };
      };
      const worker = second.begin();
      expect(await worker.ended).toBe('SIGKILL');
      stand.fault = undefined;
      expect(await second.begin(2).ended).toBe(0);
      // by the hint
      expect(await exportsOf(await metadataOf(`schedule=${scheduleId}/runs`))).toHaveLength(2);
      const third = windowOf(scheduleId, 2);
      expect(await third.begin().ended).toBe(0);
      const metadata = await metadataOf(`schedule=${scheduleId}/runs`);
      const ids = await exportsOf(metadata);
      expect(ids.slice(1)).toEqual([second.spec.exportId, third.spec.exportId]);
      expect(metadata.snapshots.at(-1)?.summary['total-records']).toBe('3');
    },
  );

  it('keeps both of two windows that end at the same time', async () => {
    const scheduleId = randomUUID();
    const both = [windowOf(scheduleId, 0), windowOf(scheduleId, 1), windowOf(scheduleId, 2)];
    const arrived: (() => void)[] = [];
    stand.fault = ({ method, key }) => {
      if (method !== 'PUT' || !key.endsWith('/v1.metadata.json')) return undefined;
      const { promise: until, resolve } = Promise.withResolvers<void>();
      arrived.push(resolve);
      if (arrived.length === both.length) for (const release of arrived) release();
      return { kind: 'hold', until };
    };
    expect(await Promise.all(both.map(({ begin }) => begin().ended))).toEqual([0, 0, 0]);
    const metadata = await metadataOf(`schedule=${scheduleId}/runs`);
    expect([...(await exportsOf(metadata))].sort()).toEqual(both.map(({ spec }) => spec.exportId).sort());
    expect(metadata.snapshots.at(-1)?.summary['total-records']).toBe('3');
  });
});
