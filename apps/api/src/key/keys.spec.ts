import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testPostgres } from '#lib/testing';
import { OPERATOR_KEY, runApi, type RunningApi, type TestTenant } from '../testdata/running-api.js';

const postgres = testPostgres();
const PATH = '/api/v1/api-key';

describe('api-key routes', () => {
  let api: RunningApi;
  let tenant: TestTenant;

  beforeAll(async () => {
    const [store, kube] = [await postgres.freshDatabase(), await postgres.freshDatabase()];
    api = await runApi(store.uri, kube.uri);
    tenant = await api.workspace();
  });
  afterAll(() => api.stop());

  async function descriptions(of: TestTenant, query = ''): Promise<string[]> {
    const answer = await of.call('GET', `${PATH}${query}`);
    return (answer.json as { description: string }[]).map(({ description }) => description);
  }

  it('shows a new key once, and never again', async () => {
    const { status, json } = await tenant.call('POST', PATH, { description: 'laptop' });
    expect([status, json]).toEqual([
      200,
      {
        id: expect.stringMatching(/^[0-9A-Za-z]{12}$/),
        short_key: `apk_${json.id}`,
        description: 'laptop',
        kind: 'person',
        deployment: null,
        created_at: expect.stringMatching(/Z$/),
        last_used_at: null,
        revoked_at: null,
        key: expect.stringMatching(new RegExp(`^apk_${json.id}_`)),
      },
    ]);
    const list = await tenant.call('GET', PATH);
    expect(list.json[0]).toMatchObject({ id: json.id, description: 'laptop' });
    expect(list.text).not.toContain(json.key);
    expect((await tenant.call('GET', PATH, undefined, { 'x-api-key': json.key })).status).toBe(200);
  });

  it('revokes a key for good', async () => {
    const made = (await tenant.call('POST', PATH, { description: 'short-lived' })).json;
    const gone = await tenant.call('DELETE', `${PATH}/${made.id}`);
    expect([gone.status, gone.json.revoked_at]).toEqual([200, expect.stringMatching(/Z$/)]);
    expect((await tenant.call('GET', PATH, undefined, { 'x-api-key': made.key })).status).toBe(401);
    expect(await descriptions(tenant)).not.toContain('short-lived');
    expect(await descriptions(tenant, '?include_revoked=true')).toContain('short-lived');
    expect((await tenant.call('DELETE', `${PATH}/${made.id}`)).status).toBe(404);
  });

  it('refuses an unusable description and kinds of keys that do not exist', async () => {
    expect((await tenant.call('POST', PATH, { description: '' })).status).toBe(422);
    expect((await tenant.call('POST', PATH, { description: 'x'.repeat(201) })).status).toBe(422);
    const readOnly = await tenant.call('POST', PATH, { description: 'x', read_only: true });
    expect([readOnly.status, readOnly.text]).toEqual([422, expect.stringContaining('read_only')]);
    expect((await tenant.call('GET', `${PATH}?include_revoked=perhaps`)).status).toBe(422);
  });

  it('hides the keys of other tenants', async () => {
    const other = await api.workspace();
    const { id } = (await other.call('POST', PATH, { description: 'of the other' })).json;
    expect(await descriptions(tenant)).not.toContain('of the other');
    expect((await tenant.call('DELETE', `${PATH}/${id}`)).status).toBe(404);
    expect(await descriptions(other)).toContain('of the other');
    const asOther = await tenant.call('GET', PATH, undefined, { 'x-tenant-id': other.tenantId });
    expect(asOther.status).toBe(404);
  });

  it.each(['x', `${'x'.repeat(101)}`, '..%2F..', 'ünïcode'])('answers 404 for the id %j', async (id) => {
    expect((await tenant.call('DELETE', `${PATH}/${encodeURIComponent(id)}`)).status).toBe(404);
  });

  it('refuses the routes of keys to the key of a deployment, and keeps that key', async () => {
    const own = await api.store.apiKeys.mint(tenant.tenantId, {
      ...{ name: 'agent', kind: 'deployment', deployment: 'agent' },
    });
    const headers = { 'x-api-key': own.key };
    expect((await tenant.call('GET', PATH, undefined, headers)).status).toBe(403);
    expect((await tenant.call('POST', PATH, { description: 'x' }, headers)).status).toBe(403);
    const refused = await tenant.call('DELETE', `${PATH}/${own.id}`);
    expect([refused.status, refused.json.detail]).toEqual([
      409,
      `API key ${own.id} belongs to the deployment agent and is revoked when that is deleted`,
    ]);
  });

  describe('with the operator key', () => {
    const operator = (tenantId?: string) => ({
      'x-api-key': OPERATOR_KEY,
      ...(tenantId === undefined ? {} : { 'x-tenant-id': tenantId }),
    });

    it('makes the first key of a workspace', async () => {
      const other = await api.workspace();
      const made = await tenant.call('POST', PATH, { description: 'first' }, operator(other.tenantId));
      expect(made.status).toBe(200);
      expect(await descriptions(other)).toContain('first');
      expect(await descriptions(tenant)).not.toContain('first');
    });

    it.each([
      ['no tenant', undefined],
      ['an unknown tenant', '00000000-0000-4000-8000-000000000000'],
      ['a tenant that is no uuid', 'default'],
    ])('answers 404 for %s', async (_what, id) => {
      expect((await tenant.call('GET', PATH, undefined, operator(id))).status).toBe(404);
    });

    it.each(['/sessions', '/v2/deployments', '/api/v1/bulk-exports', '/api/v1/api-keys'])(
      'opens nothing else: %s',
      async (path) => {
        const answer = await fetch(api.url + path, { headers: operator(tenant.tenantId) });
        expect(answer.status).toBe(403);
      },
    );

    it('refuses another operator key', async () => {
      const headers = { ...operator(tenant.tenantId), 'x-api-key': `${OPERATOR_KEY}x` };
      expect((await tenant.call('GET', PATH, undefined, headers)).status).toBe(401);
    });
  });
});
