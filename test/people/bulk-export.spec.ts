import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { waitFor } from '#lib/testing';
import { download, duckdb, listKeys, storeClient } from '../support/export-reader.js';
import { Rest } from '../support/rest.js';
import { sharedPlatform } from '../support/shared-platform.js';

const FOLDER = 'root_folder_prefix';
const TIMES = ['2024-01-01T00:00:00Z', '2024-01-01T23:59:59.999999Z', '2024-01-02T12:00:00Z'];
const HOUR_MS = 3_600_000;

interface Made {
  readonly id: string;
  readonly status: string;
}

interface Run extends Made {
  readonly session_id: string;
  readonly source_bulk_export_id: string | null;
  readonly start_time: string;
  readonly metadata: { readonly prefix: string; readonly result: Readonly<Record<string, unknown>> };
}

/** The calls of LangSmith's pages about bulk export by curl, with the members and values that they have there. */
describe('the examples of bulk export in the documentation of LangSmith', () => {
  const platform = sharedPlatform();
  let sessionId = '';
  let destinationId = '';
  let exportId = '';

  /** @returns the status of the answer and its body */
  async function curl<T>(
    method: string,
    path: string,
    data?: object,
  ): Promise<{ readonly status: number; readonly body: T }> {
    const { restUrl, apiKey, tenantId } = platform.credentials;
    const headers = ['Content-Type: application/json', `X-API-Key: ${apiKey}`, `X-Tenant-Id: ${tenantId}`];
    const { stdout } = await promisify(execFile)('curl', [
      ...['--silent', '--request', method, '--url', `${restUrl}/api/v1/bulk-exports${path}`],
      ...headers.flatMap((header) => ['--header', header]),
      ...(data ? ['--data', JSON.stringify(data)] : []),
      ...['--write-out', '\n%{http_code}'],
    ]);
    const [text = '', status = ''] = stdout.split(/\n(?=\d+$)/);
    return { status: Number(status), body: JSON.parse(text) as T };
  }

  async function done<T = Made>(method: string, path: string, data?: object): Promise<T> {
    const { status, body } = await curl<T>(method, path, data);
    expect([status, body]).toEqual([200, expect.anything()]);
    return body;
  }

  const window = () => ({
    bulk_export_destination_id: destinationId,
    session_id: sessionId,
    start_time: '2024-01-01T00:00:00Z',
    end_time: '2024-01-03T00:00:00Z',
    format_version: 'v2_beta',
  });

  async function completed(id: string): Promise<void> {
    const status = async (): Promise<boolean> => {
      const { status: word } = await done('GET', `/${id}`);
      expect(['Created', 'Running', 'Completed']).toContain(word);
      return word === 'Completed';
    };
    await waitFor(status, { what: 'the export to be Completed' });
  }

  /** Parquet files below the folder of an export. */
  async function rowsOf(id: string, sql: string): Promise<Record<string, unknown>[]> {
    const { objectStore, tenantId } = platform.credentials;
    const client = storeClient(objectStore);
    const below = `${FOLDER}/export_id=${id}/tenant_id=${tenantId}/session_id=${sessionId}/`;
    const keys = await listKeys(client, objectStore.bucket, below);
    return duckdb(await download(client, objectStore.bucket, keys), sql);
  }

  const s3 = () => {
    const { bucket, region, endpoint } = platform.credentials.objectStore;
    return { bucket_name: bucket, prefix: FOLDER, region, endpoint_url: endpoint };
  };
  const keys = () => {
    const { accessKeyId, secretAccessKey } = platform.credentials.objectStore;
    return { access_key_id: accessKeyId, secret_access_key: secretAccessKey };
  };

  beforeAll(async () => {
    const rest = new Rest(platform.credentials);
    const post = TIMES.map((time, at) => {
      const id = randomUUID();
      const dotted_order = `${time.replace(/[-:.]/g, '').replace('Z', '')}Z${id}`;
      const times = { start_time: time, end_time: time, dotted_order };
      return { id, trace_id: id, name: `run ${at}`, run_type: 'llm', session_name: 'exported', ...times };
    });
    expect((await rest.post('/runs/batch', { post, patch: [] })).status).toBe(202);
    const { body } = await rest.get<readonly Made[]>('/sessions?name=exported');
    sessionId = body[0]?.id ?? '';
  });

  it('creates a destination of type s3', async () => {
    const made = await done<Made & Readonly<Record<string, unknown>>>('POST', '/destinations', {
      destination_type: 's3',
      display_name: 'My S3 Destination',
      config: { ...s3(), include_bucket_in_prefix: true },
      credentials: keys(),
    });
    expect(made).toMatchObject({
      tenant_id: platform.credentials.tenantId,
      destination_type: 's3',
      display_name: 'My S3 Destination',
      config: { ...s3(), include_bucket_in_prefix: true },
      credentials_keys: ['access_key_id', 'secret_access_key'],
    });
    destinationId = made.id;
  });

  it('creates an export, whose status ends with Completed', async () => {
    const made = await done('POST', '', window());
    expect(made).toMatchObject({ ...window(), status: 'Created', all_experiments: false });
    exportId = made.id;
    await completed(exportId);
    const rows = await rowsOf(exportId, 'SELECT name FROM FILES ORDER BY start_time');
    expect(rows.map(({ name }) => name)).toEqual(['run 0', 'run 1', 'run 2']);
  });

  it('lists the runs of an export, and all exports', async () => {
    const runs = await done<readonly Run[]>('GET', `/${exportId}/runs`);
    expect(runs.map(({ status, session_id: id, metadata }) => [status, id, metadata.prefix])).toEqual(
      [1, 2].map(() => ['Completed', sessionId, FOLDER]),
    );
    expect(runs.map(({ metadata }) => metadata.result['rows_written'])).toEqual([2, 1]);
    expect(await done('GET', `/${exportId}/runs/${runs[0]?.id}`)).toEqual(runs[0]);
    const all = await done<readonly Made[]>('GET', '');
    expect(all.find(({ id }) => id === exportId)?.status).toBe('Completed');
  });

  it('exports some fields, with a filter, in each compression', async () => {
    const fields = ['id', 'name', 'run_type', 'start_time', 'end_time', 'status'];
    const more = { export_fields: [...fields, 'total_tokens', 'total_cost'], filter: 'eq(name, "run 2")' };
    const made = [];
    for (const compression of ['zstandard', 'gzip', 'snappy', 'none'])
      made.push(await done<Made>('POST', '', { ...window(), ...more, compression }));
    for (const { id } of made) {
      await completed(id);
      const [row, ...others] = await rowsOf(id, 'SELECT * FROM FILES');
      expect([row?.['name'], others]).toEqual(['run 2', []]);
      expect(Object.keys(row ?? {})).toEqual(more.export_fields);
    }
  });

  it('stops an export', async () => {
    const later = new Date(Date.now() + HOUR_MS).toISOString();
    const { id } = await done('POST', '', { ...window(), end_time: later });
    await done('PATCH', `/${id}`, { status: 'Cancelled' });
    await waitFor(async () => (await done('GET', `/${id}`)).status === 'Cancelled');
  });

  it('makes the exports of a schedule, and stops it', async () => {
    // hours that have ended, with the ten minutes after them
    const hours = Math.floor((Date.now() - 600_000) / HOUR_MS);
    const [start_time, next] = [2, 1].map((ago) =>
      new Date((hours - ago) * HOUR_MS).toISOString().replace('.000Z', 'Z'),
    );
    const { end_time: _none, ...request } = { ...window(), start_time, interval_hours: 1 };
    const { id, status } = await done('POST', '', request);
    expect(status).toBe('IntervalScheduled');
    const runsOf = () => done<readonly Run[]>('GET', `/runs?source_bulk_export_id=${id}&limit=10&offset=0`);
    await waitFor(async () => (await runsOf()).filter((run) => run.status === 'Completed').length >= 2);
    const exports = (await done<readonly Run[]>('GET', '')).filter(
      ({ source_bulk_export_id: source }) => source === id,
    );
    const starts = exports.map((one) => one.start_time).toSorted();
    // the window that ended less than ten minutes ago waits beside them
    expect([starts.slice(0, 2), new Set(starts).size]).toEqual([[start_time, next], starts.length]);
    await done('PATCH', `/${id}`, { status: 'Cancelled' });
    await waitFor(async () => (await done('GET', `/${id}`)).status === 'Cancelled');
  });

  it('replaces the credentials of a destination', async () => {
    const path = `/destinations/${destinationId}`;
    expect(await done('PATCH', path, { credentials: keys() })).toMatchObject({
      id: destinationId,
      credentials_keys: ['access_key_id', 'secret_access_key'],
    });
    const wrong = {
      access_key_id: 'YOUR_NEW_ACCESS_KEY_ID',
      secret_access_key: 'YOUR_NEW_SECRET_ACCESS_KEY',
    };
    expect((await curl('PATCH', path, { credentials: wrong })).status).toBe(400);
    const { id } = await done('POST', '', window());
    await completed(id);
  });

  it.each([
    ['Key ID you provided does not exist', {}, { access_key_id: 'NONE', secret_access_key: 'NONE' }],
    ['Bucket is not valid', { bucket_name: 'another-bucket' }, {}],
    ['Invalid endpoint', { endpoint_url: 'http://127.0.0.1:1' }, {}],
  ])('refuses a destination: %s', async (text, config, credentials) => {
    const { status, body } = await curl<{ detail: string }>('POST', '/destinations', {
      destination_type: 's3',
      display_name: 'My S3 Destination',
      config: { ...s3(), ...config },
      credentials: { ...keys(), ...credentials },
    });
    expect([status, body.detail]).toEqual([400, expect.stringContaining(text)]);
  });

  it('refuses to export all experiments, and says what to do', async () => {
    const { session_id: _none, ...request } = { ...window(), all_experiments: true };
    const { status, body } = await curl('POST', '', request);
    expect([status, JSON.stringify(body)]).toEqual([
      422,
      expect.stringContaining('name an experiment in session_id, and make an export for each'),
    ]);
  });
});
