import { describe, expect, it } from '@jest/globals';
import { mintApiKey } from '#lib/auth';
import { waitFor } from '#lib/testing';
import { OPERATOR_KEY, type TestTenant } from '../testdata/running-api.js';
import { testApi } from '../testdata/test-api.js';

const PATH = '/api/v1/api-key';

describe('api-key routes', () => {
  const { api, tenant } = testApi();

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
        scope: 'workspace',
        deployment: null,
        created_at: expect.stringMatching(/Z$/),
        expires_at: null,
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

  it('refuses an unusable description and fields that do not exist', async () => {
    expect((await tenant.call('POST', PATH, { description: '' })).status).toBe(422);
    expect((await tenant.call('POST', PATH, { description: 'x'.repeat(201) })).status).toBe(422);
    const readOnly = await tenant.call('POST', PATH, { description: 'x', read_only: true });
    expect([readOnly.status, readOnly.text]).toEqual([422, expect.stringContaining('read_only')]);
    expect((await tenant.call('GET', `${PATH}?include_revoked=perhaps`)).status).toBe(422);
  });

  it.each(['workspace', 'ingest', 'read', 'invoke'])(
    'makes and shows a key of the scope %s',
    async (scope) => {
      const made = (await tenant.call('POST', PATH, { description: scope, scope })).json;
      expect(made.scope).toBe(scope);
      const shown = (await tenant.call('GET', PATH)).json as { id: string }[];
      expect(shown.find(({ id }) => id === made.id)).toMatchObject({ scope });
      const verified = await tenant.call('POST', '/auth/verify', undefined, { 'x-api-key': made.key });
      expect(verified.json).toEqual({ tenant_id: tenant.tenantId, key_id: made.id, scope });
    },
  );

  it.each(['deployment', 'person', '', 'Workspace', 'toString', ['read']])(
    'refuses the scope %j',
    async (scope) => {
      const answer = await tenant.call('POST', PATH, { description: 'x', scope });
      expect([answer.status, answer.text]).toEqual([422, expect.stringContaining('scope')]);
    },
  );

  it('makes a key that expires, and refuses it from then on as an unknown one', async () => {
    const end = new Date((await api.store.databaseTime()).getTime() + 1_500).toISOString();
    const made = (await tenant.call('POST', PATH, { description: 'brief', expires_at: end })).json;
    expect(made.expires_at).toBe(end);
    const as = { 'x-api-key': made.key };
    const verified = await tenant.call('POST', '/auth/verify', undefined, as);
    expect(verified.json.expires_in_ms).toBeLessThanOrEqual(1_500);
    await waitFor(async () => (await tenant.call('GET', PATH, undefined, as)).status === 401);
    const unknown = await tenant.call('GET', PATH, undefined, { 'x-api-key': mintApiKey().key });
    expect((await tenant.call('GET', PATH, undefined, as)).text).toBe(unknown.text);
    expect(await descriptions(tenant)).toContain('brief');
  });

  it.each(['2020-01-01T00:00:00Z', 'tomorrow', 5, '2026-13-01T00:00:00Z'])(
    'refuses the end %j',
    async (end) => {
      const answer = await tenant.call('POST', PATH, { description: 'x', expires_at: end });
      expect([answer.status, answer.text]).toEqual([422, expect.stringContaining('expires_at')]);
    },
  );

  describe('made with a key that expires', () => {
    const inMs = async (ms: number) =>
      new Date((await api.store.databaseTime()).getTime() + ms).toISOString();
    const brief = async () => {
      const expires_at = await inMs(600_000);
      const made = (await tenant.call('POST', PATH, { description: 'brief', expires_at })).json;
      return { expires_at, as: { 'x-api-key': made.key as string } };
    };

    it('ends with it when no end is asked for', async () => {
      const { expires_at, as } = await brief();
      const made = await tenant.call('POST', PATH, { description: 'child' }, as);
      expect([made.status, made.json.expires_at]).toEqual([200, expires_at]);
    });

    it('may end before it, and not after', async () => {
      const { as } = await brief();
      const earlier = await tenant.call('POST', PATH, { expires_at: await inMs(300_000) }, as);
      expect(earlier.status).toBe(200);
      const later = await tenant.call('POST', PATH, { expires_at: await inMs(900_000) }, as);
      expect([later.status, later.json.detail[0]]).toMatchObject([
        422,
        { loc: ['body', 'expires_at'], type: 'datetime_after_own_end' },
      ]);
    });

    it('has no end of its own when the operator makes it', async () => {
      const as = { 'x-api-key': OPERATOR_KEY, 'x-tenant-id': tenant.tenantId };
      expect((await tenant.call('POST', PATH, { description: 'x' }, as)).json.expires_at).toBeNull();
    });
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
      name: 'agent',
      scope: 'deployment',
      deployment: 'agent',
      project: 'agent',
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
