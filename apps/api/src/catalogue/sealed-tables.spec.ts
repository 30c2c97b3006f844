import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { testPostgres } from '#lib/testing';
import type { LakeOptions } from '#lib/trace-store';
import { type AttachmentBucket, startAttachmentBucket } from '../testdata/attachment-bucket.js';
import {
  prepareKube,
  prepareStore,
  runApi,
  type RunningApi,
  type TestTenant,
} from '../testdata/running-api.js';

const SIGNAL = new AbortController().signal;
const PROJECT = 'sealed here';
const SPACE = encodeURIComponent(PROJECT);
const TABLE = `/iceberg/v1/namespaces/${SPACE}/tables/runs`;
const PREFIX = 'runs/lake';

interface LoadedTable {
  readonly 'metadata-location': string;
  readonly metadata: { readonly snapshots: readonly { readonly 'manifest-list': string }[] };
  readonly config: Readonly<Record<string, string>>;
}

describe('the catalogue of sealed days', () => {
  const postgres = testPostgres();
  let bucket: AttachmentBucket;
  let api: RunningApi;
  let tenant: TestTenant;
  let neighbour: TestTenant;

  beforeAll(async () => {
    bucket = await startAttachmentBucket('lake');
    // its key may write below this folder
    const lake: LakeOptions = {
      store: bucket.attachments.objects,
      bucket: 'lake',
      prefix: PREFIX,
      quietHours: 0,
    };
    const [store, kube] = await Promise.all([
      postgres.freshDatabase(prepareStore),
      postgres.freshDatabase(prepareKube),
    ]);
    api = await runApi(store.uri, kube.uri, { lake, lakeEndpoint: bucket.objects.endpoint });
    [tenant, neighbour] = [await api.workspace(), await api.workspace()];
    for (const one of [tenant, neighbour]) await send(one);
    await sealAll();
  });
  afterAll(async () => {
    await api.stop();
    await bucket.stop();
  });

  async function send(of: TestTenant): Promise<void> {
    const id = randomUUID();
    const run = { id, trace_id: id, name: 'n', run_type: 'chain', session_name: PROJECT, inputs: { q: 1 } };
    const post = [{ ...run, start_time: '2026-03-01T10:00:00Z' }];
    expect((await of.call('POST', '/runs/batch', { post, patch: [] })).status).toBe(202);
  }
  async function sealAll(): Promise<void> {
    const { lake } = api.store;
    for (let look = 0; look < 2; look++) await lake?.look();
    while (await lake?.sealNext({ signal: SIGNAL }));
    await lake?.publish({ signal: SIGNAL });
  }
  const load = async (of = tenant) => (await of.call('GET', TABLE)).json as LoadedTable;
  const urlOf = ({ config }: LoadedTable, location: string): string =>
    `${config['s3.endpoint']}/${location.slice('s3://'.length)}`;
  const sign = (of: TestTenant, table: LoadedTable, uri: string, method = 'GET') =>
    of.call('POST', `/${table.config['s3.signer.endpoint']}`, { method, uri });
  async function read(table: LoadedTable, location: string): Promise<Buffer> {
    const signed = await sign(tenant, table, urlOf(table, location));
    expect([signed.status, signed.text]).toEqual([200, expect.stringContaining('uri')]);
    return Buffer.from(await (await fetch(signed.json.uri as string)).arrayBuffer());
  }
  const named = (bytes: Buffer, ending: string): string[] =>
    [...bytes.toString('latin1').matchAll(new RegExp(`s3://[\\w/.=-]+?\\.${ending}`, 'g'))].map(
      ([url]) => url,
    );
  async function filesOf(table: LoadedTable): Promise<string[]> {
    const list = await read(table, table.metadata.snapshots.at(-1)?.['manifest-list'] ?? '');
    const files: string[] = [];
    for (const manifest of named(list, 'avro')) files.push(...named(await read(table, manifest), 'parquet'));
    return files;
  }
  async function idsOf(table: LoadedTable): Promise<unknown[]> {
    const ids: unknown[] = [];
    for (const file of await filesOf(table)) {
      const { buffer } = new Uint8Array(await read(table, file));
      const rows = await parquetReadObjects({ file: buffer, columns: ['id'], compressors });
      ids.push(...rows.map((row) => row['id']));
    }
    return ids;
  }

  it('lists the project and its table, and signs reads down to the rows', async () => {
    expect((await tenant.call('GET', '/iceberg/v1/namespaces')).json).toEqual({ namespaces: [[PROJECT]] });
    expect((await tenant.call('GET', `/iceberg/v1/namespaces/${SPACE}/tables`)).json).toEqual({
      identifiers: [{ namespace: [PROJECT], name: 'runs' }],
    });
    const table = await load();
    expect(JSON.parse((await read(table, table['metadata-location'])).toString())).toEqual(table.metadata);
    expect(await idsOf(table)).toHaveLength(1);
  });

  it('answers the next version once the day is sealed again, with no run twice', async () => {
    await send(tenant);
    await sealAll();
    const ids = await idsOf(await load());
    expect([ids.length, new Set(ids).size]).toEqual([2, 2]);
    const { json } = await tenant.call('GET', '/api/v1/lake');
    expect(json.tables).toMatchObject([{ version: 2, behind_since: null, error: null, failed_attempts: 0 }]);
    expect(Date.parse(json.tables[0].published_at as string)).not.toBeNaN();
  });

  it('takes keys that only read', async () => {
    const { key } = await api.store.apiKeys.mint(tenant.tenantId, { name: 'reader', scope: 'read' });
    const headers = { 'x-api-key': key };
    const table = await load();
    const uri = urlOf(table, table['metadata-location']);
    // the name of newer clients
    const path = `/${table.config['signer.endpoint']}`;
    expect((await tenant.call('POST', path, { method: 'GET', uri }, headers)).status).toBe(200);
    const other = await api.store.apiKeys.mint(tenant.tenantId, { name: 'sender', scope: 'ingest' });
    const refused = await tenant.call('POST', path, { method: 'GET', uri }, { 'x-api-key': other.key });
    expect(refused.status).toBe(403);
  });

  it.each([
    ['a write', 'PUT', (uri: string) => uri],
    ['a removal', 'DELETE', (uri: string) => uri],
    ['the folder of the project itself', 'GET', (uri: string) => uri.replace(/\/table\/.*/, '')],
    ['a project whose id begins alike', 'GET', (uri: string) => uri.replace('/table/', '0/table/')],
    ['an encoded slash', 'GET', (uri: string) => uri.replace('/table/', '/table%2F')],
    ['a way out of the folder', 'GET', (uri: string) => `${uri}/..%2f..%2f..%2fx`],
    ['a way out that is encoded', 'GET', (uri: string) => uri.replace('/table/', '/%2e%2e/x/table/')],
    ['another bucket', 'GET', (uri: string) => uri.replace('/lake/', '/other/')],
    ['no address', 'GET', () => 'x'],
  ])('does not sign %s', async (_what, method, change) => {
    const table = await load();
    const { status, json } = await sign(
      tenant,
      table,
      change(urlOf(table, table['metadata-location'])),
      method,
    );
    expect([status, json.error.type]).toEqual([403, 'ForbiddenException']);
  });

  it('signs no object of another tenant or project, however it is written', async () => {
    const [own, foreign] = [await load(), await load(neighbour)];
    const prefix = `${PREFIX}/${tenant.tenantId}/`;
    const part = fc.constantFrom(
      ...[
        '..',
        '.',
        '%2e%2e',
        '%2E.',
        '',
        '%2f',
        '%5c',
        '\\',
        'runs',
        'lake',
        'table',
        '//',
        '%00',
        '?',
        '#',
      ],
      ...[tenant.tenantId, neighbour.tenantId, foreign['metadata-location'].split('/')[6] ?? ''],
    );
    const [, , , , , , project = ''] = own['metadata-location'].split('/');
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 6 }), fc.boolean(), async (parts, isInside) => {
        const begin = `${own.config['s3.endpoint']}/lake/${isInside ? `${prefix}${project}/` : ''}`;
        const { status, json } = await sign(tenant, own, begin + parts.join('/'));
        if (status !== 200) return expect(status).toBe(403);
        const { pathname } = new URL(json.uri as string);
        return expect(decodeURIComponent(pathname).startsWith(`/lake/${prefix}${project}/`)).toBe(true);
      }),
      { numRuns: 200 },
    );
    expect(prefix).toContain(tenant.tenantId);
  });

  it('shows a neighbour nothing', async () => {
    const table = await load();
    const location = urlOf(table, table['metadata-location']);
    const refused = await sign(neighbour, table, location);
    expect([refused.status, refused.json.error.type]).toEqual([404, 'NoSuchNamespaceException']);
    const own = await load(neighbour);
    expect(own['metadata-location']).not.toBe(table['metadata-location']);
    expect((await sign(neighbour, own, location)).status).toBe(403);
  });

  it('names the lake where its metadata are missing', async () => {
    const table = await load(neighbour);
    await bucket.attachments.objects.delete('lake', table['metadata-location'].slice('s3://lake/'.length));
    const { status, json } = await neighbour.call('GET', TABLE);
    expect([status, json.error.message]).toEqual([503, expect.stringMatching(/sealed days in the lake/)]);
  });
});
