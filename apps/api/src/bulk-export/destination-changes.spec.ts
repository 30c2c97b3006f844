import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import {
  ANNOTATION,
  type BulkExportDestination,
  formerCredentials,
  RESOURCES,
  SECRETS,
} from '#lib/resources';
import { waitFor } from '#lib/testing';
import { testApi } from '../testdata/test-api.js';
import { CREDENTIALS, KEYS, testObjects } from '../testdata/test-bucket.js';

const PATH = '/api/v1/bulk-exports/destinations';

describe('changes of a destination', () => {
  const { api, tenant } = testApi();
  const objects = testObjects();

  async function make(): Promise<string> {
    const { json } = await tenant.call('POST', PATH, {
      destination_type: 'object_store',
      display_name: 'first',
      config: { bucket_name: 'bucket', endpoint_url: objects.endpoint },
      credentials: CREDENTIALS,
    });
    return json.id as string;
  }
  const credentials = (secret = KEYS.secretAccessKey) => ({
    access_key_id: KEYS.accessKeyId,
    secret_access_key: secret,
    session_token: 'TOKEN',
  });
  const secretNames = async (): Promise<readonly string[]> =>
    (await api.client.list(SECRETS, { namespace: tenant.namespace })).items.map(
      ({ metadata }) => metadata.name,
    );
  const resource = async (id: string): Promise<BulkExportDestination> => {
    const { items } = await api.client.list(RESOURCES.BulkExportDestination, { namespace: tenant.namespace });
    const found = items.find(({ metadata }) => metadata.annotations?.[ANNOTATION.id] === id);
    if (!found) throw new Error(`no destination ${id}`);
    return found;
  };

  it('renames it', async () => {
    const id = await make();
    const answer = await tenant.call('PATCH', `${PATH}/${id}`, { display_name: 'second' });
    expect([answer.status, answer.json.display_name]).toEqual([200, 'second']);
    expect((await tenant.call('GET', `${PATH}/${id}`)).json.display_name).toBe('second');
  });

  it('tests new credentials, and keeps the former ones where they are refused', async () => {
    const id = await make();
    const before = await secretNames();
    const answer = await tenant.call('PATCH', `${PATH}/${id}`, { credentials: credentials('wrong') });
    expect([answer.status, answer.json.detail]).toEqual([
      400,
      expect.stringMatching(/^Access denied: SignatureDoesNotMatch: /),
    ]);
    expect(await secretNames()).toEqual(before);
  });

  it('puts new credentials in place of the former ones, which stay for runs that are being made', async () => {
    const id = await make();
    const secret = async (): Promise<string> => (await resource(id)).spec.credentialsSecretRef?.name ?? '';
    const names = [await secret()];
    for (const _ of [1, 2]) {
      const body = { credentials: { ...credentials(), session_token: null } };
      expect((await tenant.call('PATCH', `${PATH}/${id}`, body)).status).toBe(200);
      names.push(await secret());
    }
    expect(new Set(names).size).toBe(3);
    expect(formerCredentials(await resource(id)).map(({ secretName }) => secretName)).toEqual(
      names.slice(0, 2),
    );
    const { items } = await api.client.list(SECRETS, { namespace: tenant.namespace });
    const ofDestination = items.filter(({ metadata }) => names.includes(metadata.name));
    expect(ofDestination.map(({ metadata }) => metadata.ownerReferences?.[0]?.kind)).toEqual(
      Array(3).fill('BulkExportDestination'),
    );
  });

  it('refuses to change what it writes to, and to change nothing', async () => {
    const id = await make();
    const config = { bucket_name: 'other' };
    const refused = await tenant.call('PATCH', `${PATH}/${id}`, { config }, { prefer: 'handling=strict' });
    expect([refused.status, refused.json.detail[0].type]).toEqual([422, 'extra_forbidden']);
    const empty = await tenant.call('PATCH', `${PATH}/${id}`, {});
    expect([empty.status, empty.json.detail[0].msg]).toEqual([
      422,
      'Give display_name, credentials or both; what a destination writes to cannot be changed',
    ]);
  });

  it('has it tested again, and answers what the test found', async () => {
    const id = await make();
    const { metadata } = await resource(id);
    const testing = tenant.call('POST', `${PATH}/${id}/test`);
    await waitFor(
      async () => (await resource(id)).metadata.annotations?.[ANNOTATION.testRequest] !== undefined,
    );
    const at = new Date().toISOString();
    const condition = {
      type: 'Ready',
      status: 'False',
      reason: 'Refused',
      message: 'Access denied',
    } as const;
    await api.client.mergeStatus(
      RESOURCES.BulkExportDestination,
      { namespace: metadata.namespace ?? '', name: metadata.name },
      { status: { testedAt: at, conditions: [{ ...condition, lastTransitionTime: at }] } },
    );
    const answer = await testing;
    expect([answer.status, answer.json]).toEqual([
      200,
      expect.objectContaining({ status_reason: 'Refused', status_message: 'Access denied', tested_at: at }),
    ]);
  });

  it('lets half of all places wait for tests, and ends the waiting of clients that left', async () => {
    const other = await api.workspace();
    const ids = await Promise.all(
      Array.from({ length: 34 }, async (_, at) => {
        const id = randomUUID();
        await api.client.create(RESOURCES.BulkExportDestination, {
          metadata: { namespace: other.namespace, name: `d${at}`, annotations: { [ANNOTATION.id]: id } },
          spec: {
            type: 'object_store',
            config: { bucketName: 'bucket', includeBucketInPrefix: true },
            credentialsSecretRef: { name: 'none' },
          },
        });
        return id;
      }),
    );
    const leave = new AbortController();
    const headers = { 'X-API-Key': other.key, 'X-Tenant-Id': other.tenantId };
    const ask = (id = ''): Promise<number | 'left'> =>
      fetch(`${api.url}${PATH}/${id}/test`, { method: 'POST', headers, signal: leave.signal }).then(
        ({ status }) => status,
        () => 'left' as const,
      );
    await waitFor(async () => (await other.call('GET', PATH)).json.length === ids.length);
    const waiting = ids.slice(0, 33).map(ask);
    expect(await Promise.race(waiting)).toBe(429);
    leave.abort();
    expect((await Promise.all(waiting)).filter((answer) => answer === 'left')).toHaveLength(32);
    const url = `${api.url}${PATH}/${ids[33]}/test`;
    await waitFor(async () => {
      const signal = AbortSignal.timeout(300);
      // one that waits has a place
      const status = await fetch(url, { method: 'POST', headers, signal }).then(
        (answer) => answer.status,
        () => 'waits',
      );
      return status === 'waits';
    });
  });

  it('deletes it', async () => {
    const id = await make();
    expect((await tenant.call('DELETE', `${PATH}/${id}`)).status).toBe(204);
    expect((await tenant.call('GET', `${PATH}/${id}`)).status).toBe(404);
    expect((await tenant.call('DELETE', `${PATH}/${id}`)).status).toBe(404);
  });

  it('belongs to its own tenant', async () => {
    const id = await make();
    const other = await api.workspace();
    for (const [method, path, body] of [
      ['PATCH', `${PATH}/${id}`, { display_name: 'stolen' }],
      ['POST', `${PATH}/${id}/test`],
      ['DELETE', `${PATH}/${id}`],
    ] as const)
      expect([method, (await other.call(method, path, body)).status]).toEqual([method, 404]);
  });
});
