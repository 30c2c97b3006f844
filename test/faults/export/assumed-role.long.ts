import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { openObjectStore, testDestination } from '#lib/object-store';
import { type BulkExportDestination, RESOURCES, SECRETS } from '#lib/resources';
import { temporaryFolder, testPostgres, waitFor } from '#lib/testing';
import { testApi } from '../../../apps/api/src/testdata/test-api.js';
import { ExportStand } from '../../../apps/export-worker/testdata/export-stand.js';
import { MINIO, type Minio, startMinio } from '../../support/minio.js';

const KEYS = { accessKeyId: 'AKPLATFORM', secretAccessKey: 'secret of the platform' };
const ROLE = { arn: 'arn:aws:iam::111122223333:role/exports', externalId: 'tenant' };
const BUCKET = 'exports';
const NAMES = ['AWS_ENDPOINT_URL_STS', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'HTTP_PROXY'];

(MINIO === undefined ? describe.skip : describe)('a destination with a role', () => {
  const postgres = testPostgres();
  const folder = temporaryFolder();
  const { api, tenant } = testApi();
  let minio: Minio;

  beforeAll(async () => {
    minio = await startMinio({ folder, bucket: BUCKET, ...KEYS });
  });
  afterEach(() => {
    for (const name of NAMES) delete process.env[name];
    minio.keyIds.length = minio.asked.length = 0;
  });
  afterAll(() => minio?.stop());

  /** Gives this program the credentials of a platform. */
  function adoptKeys(): void {
    Object.assign(process.env, {
      AWS_ENDPOINT_URL_STS: minio.endpoint,
      AWS_ACCESS_KEY_ID: KEYS.accessKeyId,
      AWS_SECRET_ACCESS_KEY: KEYS.secretAccessKey,
      HTTP_PROXY: minio.endpoint,
    });
  }

  it('writes by the keys of the platform, which assume it', async () => {
    adoptKeys();
    const settings = {
      endpoint: minio.awsEndpoint,
      allowPrivateEndpoints: true,
      allowEnvironmentCredentials: true,
      role: ROLE,
    };
    expect(await testDestination(settings, BUCKET, 'p')).toEqual({
      kind: 'usable',
      canDelete: true,
      canRead: true,
    });
    // one request for the role serves all others, none of which is signed by the platform's own key
    const [first, ...others] = minio.keyIds;
    expect([first, minio.asked.length]).toEqual([KEYS.accessKeyId, 1]);
    expect(Object.fromEntries(minio.asked[0] ?? [])).toMatchObject({
      RoleArn: ROLE.arn,
      ExternalId: ROLE.externalId,
    });
    expect(others.length).toBeGreaterThan(2);
    expect(new Set(others).size).toBe(1);
    expect(others).not.toContain(KEYS.accessKeyId);
  });

  it.each([
    ['a key that does not exist', { ...KEYS, accessKeyId: 'NOBODY' }],
    ['another secret', { ...KEYS, secretAccessKey: 'another secret' }],
  ])('refuses %s', async (_what, keys) => {
    process.env['AWS_ENDPOINT_URL_STS'] = minio.endpoint;
    const settings = { endpoint: minio.endpoint, allowPrivateEndpoints: true, role: ROLE, ...keys };
    const check = await testDestination(settings, BUCKET, 'p');
    expect(check).toMatchObject({
      kind: 'refused',
      message: 'Access denied',
      retryable: false,
      advice: expect.stringMatching(/^the role could not be assumed: \w+: .*sts:ExternalId$/),
    });
    expect(JSON.stringify(check)).not.toContain(keys.secretAccessKey);
  });

  it('takes an export of a worker', async () => {
    const stand = await ExportStand.start((await postgres.freshDatabase()).uri);
    const day = '2026-11-20';
    try {
      const project = await stand.ingest('role', [
        { run: { name: 'r', start_time: `${day}T12:00:00Z` }, fields: { inputs: '{}' } },
      ]);
      const spec = stand.specOf(project, day);
      const config = {
        ...spec.destination.config,
        bucketName: BUCKET,
        endpointUrl: minio.endpoint,
        awsRoleArn: ROLE.arn,
      };
      const worker = stand.work({ ...spec, destination: { config } }, randomUUID(), 1, {
        AWS_ENDPOINT_URL_STS: minio.endpoint,
        AGENTPLANE_STORE_ACCESS_KEY_ID: KEYS.accessKeyId,
        AGENTPLANE_STORE_SECRET_ACCESS_KEY: KEYS.secretAccessKey,
      });
      expect([await worker.ended, worker.log.filter(({ level }) => level === 'error')]).toEqual([0, []]);
      expect(minio.asked.map((asked) => asked.get('ExternalId'))).toEqual([spec.tenantId.toLowerCase()]);
      expect(minio.keyIds.filter((id) => id === KEYS.accessKeyId)).toHaveLength(1);
      const store = openObjectStore({ endpoint: minio.endpoint, allowPrivateEndpoints: true, ...KEYS });
      const keys: string[] = [];
      for await (const { key } of store.list(BUCKET, '')) keys.push(key);
      store.close();
      expect(keys.filter((key) => key.endsWith('.parquet'))).toHaveLength(1);
    } finally {
      await stand.stop();
    }
  });

  describe("in the words of LangSmith's clients", () => {
    const PATH = '/api/v1/bulk-exports/destinations';
    const call = async (method: string, path: string, body?: object) => {
      const answer = await tenant.call(method, PATH + path, body);
      expect([answer.status, answer.json?.detail]).toEqual([200, undefined]);
      return answer.json;
    };
    const credentials = { access_key_id: KEYS.accessKeyId, secret_access_key: KEYS.secretAccessKey };
    const destination = (more: object) => ({
      destination_type: 's3',
      display_name: 'My AWS S3 Destination',
      config: { bucket_name: BUCKET, prefix: 'data_exports', endpoint_url: minio.awsEndpoint },
      ...more,
    });
    const stored = async (id: string): Promise<BulkExportDestination> => {
      const { items } = await api.client.list<BulkExportDestination>(RESOURCES.BulkExportDestination, {
        namespace: tenant.namespace,
      });
      const found = items.find(({ metadata }) => metadata.name.endsWith(id.slice(0, 8)));
      if (!found) throw new Error(`no destination ${id}`);
      return found;
    };

    it('switches to credentials and back', async () => {
      adoptKeys();
      const body = destination({ aws_role_arn: ROLE.arn });
      const refused = await tenant.call('POST', PATH, body);
      expect([refused.status, refused.json.detail]).toEqual([
        400,
        expect.stringContaining('may not use those of the platform'),
      ]);
      expect(minio.asked).toEqual([]);

      const workspace = { name: `w${tenant.tenantId.slice(0, 8)}` };
      const spec = { allowEnvironmentCredentials: true };
      await api.client.merge(RESOURCES.Workspace, workspace, { spec });
      const made = await waitFor(async () => {
        const { status, json } = await tenant.call('POST', PATH, body);
        return status === 200 ? json : undefined;
      });
      expect(made).toMatchObject({ config: { aws_role_arn: ROLE.arn }, credentials_keys: [] });
      expect(minio.asked.map((asked) => asked.get('ExternalId'))).toEqual([tenant.tenantId.toLowerCase()]);

      const own = await call('PATCH', `/${made.id}`, { credentials });
      expect(own).toMatchObject({
        config: { aws_role_arn: null },
        credentials_keys: ['access_key_id', 'secret_access_key'],
      });
      // keys that assume the role, which only kubectl can give, are replaced by keys that do the same
      const { metadata: at } = await stored(made.id);
      const role = { spec: { config: { awsRoleArn: ROLE.arn } } };
      await api.client.merge(RESOURCES.BulkExportDestination, at, role);
      const isSeen = async () => (await call('GET', `/${made.id}`)).config.aws_role_arn === ROLE.arn;
      await waitFor(isSeen, { what: 'the role of the destination' });
      const renewed = await call('PATCH', `/${made.id}`, { credentials });
      expect(renewed).toMatchObject({
        config: { aws_role_arn: ROLE.arn },
        credentials_keys: ['access_key_id', 'secret_access_key'],
      });
      const secret = (await stored(made.id)).spec.credentialsSecretRef?.name ?? '';
      const back = await call('PATCH', `/${made.id}`, { aws_role_arn: ROLE.arn });
      expect(back).toMatchObject({ config: { aws_role_arn: ROLE.arn }, credentials_keys: [] });
      const { spec: after, metadata } = await stored(made.id);
      expect(after.credentialsSecretRef).toBeUndefined();
      // exports under way keep the former credentials
      expect(JSON.stringify(metadata.annotations)).toContain(secret);
      expect(await api.client.find(SECRETS, { namespace: tenant.namespace, name: secret })).toBeDefined();
      expect(await call('GET', `/${made.id}`)).toEqual(back);
    });
  });
});
