import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { ParquetWriter } from '#lib/parquet';
import { CopyBinaryReader, openPool, type Pool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { parseInstant, systemClock } from '#lib/time';
import { openTraceStore } from '../open-trace-store.js';
import { PostgresPayloadStore } from '../run/payload-store.js';
import { column, EXPORT_COLUMNS, type ExportColumn } from './export-columns.js';
import { PostgresExportSource } from './postgres-export-source.js';
import { prepareStore } from '../../testdata/test-trace-store.js';

const log = createLogger('test', 'silent');
const TENANT = randomUUID();

describe('the table of export columns', () => {
  const postgres = testPostgres();
  let pool: Pool;
  let projectId: string;
  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase(prepareStore);
    pool = openPool({ uri, applicationName: 'columns', settings: { timezone: 'UTC' }, log });
    const store = openTraceStore({ uri, log, clock: systemClock });
    await store.migrate();
    const id = randomUUID();
    const run = {
      id,
      trace_id: id,
      name: 'n',
      run_type: 'chain',
      start_time: '2026-11-20T12:00:00Z',
      tags: ['a', 'b'],
      inputs: { q: 1 },
      extra: { metadata: { thread_id: 'thread 1' } },
    };
    await store.ingest(TENANT, { post: [{ run: Buffer.from(JSON.stringify(run)) }], patch: [] });
    projectId = (await store.projects.ensure(TENANT, 'default')).id;
    await store.close();
  });
  afterAll(() => pool.end());

  /** The first row of an export with these columns, read from the file by another reader. */
  async function exported(
    columns: readonly ExportColumn[],
    format: 'v1' | 'v2_beta',
  ): Promise<Record<string, unknown>> {
    const rows = await new PostgresExportSource(pool, new PostgresPayloadStore(), columns).read({
      tenantId: TENANT,
      projectId,
      startTime: parseInstant('2026-11-20', { zone: 'optional' }) ?? 0n,
      endTime: parseInstant('2026-11-21', { zone: 'optional' }) ?? 0n,
    });
    const pieces: Buffer[] = [];
    const writer = new ParquetWriter({
      columns: rows.columns.map(({ fileType, ...rest }, field) => ({
        ...rest,
        field,
        type: fileType[format],
      })),
      compression: 'none',
      sink: async (bytes) => void pieces.push(Buffer.from(bytes)),
    });
    const reader = new CopyBinaryReader(rows.fields);
    for await (const chunk of rows.stream) {
      reader.push(chunk as Buffer);
      while (reader.next()) writer.add(reader);
    }
    await writer.end();
    writer.close();
    const file = new Uint8Array(Buffer.concat(pieces)).buffer;
    const [row] = await parquetReadObjects({ file, compressors });
    return row ?? {};
  }

  it('takes one more row for one more column, in files of both formats', async () => {
    const more = [
      ...EXPORT_COLUMNS,
      column('thread_id', 'text'),
      column('depth', 'int8', { required: true, sql: 'cardinality(r.parent_run_ids)::bigint' }),
    ];
    for (const format of ['v1', 'v2_beta'] as const)
      expect(await exported(more, format)).toMatchObject({ thread_id: 'thread 1', depth: 0n });
  });

  it('has lists as text in v1 and as lists in v2_beta', async () => {
    expect(await exported(EXPORT_COLUMNS, 'v1')).toMatchObject({ tags: '["a","b"]', inputs: '{"q":1}' });
    expect(await exported(EXPORT_COLUMNS, 'v2_beta')).toMatchObject({
      tags: ['a', 'b'],
      inputs: '{"q":1}',
    });
  });

  it('has each part of the cursor once, and payloads at the end', () => {
    const roles = EXPORT_COLUMNS.flatMap(({ cursor }) => cursor ?? []);
    expect([...roles].sort()).toEqual(['id', 'startTime', 'traceId']);
    const firstPayload = EXPORT_COLUMNS.findIndex(({ payload }) => payload);
    expect(EXPORT_COLUMNS.slice(firstPayload).every(({ payload }) => payload)).toBe(true);
  });
});
