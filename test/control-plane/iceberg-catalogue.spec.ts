import { randomUUID } from 'node:crypto';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { ANNOTATION, RESOURCES } from '#lib/resources';
import { waitFor } from '#lib/testing';
import { agentplane } from '../cli/agentplane.js';
import { Rest } from '../support/rest.js';
import { sharedPlatform } from '../support/shared-platform.js';

interface LoadedTable {
  readonly 'metadata-location': string;
  readonly metadata: { readonly location: string; readonly snapshots: readonly Snapshot[] };
  readonly config: Readonly<Record<string, string>>;
}

interface Snapshot {
  readonly 'manifest-list': string;
  readonly summary: Readonly<Record<string, string>>;
}

interface Refusal {
  readonly error: { readonly type: string; readonly code: number; readonly message: string };
}

const DAY = '2026-11-20';
const PROJECT = 'tables of people';
const SPACE = encodeURIComponent(PROJECT);
const TABLE = `/iceberg/v1/namespaces/${SPACE}/tables/lake`;

describe('the catalogue of tables', () => {
  const platform = sharedPlatform();
  const neighbour = sharedPlatform();
  let rest: Rest;

  beforeAll(async () => {
    rest = new Rest(platform.credentials);
    for (const hour of [0, 1, 2]) {
      const start = `${DAY}T0${hour}:00:00Z`;
      const run = { id: randomUUID(), name: 'asked', run_type: 'chain', session_name: PROJECT };
      expect(
        (await rest.post('/runs', { ...run, start_time: start, end_time: start, inputs: {} })).status,
      ).toBe(202);
    }
    const words = ['--project', PROJECT, '--from', DAY, '--to', '2026-11-21', '--table', 'iceberg', '--wait'];
    const made = await agentplane(['export', 'create', 'lake', ...words, '--data', platform.dataFolder]);
    expect([made.code, made.complaint]).toEqual([0, expect.anything()]);
  });

  const load = async (): Promise<LoadedTable> => (await rest.get<LoadedTable>(TABLE)).body;
  const sign = (table: LoadedTable, uri: string, method = 'GET', client = rest) =>
    client.post<{ readonly uri: string } & Refusal>(`/${table.config['s3.signer.endpoint']}`, {
      method,
      uri,
    });
  /** The URL that a client would ask the store at. */
  const urlOf = ({ config }: LoadedTable, location: string): string =>
    `${config['s3.endpoint']}/${location.slice('s3://'.length)}`;

  it('lists the projects and their tables', async () => {
    const spaces = await rest.get('/iceberg/v1/namespaces');
    expect(spaces.body).toEqual({ namespaces: [[PROJECT]] });
    expect((await rest.get(`/iceberg/v1/namespaces/${SPACE}`)).body).toEqual({
      namespace: [PROJECT],
      properties: {},
    });
    const tables = await rest.get(`/iceberg/v1/namespaces/${SPACE}/tables`);
    expect(tables.body).toEqual({ identifiers: [{ namespace: [PROJECT], name: 'lake' }] });
  });

  it('answers the newest metadata, and signs reads of what they name', async () => {
    const table = await load();
    const [snapshot] = table.metadata.snapshots;
    expect(snapshot?.summary['total-records']).toBe('3');
    const signed = await sign(table, urlOf(table, snapshot?.['manifest-list'] ?? ''));
    expect(signed.status).toBe(200);
    const list = await fetch(signed.body.uri);
    expect([list.status, (await list.text()).slice(0, 3)]).toEqual([200, 'Obj']);
    const metadata = await sign(table, urlOf(table, table['metadata-location']));
    expect(await (await fetch(metadata.body.uri)).json()).toEqual(table.metadata);
  });

  it('signs reads of the files of the export', async () => {
    const table = await load();
    const { body: exports } = await rest.get<{ readonly id: string }[]>('/api/v1/bulk-exports');
    const { body: runs } = await rest.get<
      { readonly metadata: { readonly result: { readonly exported_files: string[] } } }[]
    >(`/api/v1/bulk-exports/${exports[0]?.id}/runs`);
    const [file = ''] = runs.flatMap(({ metadata }) => metadata.result.exported_files);
    const signed = await sign(table, `${table.config['s3.endpoint']}/${file}`);
    expect([signed.status, file]).toEqual([200, expect.stringContaining('.parquet')]);
    const read = await fetch(signed.body.uri);
    expect((await read.text()).slice(0, 4)).toBe('PAR1');
  });

  it.each([
    ['a write', 'PUT', (table: LoadedTable) => urlOf(table, table['metadata-location'])],
    [
      'a file beside the folder',
      'GET',
      (table: LoadedTable) => urlOf(table, `${table.metadata.location}-else/x`),
    ],
    [
      'a way out of the folder',
      'GET',
      (table: LoadedTable) => `${urlOf(table, table.metadata.location)}/..%2f..%2fx`,
    ],
    ['the root of the bucket', 'GET', (table: LoadedTable) => urlOf(table, 's3://agentplane/')],
    ['no address', 'GET', () => 'x'],
  ])('does not sign %s', async (_what, method, uri) => {
    const table = await load();
    const { status, body } = await sign(table, uri(table), method);
    expect([status, body.error.type]).toEqual([403, 'ForbiddenException']);
  });

  it('does not use credentials of the platform for a workspace that may not', async () => {
    const connection = await loadKubeConnection({ kubeconfigPath: platform.credentials.kubeconfig });
    const kube = new KubeClient(connection, { fieldManager: 'test' });
    const { namespace } = platform;
    const id = randomUUID();
    await kube.create(RESOURCES.BulkExportDestination, {
      metadata: { namespace, name: 'bare' },
      spec: { type: 'object_store', config: { bucketName: 'others', includeBucketInPrefix: true } },
    });
    const { spec } = await kube.get(RESOURCES.BulkExport, { namespace, name: 'lake' });
    await kube.create(RESOURCES.BulkExport, {
      metadata: { namespace, name: 'bare', annotations: { [ANNOTATION.id]: id } },
      spec: { ...spec, destinationRef: { name: 'bare' } },
    });
    const uri = `https://s3.example/others/tables/export_id=${id}/runs/metadata/x`;
    const ask = () => rest.post<Refusal>(`/iceberg/v1/sign/${id}`, { method: 'GET', uri });
    const { status, body } = await waitFor(async () => {
      const answer = await ask();
      return answer.status !== 404 && answer;
    });
    await kube.close();
    expect([status, body.error.message]).toEqual([
      503,
      expect.stringMatching(/the workspace may not use those of the platform/),
    ]);
  });

  it('shows a neighbour nothing', async () => {
    const other = new Rest(neighbour.credentials);
    expect((await other.get('/iceberg/v1/namespaces')).body).toEqual({ namespaces: [] });
    const table = await load();
    const foreign = await other.get<Refusal>(TABLE);
    expect([foreign.status, foreign.body.error.type]).toEqual([404, 'NoSuchTableException']);
    expect((await sign(table, urlOf(table, table['metadata-location']), 'GET', other)).status).toBe(404);
  });

  it('refuses writes in words', async () => {
    const { status, body } = await rest.call<Refusal>('DELETE', TABLE);
    expect([status, body.error]).toEqual([
      405,
      { type: 'UnsupportedOperationException', code: 405, message: expect.stringMatching(/read-only/) },
    ]);
    expect((await rest.post('/iceberg/v1/namespaces', { namespace: ['x'] })).status).toBe(405);
  });

  it('takes a key as the secret of a client', async () => {
    const { restUrl, apiKey } = platform.credentials;
    const ask = (secret: string) =>
      fetch(`${restUrl}/iceberg/v1/oauth/tokens`, {
        method: 'POST',
        body: new URLSearchParams({
          grant_type: 'client_credentials',
          client_id: 'x',
          client_secret: secret,
        }),
      });
    const { access_token: token } = (await (await ask(apiKey)).json()) as { readonly access_token: string };
    const headers = { authorization: `Bearer ${token}` };
    expect((await fetch(`${restUrl}/iceberg/v1/config?warehouse=w`, { headers })).status).toBe(200);
    const wrong = await ask(`${apiKey}x`);
    expect([wrong.status, ((await wrong.json()) as Refusal).error.type]).toEqual([
      401,
      'NotAuthorizedException',
    ]);
    expect((await fetch(`${restUrl}/iceberg/v1/config`)).status).toBe(401);
  });
});
