import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { ANNOTATION, type BulkExport, type BulkExportRun, idOf, RESOURCES, SECRETS } from '#lib/resources';
import { waitFor } from '#lib/testing';
import type { TestTenant } from '../testdata/running-api.js';
import { testApi } from '../testdata/test-api.js';
import { CREDENTIALS, KEYS, testObjects } from '../testdata/test-bucket.js';

const UUID = expect.stringMatching(/^[0-9a-f-]{36}$/);

const STRICT = { prefer: 'handling=strict' };

/** Limit above the number that the other tests of the file make in one workspace. */
const MAX_UNFINISHED = 100;

describe('the bulk export routes', () => {
  const { api, tenant } = testApi({ maxUnfinishedExports: MAX_UNFINISHED });
  const objects = testObjects();
  let sessionId = '';

  beforeAll(async () => {
    sessionId = (await api.store.projects.ensure(tenant.tenantId, 'project')).id;
  });

  const destination = (config: object = {}, credentials: object = {}) => ({
    destination_type: 'object_store',
    display_name: 'Bucket (west/ä)',
    config: {
      bucket_name: 'bucket',
      prefix: 'exports',
      region: 'us-east-1',
      endpoint_url: objects.endpoint,
      ...config,
    },
    credentials: { ...CREDENTIALS, ...credentials },
  });
  const makeDestination = async () =>
    (await tenant.call('POST', '/api/v1/bulk-exports/destinations', destination())).json;
  const request = (destinationId: string, over: object = {}) => ({
    bulk_export_destination_id: destinationId,
    session_id: sessionId,
    start_time: '2026-08-01T00:00:00Z',
    end_time: '2026-08-03T12:00:00.000001Z',
    ...over,
  });
  const create = async (over: object = {}) =>
    tenant.call('POST', '/api/v1/bulk-exports', request((await makeDestination()).id, over));
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  const problems = (answer: { json: any }): string[] =>
    answer.json.detail.map((one: { loc: unknown[]; type: string }) => `${one.loc.join('.')} ${one.type}`);

  /** A run of the export's first day. */
  const makeRun = async (id: string): Promise<BulkExportRun> => {
    const exportName = `export-${id.slice(0, 13)}`;
    const owner = await api.client.get<BulkExport>(RESOURCES.BulkExport, {
      namespace: tenant.namespace,
      name: exportName,
    });
    const { config } = (
      await api.client.get(RESOURCES.BulkExportDestination, {
        namespace: tenant.namespace,
        name: owner.spec.destinationRef.name,
      })
    ).spec;
    return await api.client.create<BulkExportRun>(RESOURCES.BulkExportRun, {
      metadata: { name: `${exportName}-20260801`, namespace: tenant.namespace },
      spec: {
        exportName,
        exportId: id,
        tenantId: tenant.tenantId,
        projectId: sessionId,
        startTime: '2026-08-01T00:00:00Z',
        endTime: '2026-08-02T00:00:00Z',
        destination: { config },
        format: owner.spec.format,
        formatVersion: owner.spec.formatVersion,
        compression: owner.spec.compression,
      },
    });
  };

  it('writes a test object before a destination is stored, and never shows its credentials', async () => {
    const made = await tenant.call('POST', '/api/v1/bulk-exports/destinations', destination());
    expect(made.status).toBe(200);
    expect(made.json).toMatchObject({
      id: UUID,
      destination_type: 'object_store',
      display_name: 'Bucket (west/ä)',
      config: { bucket_name: 'bucket', prefix: 'exports', include_bucket_in_prefix: true },
      credentials_keys: ['access_key_id', 'secret_access_key'],
    });
    expect(made.text).not.toContain(KEYS.secretAccessKey);
    expect((await tenant.call('GET', `/api/v1/bulk-exports/destinations/${made.json.id}`)).json).toEqual(
      made.json,
    );
    expect((await tenant.call('GET', '/api/v1/bulk-exports/destinations')).json).toEqual([made.json]);
    const { items } = await api.client.list(SECRETS, { namespace: tenant.namespace });
    expect(items.map((secret) => [secret.immutable, secret.metadata.ownerReferences?.[0]?.kind])).toEqual([
      [true, 'BulkExportDestination'],
    ]);
  });

  const WRONG_SECRET =
    'Access denied: SignatureDoesNotMatch: The request signature we calculated does not match the signature you provided. Check your secret access key.';

  it.each<[string, object, object, string]>([
    ['a wrong secret key', {}, { secret_access_key: 'x' }, WRONG_SECRET],
    [
      'an unknown access key',
      {},
      { access_key_id: 'x' },
      'Key ID you provided does not exist: InvalidAccessKeyId: The access key id you provided does not exist in our records.',
    ],
    [
      'a missing bucket',
      { bucket_name: 'nowhere' },
      {},
      'Bucket is not valid: NoSuchBucket: The specified bucket does not exist.',
    ],
    [
      'an encryption that the store does not have',
      { server_side_encryption: 'AES256' },
      {},
      'Bucket is not valid: NotImplemented: Server-side encryption is not implemented.',
    ],
    [
      'a storage class that the store does not have',
      { s3_additional_kwargs: { StorageClass: 'GLACIER' } },
      {},
      'Bucket is not valid: InvalidStorageClass: The only storage class is STANDARD.',
    ],
    [
      'an address where no store is',
      { endpoint_url: 'http://127.0.0.1:9' },
      {},
      'Invalid endpoint: the connection was refused; check host and port (ECONNREFUSED)',
    ],
    [
      'a name that does not resolve',
      { endpoint_url: 'http://nowhere.invalid' },
      {},
      'Invalid endpoint: the name of the host does not resolve (ENOTFOUND)',
    ],
    [
      'the address where a machine keeps its credentials',
      { endpoint_url: 'http://169.254.169.254' },
      {},
      'Invalid endpoint: no object store can have this address',
    ],
  ])(
    'refuses %s in the words of the interface, and keeps nothing',
    async (_name, config, credentials, message) => {
      const before = (await tenant.call('GET', '/api/v1/bulk-exports/destinations')).json.length;
      const answer = await tenant.call(
        'POST',
        '/api/v1/bulk-exports/destinations',
        destination(config, credentials),
      );
      expect([answer.status, answer.json]).toEqual([400, { detail: message }]);
      expect((await tenant.call('GET', '/api/v1/bulk-exports/destinations')).json).toHaveLength(before);
    },
  );

  it('lends the credentials of the platform only to workspaces that may use them', async () => {
    const create = async (of: TestTenant) =>
      of.call('POST', '/api/v1/bulk-exports/destinations', { ...destination(), credentials: null });
    const other = await api.workspace();
    Object.assign(process.env, {
      AWS_ACCESS_KEY_ID: KEYS.accessKeyId,
      AWS_SECRET_ACCESS_KEY: KEYS.secretAccessKey,
    });
    try {
      const refused = await create(other);
      expect([refused.status, refused.json.detail]).toEqual([
        400,
        expect.stringContaining('spec.allowEnvironmentCredentials of the Workspace'),
      ]);
      const name = other.namespace.slice('ws-'.length);
      await api.client.merge(RESOURCES.Workspace, { name }, { spec: { allowEnvironmentCredentials: true } });
      await waitFor(async () => (await create(other)).status === 200);
      expect((await create(tenant)).status).toBe(400);
    } finally {
      delete process.env['AWS_ACCESS_KEY_ID'];
      delete process.env['AWS_SECRET_ACCESS_KEY'];
    }
  });

  it.each([
    ['of its own', { storage_class: 'STANDARD', acl: 'private' }],
    ['of the S3 client', { s3_additional_kwargs: { StorageClass: 'STANDARD', ACL: 'private' } }],
  ])('takes settings of new objects in words %s, and shows both', async (_name, config) => {
    const made = await tenant.call('POST', '/api/v1/bulk-exports/destinations', destination(config));
    expect([made.status, made.json.config]).toEqual([
      200,
      expect.objectContaining({
        server_side_encryption: null,
        kms_key_id: null,
        storage_class: 'STANDARD',
        acl: 'private',
        s3_additional_kwargs: { StorageClass: 'STANDARD', ACL: 'private' },
      }),
    ]);
  });

  it.each([
    [
      'both vocabularies',
      { acl: 'private', s3_additional_kwargs: { ACL: 'private' } },
      'config.s3_additional_kwargs.ACL value_error',
    ],
    ['an ACL that makes objects public', { acl: 'public-read' }, 'config.acl enum'],
    [
      'an unknown argument',
      { s3_additional_kwargs: { Metadata: {} } },
      'config.s3_additional_kwargs.Metadata extra_forbidden',
    ],
    ['a key without its encryption', { kms_key_id: 'k' }, 'config field_value_invalid'],
  ])('refuses settings of new objects with %s', async (_name, config, problem) => {
    const answer = await tenant.call('POST', '/api/v1/bulk-exports/destinations', destination(config));
    expect([answer.status, problems(answer)]).toEqual([422, [`body.${problem}`]]);
  });

  it('reports every wrong field of a destination', async () => {
    const sent = {
      destination_type: 'floppy',
      display_name: 'x'.repeat(257),
      config: { prefix: 'a|b', x: 1 },
      credentials: {},
    };
    const path = '/api/v1/bulk-exports/destinations';
    expect(problems(await tenant.call('POST', path, sent, STRICT)).sort()).toEqual([
      'body.config.bucket_name missing',
      'body.config.prefix string_pattern_mismatch',
      'body.config.x extra_forbidden',
      'body.credentials.access_key_id missing',
      'body.credentials.secret_access_key missing',
      'body.destination_type enum',
      'body.display_name string_too_long',
    ]);
    for (const prefix of ['a/../b', 'a%2e', ' a', 'a/ ', 'a\u202eb', 'a\u2028b', '日'.repeat(267)]) {
      const escape = await tenant.call('POST', '/api/v1/bulk-exports/destinations', destination({ prefix }));
      expect([prefix, problems(escape)]).toEqual([prefix, ['body.config.prefix field_value_invalid']]);
    }
    const long = destination({ prefix: 'a'.repeat(2048) });
    const refused = await tenant.call('POST', '/api/v1/bulk-exports/destinations', long);
    expect(refused.json.detail[0].msg).toMatch(/at most 800 bytes long: .*; give a shorter one$/);
    const odd = destination({ prefix: 'R&D 100%/~ä日😀' });
    expect((await tenant.call('POST', '/api/v1/bulk-exports/destinations', odd)).status).toBe(200);
  });

  it('creates, shows and lists exports', async () => {
    const made = await create({
      export_fields: ['id', 'name'],
      format_version: 'v2_beta',
      compression: 'zstandard',
    });
    expect([made.status, made.json.detail]).toEqual([200, undefined]);
    expect(made.json).toMatchObject({
      id: UUID,
      status: 'CREATED',
      session_id: sessionId,
      bulk_export_destination_id: UUID,
      start_time: '2026-08-01T00:00:00Z',
      end_time: '2026-08-03T12:00:00.000001Z',
      format_version: 'v2_beta',
      compression: 'zstandard',
      export_fields: ['id', 'name'],
      source_bulk_export_id: null,
      finished_at: null,
    });
    expect((await tenant.call('GET', `/api/v1/bulk-exports/${made.json.id}`)).json).toEqual(made.json);
    expect((await tenant.call('GET', '/api/v1/bulk-exports')).json).toContainEqual(made.json);
    expect((await tenant.call('GET', '/api/v1/bulk-exports?limit=1')).json).toHaveLength(1);
  });

  it('reports every wrong field, and rules between fields', async () => {
    const wrong = {
      session_id: 'x',
      start_time: 'y',
      interval_hours: 169,
      export_fields: ['id', 'nope'],
      format_version: 'v3',
      status: 'RUNNING',
    };
    expect(problems(await tenant.call('POST', '/api/v1/bulk-exports', wrong, STRICT)).sort()).toEqual([
      'body.bulk_export_destination_id missing',
      'body.export_fields enum',
      'body.format_version enum',
      'body.interval_hours less_than_equal',
      'body.session_id uuid_parsing',
      'body.start_time datetime_parsing',
      'body.status extra_forbidden',
    ]);
    expect(problems(await create({ end_time: null }))).toEqual(['body.end_time missing']);
    expect(problems(await create({ page_bytes: 1_048_575 }))).toEqual(['body.page_bytes greater_than_equal']);
    expect(problems(await create({ format: 'JSONL', page_bytes: 1_048_576 }))).toEqual([
      'body.page_bytes value_error',
    ]);
    expect(problems(await create({ format: 'JSONL', table: 'iceberg' }))).toEqual(['body.table value_error']);
    expect((await create({ table: 'iceberg' })).json.table).toBe('iceberg');
    expect((await create({ page_bytes: 2_097_152 })).json.page_bytes).toBe(2_097_152);
    expect(problems(await create({ format: 'JSONL', compression: 'snappy' }))).toEqual([
      'body.compression value_error',
    ]);
    expect(problems(await create({ interval_hours: 24 }))).toEqual(['body.end_time value_error']);
    expect(problems(await create({ filter: 'eq(nmae, "x")' }))).toEqual(['body.filter filter_invalid']);
    expect(
      problems(await create({ interval_hours: 24, end_time: null, start_time: '1926-08-01T00:00:00Z' })),
    ).toEqual(['body.start_time window_too_long']);
    expect(problems(await create({ end_time: '2026-08-01T00:00:00Z' }))).toEqual([
      'body.end_time value_error',
    ]);
    expect((await create({ session_id: randomUUID() })).status).toBe(404);
    expect((await tenant.call('POST', '/api/v1/bulk-exports', request(randomUUID()))).status).toBe(404);
  });

  it('creates an export as lines of JSON', async () => {
    const made = await create({ format: 'JSONL', compression: 'gzip' });
    expect(made.json).toMatchObject({ format: 'JSONL', compression: 'gzip' });
    expect((await create()).json).toMatchObject({ format: 'Parquet', compression: 'zstd' });
  });

  it('creates an export with feedback, and refuses one without runs', async () => {
    const made = await create({ resources: ['feedback', 'runs', 'runs'] });
    expect(problems(made)).toEqual(['body.resources too_long']);
    const { json } = await create({ resources: ['runs', 'feedback'] });
    expect(json).toMatchObject({ resources: ['runs', 'feedback'] });
    expect((await create()).json).toMatchObject({ resources: ['runs'] });
    expect(problems(await create({ resources: ['feedback'] }))).toEqual(['body.resources value_error']);
    expect(problems(await create({ resources: ['traces'] }))).toEqual(['body.resources enum']);
  });

  it('pauses an export and resumes it, and shows which', async () => {
    const { id, paused } = (await create()).json;
    const path = `/api/v1/bulk-exports/${id}`;
    const isPaused = [paused];
    for (const wanted of [true, false]) {
      const answer = await tenant.call('PATCH', path, { paused: wanted });
      isPaused.push(answer.json.paused, (await tenant.call('GET', path)).json.paused);
    }
    expect(isPaused).toEqual([false, true, true, false, false]);
  });

  it('cancels an export permanently, in any spelling of the word', async () => {
    const { id } = (await create()).json;
    const path = `/api/v1/bulk-exports/${id}`;
    expect(problems(await tenant.call('PATCH', path, { status: 'RUNNING' }))).toEqual(['body.status enum']);
    expect(problems(await tenant.call('PATCH', path, {}))).toEqual(['body value_error']);
    for (const status of ['Cancelled', 'CANCELLED']) {
      const answer = await tenant.call('PATCH', path, { status });
      expect([answer.status, answer.json.status]).toEqual([200, 'CANCELLED']);
    }
    expect((await tenant.call('GET', path)).json.status).toBe('CANCELLED');
  });

  it('refuses to cancel a finished export', async () => {
    const { id } = (await create()).json;
    const name = `export-${id.slice(0, 13)}`;
    await api.client.mergeStatus(RESOURCES.BulkExport, { namespace: tenant.namespace, name }, {
      status: {
        rows: 7,
        finishedAt: '2026-11-20T00:00:00Z',
        conditions: [
          {
            type: 'Completed',
            status: 'True',
            reason: 'Completed',
            message: '',
            lastTransitionTime: '2026-11-20T00:00:00Z',
          },
        ],
      },
    } as never);
    const shown = await waitFor(async () => {
      const { json } = await tenant.call('GET', `/api/v1/bulk-exports/${id}`);
      return json.status === 'COMPLETED' ? json : undefined;
    });
    expect(shown).toMatchObject({ rows_exported: 7, percent: 100, finished_at: '2026-11-20T00:00:00Z' });
    expect((await tenant.call('PATCH', `/api/v1/bulk-exports/${id}`, { status: 'Cancelled' })).status).toBe(
      400,
    );
  });

  it.each(['eu\r\nx-evil: 1', 'a/b', 'a b', 'http://x', 'ä', 'x'.repeat(65)])(
    'refuses the region %j by name',
    async (region) => {
      const body = destination({ region });
      const answer = await tenant.call('POST', '/api/v1/bulk-exports/destinations', body);
      expect(answer.status).toBe(422);
      expect(problems(answer)[0]).toMatch(/^body\.config\.region /);
    },
  );

  it('makes one export of requests with one idempotency key, also at the same moment', async () => {
    const { id: destinationId } = await makeDestination();
    const key = { 'idempotency-key': randomUUID() };
    const send = (over: object = {}, headers: Record<string, string> = key) =>
      tenant.call('POST', '/api/v1/bulk-exports', request(destinationId, over), headers);
    const answers = await Promise.all([send(), send(), send()]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(new Set(answers.map(({ json }) => json.id)).size).toBe(1);
    const other = await send({ compression: 'gzip' });
    expect([other.status, other.json.detail]).toEqual([
      409,
      expect.stringContaining('used with another body'),
    ]);
    expect((await send({}, { 'idempotency-key': 'a b' })).status).toBe(422);
    expect((await send({}, { 'idempotency-key': randomUUID() })).json.id).not.toBe(answers[0]?.json.id);
  });

  it('continues an export once for requests with one idempotency key, also at the same moment', async () => {
    const { id } = (await create()).json;
    await makeRun(id);
    const failed = { type: 'Failed', status: 'True', reason: 'RunFailed', message: 'm' };
    await api.client.mergeStatus(
      RESOURCES.BulkExport,
      { namespace: tenant.namespace, name: `export-${id.slice(0, 13)}` },
      {
        status: {
          startTime: '2026-08-01T00:00:00Z',
          endTime: '2026-08-03T12:00:00.000001Z',
          conditions: [{ ...failed, lastTransitionTime: '2026-11-20T00:00:00Z' }],
        },
      } as never,
    );
    const path = `/api/v1/bulk-exports/${id}`;
    await waitFor(async () => (await tenant.call('GET', path)).json.status === 'FAILED');
    await waitFor(async () => (await tenant.call('GET', `${path}/runs`)).json.length === 1);
    const send = (key?: string) =>
      tenant.call('POST', `${path}/continue`, undefined, key === undefined ? {} : { 'idempotency-key': key });
    const key = randomUUID();
    const answers = [...(await Promise.all([send(key), send(key)])), await send(key)];
    expect(answers.map(({ status, json }) => [status, json.detail])).toEqual(Array(3).fill([200, undefined]));
    expect(new Set(answers.map(({ json }) => json.id)).size).toBe(1);
    expect(answers[0]?.json.continues_bulk_export_id).toBe(id);
    const others = [await send(), await send(randomUUID()), await send('a b')];
    expect(others.map(({ status }) => status)).toEqual([409, 409, 422]);
  });

  it('answers a repeated idempotency key with its export also after that was archived', async () => {
    const { id: destinationId } = await makeDestination();
    const key = { 'idempotency-key': randomUUID() };
    const send = (over: object = {}) =>
      tenant.call('POST', '/api/v1/bulk-exports', request(destinationId, over), key);
    const { id } = (await send()).json as { id: string };
    const { items } = await api.client.list(RESOURCES.BulkExport, { namespace: tenant.namespace });
    const made = items.find((one) => idOf(one) === id);
    const { name, creationTimestamp: createdAt = '' } = made?.metadata ?? { name: '' };
    const object = JSON.stringify(made);
    await api.store.exportArchive.store(
      tenant.tenantId,
      { id, name, createdAt, status: 'CANCELLED', destinationId, object, small: object },
      [],
    );
    await api.client.delete(RESOURCES.BulkExport, { namespace: tenant.namespace, name });
    await waitFor(async () => (await send()).json.id === id);
    expect((await send({ compression: 'gzip' })).status).toBe(409);
  });

  it('lists pages that begin after an export, of both places where they are', async () => {
    const { bulk_export_destination_id: destinationId, id: first } = (await create()).json;
    const ids: string[] = [first];
    for (const _ of [1, 2])
      ids.push((await tenant.call('POST', '/api/v1/bulk-exports', request(destinationId))).json.id as string);
    const archived = ['2026-01-02T00:00:00Z', '2026-01-01T00:00:00Z'].map((createdAt, at) => {
      const id = randomUUID();
      const metadata = { name: `old-${at}`, namespace: tenant.namespace, creationTimestamp: createdAt };
      const spec = {
        destinationRef: { name: 'x' },
        tracingProject: {},
        formatVersion: 'v1',
        compression: 'zstd',
      };
      const object = JSON.stringify({
        metadata: { ...metadata, annotations: { [ANNOTATION.id]: id } },
        spec,
      });
      return { id, name: metadata.name, createdAt, status: 'FAILED', destinationId, object, small: object };
    });
    for (const one of archived) await api.store.exportArchive.store(tenant.tenantId, one, []);
    const list = async (query: string): Promise<readonly string[]> =>
      (
        await tenant.call('GET', `/api/v1/bulk-exports?bulk_export_destination_id=${destinationId}&${query}`)
      ).json.map((one: { id: string }) => one.id);
    const all = await list('');
    expect([new Set(all.slice(0, 3)), all.slice(3)]).toEqual([new Set(ids), archived.map(({ id }) => id)]);
    const paged: string[] = [];
    for (
      let page = await list('limit=2');
      page.length > 0;
      page = await list(`limit=2&after=${paged.at(-1)}`)
    )
      paged.push(...page);
    expect(paged).toEqual(all);
    expect((await tenant.call('GET', `/api/v1/bulk-exports?after=${randomUUID()}`)).status).toBe(404);
  });

  it('lists exports by status, destination, project and schedule', async () => {
    const { id, bulk_export_destination_id } = (await create()).json;
    const list = async (query: string): Promise<readonly string[]> =>
      (await tenant.call('GET', `/api/v1/bulk-exports?${query}`)).json.map((one: { id: string }) => one.id);
    const mine = `bulk_export_destination_id=${bulk_export_destination_id}`;
    expect(await list(mine)).toEqual([id]);
    expect(await list(`${mine}&status=CREATED&session_id=${sessionId}`)).toEqual([id]);
    expect(await list(`${mine}&status=FAILED`)).toEqual([]);
    expect(await list(`${mine}&session_id=${randomUUID()}`)).toEqual([]);
    expect(await list(`source_bulk_export_id=${id}`)).toEqual([]);
    const wrong = await tenant.call('GET', '/api/v1/bulk-exports?status=DONE');
    expect(problems(wrong)).toEqual(['query.status enum']);
  });

  it('creates an export of a window inside one millisecond, and refuses an empty one', async () => {
    const window = { start_time: '2026-08-01T00:00:00.000001Z', end_time: '2026-08-01T00:00:00.000002Z' };
    const made = await create(window);
    expect([made.status, made.json.end_time]).toEqual([200, window.end_time]);
    const empty = await create({ ...window, end_time: window.start_time });
    expect([empty.status, empty.json.detail[0].msg]).toEqual([422, 'end_time must be after start_time']);
  });

  it('creates a destination whose prefix is a folder of Hive', async () => {
    const made = await tenant.call(
      'POST',
      '/api/v1/bulk-exports/destinations',
      destination({ prefix: 'env=prod/team@x' }),
    );
    expect([made.status, made.json.config.prefix]).toEqual([200, 'env=prod/team@x']);
  });

  it('refuses a window of more than ten years at once', async () => {
    const answer = await create({ start_time: '0001-01-01T00:00:00Z', end_time: '9999-01-01T00:00:00Z' });
    expect([answer.status, answer.json.detail]).toEqual([
      422,
      [
        {
          loc: ['body', 'end_time'],
          msg: 'The window spans 3651694 days; at most 3660 are exported at once',
          type: 'window_too_long',
        },
      ],
    ]);
    const longest = await create({ start_time: '2010-01-01T00:00:00Z', end_time: '2020-01-08T00:00:00Z' });
    expect(longest.status).toBe(200);
  });

  it('shows the runs of an export with rows, files and errors', async () => {
    const { id } = (await create()).json;
    const run = await makeRun(id);
    const uid = run.metadata.uid ?? '';
    await api.store.exportProgress.claim(uid, 1);
    const cursor = { startTime: 1_785_542_400_000_001n, id: randomUUID(), traceId: randomUUID() };
    await api.store.exportProgress.completePart(
      uid,
      1,
      { part: 0, key: 'exports/a/b.parquet', rows: 5, bytes: 9 },
      cursor,
    );
    await api.client.mergeStatus(
      RESOURCES.BulkExportRun,
      { namespace: tenant.namespace, name: run.metadata.name },
      {
        status: { attempt: 2, errors: { retry_0: 'gone' } },
      },
    );
    const path = `/api/v1/bulk-exports/${id}/runs`;
    const [shown] = await waitFor(async () => {
      const { json } = await tenant.call('GET', path);
      return json[0]?.errors ? json : undefined;
    });
    expect(shown).toMatchObject({
      id: UUID,
      bulk_export_id: id,
      status: 'RUNNING',
      rows_exported: 5,
      retry_number: 1,
      errors: { retry_0: 'gone' },
      metadata: {
        prefix: 'exports',
        result: {
          rows_written: 5,
          exported_files: ['bucket/exports/a/b.parquet'],
          export_path: 'bucket/exports/a',
        },
      },
    });
    expect(shown.metadata.result.latest_cursor).toContain(cursor.id);
    const soFar = { rows: 3, bytes: 4, startTime: '2026-08-01T01:00:00.000000Z' };
    await api.store.exportProgress.recordIntent(uid, 1, { part: 1, key: 'exports/a/c.parquet', soFar });
    const [underWay] = (await tenant.call('GET', path)).json;
    expect([underWay.rows_exported, underWay.metadata.result.rows_written]).toEqual([8, 5]);
    await api.store.exportProgress.cancel(uid);
    expect((await tenant.call('GET', `${path}/${shown.id}`)).json.rows_exported).toBe(5);
    expect((await tenant.call('GET', `${path}/${shown.id}`)).json.id).toBe(shown.id);
    expect((await tenant.call('GET', `${path}/${randomUUID()}`)).status).toBe(404);
  });

  it('lets no attempt of an export go on once its cancellation is answered', async () => {
    const { id } = (await create()).json;
    const { exportProgress } = api.store;
    const { items } = await api.client.list<BulkExport>(RESOURCES.BulkExport, {
      namespace: tenant.namespace,
    });
    const exportUid = items.find((one) => idOf(one) === id)?.metadata.uid ?? '';
    const [atWork, later] = [randomUUID(), randomUUID()];
    await exportProgress.claim(atWork, 1, exportUid);
    const cancelled = await tenant.call('PATCH', `/api/v1/bulk-exports/${id}`, { status: 'Cancelled' });
    expect(cancelled.json.status).toBe('CANCELLED');
    await expect(exportProgress.finish(atWork, 1)).rejects.toThrow('not in force');
    await expect(exportProgress.claim(later, 1, exportUid)).rejects.toThrow('not in force');
  });

  it('serves an export to its own tenant and to plans that include exports only', async () => {
    const { id } = (await create()).json;
    const other = await api.workspace();
    for (const [method, path, body] of [
      ['GET', `/api/v1/bulk-exports/${id}`],
      ['GET', `/api/v1/bulk-exports/${id}/runs`],
      ['PATCH', `/api/v1/bulk-exports/${id}`, { status: 'Cancelled' }],
    ] as const)
      expect([path, (await other.call(method, path, body)).status]).toEqual([path, 404]);
    expect((await other.call('GET', '/api/v1/bulk-exports')).json).toEqual([]);
    const { id: destinationId } = await makeDestination();
    expect((await other.call('POST', '/api/v1/bulk-exports', request(destinationId))).status).toBe(404);
    const poor = await api.workspace('developer');
    expect((await poor.call('POST', '/api/v1/bulk-exports', request(randomUUID()))).status).toBe(403);
    expect((await poor.call('POST', '/api/v1/bulk-exports/destinations', destination())).status).toBe(403);
  });

  it('refuses one export too many with words, until another has ended, and answers repetitions', async () => {
    const other = await api.workspace();
    const { id } = (await other.call('POST', '/api/v1/bulk-exports/destinations', destination())).json;
    const projectId = (await api.store.projects.ensure(other.tenantId, 'project')).id;
    const body = { ...request(id), session_id: projectId };
    const create = (more: object = {}, key?: string) =>
      other.call('POST', '/api/v1/bulk-exports', { ...body, ...more }, key ? { 'idempotency-key': key } : {});
    const first = await create({}, 'first');
    for (let n = 1; n < MAX_UNFINISHED; n++) expect((await create()).status).toBe(200);
    const refused = await create();
    expect([refused.status, refused.json.detail]).toEqual([
      429,
      expect.stringContaining('100 exports of this workspace have not ended'),
    ]);
    expect(refused.headers['retry-after']).toBe('30');
    expect((await create({}, 'first')).json.id).toBe(first.json.id);
    const schedule = await create({ end_time: null, interval_hours: 1 });
    expect(schedule.status).toBe(200);
    await other.call('PATCH', `/api/v1/bulk-exports/${first.json.id}`, { status: 'Cancelled' });
    expect((await create()).status).toBe(200);
  });

  it('adds the position in the queue when it is asked, and writes none', async () => {
    const other = await api.workspace();
    const { id } = (await other.call('POST', '/api/v1/bulk-exports/destinations', destination())).json;
    const projectId = (await api.store.projects.ensure(other.tenantId, 'project')).id;
    const names: string[] = [];
    for (let n = 0; n < 3; n++) {
      const answer = await other.call('POST', '/api/v1/bulk-exports', {
        ...request(id),
        session_id: projectId,
      });
      names.push(`export-${answer.json.id.slice(0, 13)}`);
    }
    const message = 'queued: the workspace has 1 exports at work, the most it may';
    const at = '2026-11-20T00:00:00Z';
    const said = { status: 'True', reason: 'Queued', message, lastTransitionTime: at };
    for (const name of names)
      await api.client.mergeStatus(RESOURCES.BulkExport, { namespace: other.namespace, name }, {
        status: { conditions: ['Accepted', 'Ready'].map((type) => ({ type, ...said })) },
      } as never);
    const positions = async (): Promise<unknown> => {
      const { json } = await other.call('GET', '/api/v1/bulk-exports');
      const shown = json.map((one: { status_message: string | null }) => one.status_message).sort();
      return (
        JSON.stringify(shown) ===
        JSON.stringify([1, 2, 3].map((n) => `position ${n} in the queue of the workspace; ${message}`))
      );
    };
    await waitFor(positions);
    const { json: listed } = await other.call('GET', '/api/v1/bulk-exports');
    for (const one of listed)
      expect((await other.call('GET', `/api/v1/bulk-exports/${one.id}`)).json.status_message).toBe(
        one.status_message,
      );
  });
});
