import { beforeAll, describe, expect, it } from '@jest/globals';
import { type BulkExport, type BulkExportDestination, type BulkExportRun, RESOURCES } from '#lib/resources';
import { waitFor } from '#lib/testing';
import { testApi } from '../testdata/test-api.js';
import { CREDENTIALS, testObjects } from '../testdata/test-bucket.js';
import { VALUES } from '../wire/words.js';

const PATH = '/api/v1/bulk-exports';

describe("the bulk export interface in the words of LangSmith's clients", () => {
  const { api, tenant } = testApi();
  const objects = testObjects();
  let sessionId = '';

  beforeAll(async () => {
    sessionId = (await api.store.projects.ensure(tenant.tenantId, 'project')).id;
  });

  const call = async (method: string, path: string, body?: object, status = 200) => {
    const answer = await tenant.call(method, PATH + path, body);
    expect([answer.status, answer.json?.detail]).toEqual([status, undefined]);
    return answer.json;
  };
  const destination = (over: object = {}) => ({
    display_name: 'a bucket',
    config: { bucket_name: 'bucket', endpoint_url: objects.endpoint },
    credentials: CREDENTIALS,
    ...over,
  });
  const makeDestination = async (over: object = {}) => call('POST', '/destinations', destination(over));
  const request = (id: string, over: object = {}) => ({
    bulk_export_destination_id: id,
    session_id: sessionId,
    start_time: '2026-08-01T00:00:00Z',
    end_time: '2026-08-02T00:00:00Z',
    ...over,
  });
  const setStatus = async (id: string, type: string, reason = type) => {
    const name = `export-${id.slice(0, 13)}`;
    const conditions = [
      { type, status: 'True', reason, message: '', lastTransitionTime: '2026-11-20T00:00:00Z' },
    ];
    const key = { namespace: tenant.namespace, name };
    await api.client.mergeStatus(RESOURCES.BulkExport, key, { status: { conditions } } as never);
  };

  it('answers the type of a destination as it was sent, s3 where it was not', async () => {
    for (const [sent, answered] of [
      [{}, 's3'],
      [{ destination_type: 's3' }, 's3'],
      [{ destination_type: 'object_store' }, 'object_store'],
    ] as const) {
      const made = await makeDestination(sent);
      expect(made.destination_type).toBe(answered);
      expect(await call('GET', `/destinations/${made.id}`)).toEqual(made);
    }
    const { items } = await api.client.list<BulkExportDestination>(RESOURCES.BulkExportDestination, {
      namespace: tenant.namespace,
    });
    expect(new Set(items.map(({ spec }) => spec.type))).toEqual(new Set(['object_store']));
  });

  it('tests a destination whose bucket is addressed by its path', async () => {
    const config = { ...destination().config, config_kwargs_s3: { addressing_style: 'path' } };
    expect((await makeDestination({ config })).config).toMatchObject({ include_bucket_in_prefix: true });
  });

  it.each([
    [{ config_kwargs_s3: { addressing_style: 'path' }, include_bucket_in_prefix: false }, 'opposite'],
    [{ config_kwargs_s3: { addressing_style: 'path' }, endpoint_url: null }, 'give endpoint_url'],
    [{ config_kwargs_s3: { use_accelerate_endpoint: true } }, 'extra_forbidden'],
  ])('refuses %j', async (more, words) => {
    const config = { ...destination().config, ...more };
    const refused = await tenant.call('POST', `${PATH}/destinations`, destination({ config }));
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining(words)]);
  });

  it('takes a PATCH of a destination that changes nothing', async () => {
    const made = await makeDestination();
    expect(await call('PATCH', `/destinations/${made.id}`, {})).toEqual(made);
  });

  const ROLE = 'arn:aws:iam::111122223333:role/exports';
  it.each([
    [400, { aws_role_arn: ROLE, credentials: null }, 'may not use those of the platform'],
    [400, { config: { aws_role_arn: ROLE }, credentials: null }, 'may not use those of the platform'],
    [422, { aws_role_arn: ROLE }, 'Give either credentials or aws_role_arn'],
    [422, { aws_role_arn: ROLE, config: { aws_role_arn: `${ROLE}2` } }, 'config.aws_role_arn is another'],
    [422, { aws_role_arn: 'arn:aws:iam::1:user/a' }, 'String should be the ARN of a role'],
  ])(
    'answers %d to the role of %j',
    async (status, over: { config?: object; aws_role_arn?: string }, words) => {
      const config = { ...destination().config, ...over.config };
      const refused = await tenant.call('POST', `${PATH}/destinations`, destination({ ...over, config }));
      expect([refused.status, refused.text]).toEqual([status, expect.stringContaining(words)]);
    },
  );

  it('switches to no role that the workspace may not use', async () => {
    const { id } = await makeDestination();
    const refused = await tenant.call('PATCH', `${PATH}/destinations/${id}`, { aws_role_arn: ROLE });
    expect(refused.status).toBe(400);
    expect(await call('GET', `/destinations/${id}`)).toMatchObject({
      config: { aws_role_arn: null },
      credentials_keys: ['access_key_id', 'secret_access_key'],
    });
  });

  it.each(['none', 'gzip', 'snappy', 'zstandard', 'zstd'])(
    'answers compression %s as it was sent',
    async (word) => {
      const { id } = await makeDestination();
      const made = await call('POST', '', request(id, { compression: word, all_experiments: false }));
      expect(made).toMatchObject({
        compression: word,
        all_experiments: false,
        status: 'Created',
        start_time: '2026-08-01T00:00:00Z',
        end_time: '2026-08-02T00:00:00Z',
      });
      expect(await call('GET', `/${made.id}`)).toEqual(made);
    },
  );

  const statuses = VALUES.find(({ member }) => member === 'status')?.words ?? [];

  it('answers statuses in the words of the destination, and finds exports by both', async () => {
    const { id } = await makeDestination();
    const ends = {
      COMPLETED: ['Completed'],
      FAILED: ['Failed'],
      CANCELLED: ['Failed', 'Cancelled'],
      TIMEDOUT: ['Failed', 'TimedOut'],
    };
    for (const [ours, [type = '', reason]] of Object.entries(ends)) {
      const made = await call('POST', '', request(id));
      await setStatus(made.id, type, reason);
      const vendors = statuses.find(([own]) => own === ours)?.[1];
      const deadline = async (): Promise<string> => (await call('GET', `/${made.id}`)).status;
      await expect(eventually(deadline, (status) => status !== 'Created')).resolves.toBe(vendors);
      for (const word of [ours, vendors])
        expect((await call('GET', `?status=${word}`)).map((one: { id: string }) => one.id)).toContain(
          made.id,
        );
    }
    const { id: neutral } = await makeDestination({ destination_type: 'object_store' });
    const made = await call('POST', '', request(neutral));
    expect([made.status, made.compression]).toEqual(['CREATED', 'zstd']);
    expect((await call('POST', '', request(id))).compression).toBe('zstandard');
  });

  it('answers a schedule as IntervalScheduled, and lists the runs that it made', async () => {
    const { id } = await makeDestination();
    const made = await call('POST', '', request(id, { interval_hours: 24, end_time: null }));
    expect(made.status).toBe('IntervalScheduled');
    expect(await call('GET', `/runs?source_bulk_export_id=${made.id}&limit=10&offset=0`)).toEqual([]);
  });

  it('cancels an export by an empty PATCH, and one that has ended without an error', async () => {
    const { id } = await makeDestination();
    const made = await call('POST', '', request(id));
    await call('PATCH', `/${made.id}`, {});
    const key = { namespace: tenant.namespace, name: `export-${made.id.slice(0, 13)}` };
    expect((await api.client.get<BulkExport>(RESOURCES.BulkExport, key)).spec.cancel).toBe(true);
    const ended = await call('POST', '', request(id));
    await setStatus(ended.id, 'Completed');
    const status = async (): Promise<string> => (await call('GET', `/${ended.id}`)).status;
    await eventually(status, (word) => word === 'Completed');
    expect((await call('PATCH', `/${ended.id}`, { status: 'Cancelled' })).status).toBe('Completed');
  });

  it('answers no result of a run before its first file', async () => {
    const { id } = await makeDestination();
    const made = await call('POST', '', request(id));
    const exportName = `export-${made.id.slice(0, 13)}`;
    const { spec } = await api.client.get<BulkExport>(RESOURCES.BulkExport, {
      namespace: tenant.namespace,
      name: exportName,
    });
    const { format, formatVersion, compression } = spec;
    await api.client.create<BulkExportRun>(RESOURCES.BulkExportRun, {
      metadata: { name: `${exportName}-20260801`, namespace: tenant.namespace },
      spec: {
        exportName,
        exportId: made.id,
        tenantId: tenant.tenantId,
        projectId: sessionId,
        startTime: '2026-08-01T00:00:00Z',
        endTime: '2026-08-02T00:00:00Z',
        destination: { config: { bucketName: 'bucket', includeBucketInPrefix: true } },
        format,
        formatVersion,
        compression,
      },
    });
    const [run] = await waitFor(async () => {
      const runs = await call('GET', `/${made.id}/runs`);
      return runs.length > 0 ? runs : undefined;
    });
    expect(run).toMatchObject({ session_id: sessionId, status: 'Created', metadata: { result: null } });
  });

  it('cancels nothing by a PATCH of which no member is known', async () => {
    const { id } = await makeDestination();
    const made = await call('POST', '', request(id));
    expect((await tenant.call('PATCH', `${PATH}/${made.id}`, { pause: true })).status).toBe(422);
  });

  it('refuses all experiments at once in a sentence', async () => {
    const { id } = await makeDestination();
    for (const session_id of [sessionId, null]) {
      const refused = await tenant.call('POST', PATH, request(id, { all_experiments: true, session_id }));
      expect([refused.status, refused.json.detail]).toEqual([
        422,
        [expect.objectContaining({ loc: ['body', 'all_experiments'] })],
      ]);
    }
    const missing = await tenant.call('POST', PATH, request(id, { session_id: undefined }));
    expect(missing.json.detail).toEqual([
      { loc: ['body', 'session_id'], msg: 'Field required', type: 'missing' },
    ]);
  });
});

async function eventually(read: () => Promise<string>, isDone: (value: string) => boolean): Promise<string> {
  return waitFor(async () => {
    const value = await read();
    return isDone(value) ? value : undefined;
  });
}
