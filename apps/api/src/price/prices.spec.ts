import { describe, expect, it } from '@jest/globals';
import pg from 'pg';
import type { PriceAnswer } from './prices-controller.js';
import { testApi } from '../testdata/test-api.js';

describe('the price table', () => {
  const { api, tenant } = testApi();
  const PATH = '/model-price-map';
  const row = (more: object = {}) => ({
    name: 'house',
    match_pattern: '^house-',
    prompt_cost: '0.000001',
    completion_cost: 2e-6,
    ...more,
  });
  const list = async (query = ''): Promise<PriceAnswer[]> =>
    (await tenant.call('GET', `${PATH}${query}`)).json;

  it('brings list prices of well-known models, each with its sources and their date', async () => {
    const shipped = await list();
    expect(shipped.length).toBeGreaterThan(20);
    for (const price of shipped)
      expect(price).toMatchObject({
        built_in: true,
        disabled: false,
        tenant_id: null,
        read_on: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
        sources: [expect.stringMatching(/^https:/), ...price.sources.slice(1)],
      });
    expect(new Set(shipped.map(({ id }) => id)).size).toBe(shipped.length);
    const [nano] = await list('?q=GPT-5-NANO');
    expect(nano).toMatchObject({
      prompt_cost: '0.00000005',
      completion_cost: '0.0000004',
      prompt_cost_details: { cache_read: '0.000000005' },
    });
  });

  it('adds, replaces, disables and deletes rows of the workspace, which come first', async () => {
    const { status, json } = await tenant.call('POST', PATH, row({ provider: 'house' }));
    expect(status).toBe(200);
    expect(json).toMatchObject({
      tenant_id: tenant.tenantId,
      built_in: false,
      disabled: false,
      sources: [],
      read_on: null,
      match_path: ['model', 'model_name', 'model_id', 'model_path', 'endpoint_name'],
      prompt_cost: '0.000001',
      completion_cost: '0.000002',
      start_time: null,
    });
    expect((await list())[0]).toEqual(json);
    const path = `${PATH}/${json.id}`;
    const start = { start_time: '2026-01-01T00:00:00Z', prompt_cost_details: { cache_read: 1e-9 } };
    const replaced = await tenant.call('PUT', path, row(start));
    expect(replaced.json).toMatchObject({
      id: json.id,
      provider: null,
      start_time: '2026-01-01T00:00:00.000000Z',
      prompt_cost_details: { cache_read: '0.000000001' },
    });
    const disabled = await tenant.call('PUT', path, { disabled: true });
    expect(disabled.json).toMatchObject({ ...replaced.json, disabled: true, updated_at: expect.anything() });
    expect((await tenant.call('DELETE', path)).json).toEqual({ message: 'Model price deleted' });
    expect(await tenant.call('DELETE', path)).toMatchObject({ status: 404 });
    expect(await tenant.call('PUT', path, row())).toMatchObject({ status: 404 });
  });

  it('puts a price in the place of the one of its name', async () => {
    const { json: first } = await tenant.call('PUT', PATH, row({ name: 'put' }));
    const { json: second } = await tenant.call('PUT', PATH, row({ name: 'put', prompt_cost: 3 }));
    expect(second).toMatchObject({ id: first.id, prompt_cost: '3' });
    const later = { name: 'put', start_time: '2030-01-01T00:00:00Z' };
    expect((await tenant.call('PUT', PATH, row(later))).json.id).not.toBe(first.id);
    await tenant.call('POST', PATH, row({ name: 'put', match_pattern: 'other' }));
    const { status, json } = await tenant.call('PUT', PATH, row({ name: 'put' }));
    expect([status, json.detail]).toEqual([409, expect.stringContaining(first.id)]);
  });

  it('keeps a version of its own of a row of the platform, or disables it', async () => {
    const [shipped] = await list('?q=gpt-4o-mini');
    const path = `${PATH}/${shipped?.id}`;
    const { json: own } = await tenant.call('PUT', path, { ...row({ name: 'cheap' }) });
    expect(own).toMatchObject({ id: shipped?.id, built_in: true, tenant_id: tenant.tenantId, name: 'cheap' });
    expect(await list('?q=gpt-4o-mini')).toEqual([]);
    for (let time = 0; time < 2; time++)
      expect((await tenant.call('DELETE', path)).json).toEqual({ message: 'Model price disabled' });
    expect(await list('?q=cheap')).toMatchObject([{ id: shipped?.id, disabled: true }]);
    const { json: enabled } = await tenant.call('PUT', path, { disabled: false });
    expect(enabled).toEqual(shipped);
    expect(await list('?q=gpt-4o-mini')).toEqual([shipped]);
  });

  it.each([
    ['a price that is negative', row({ prompt_cost: -1 }), 'prompt_cost'],
    ['a price with more digits than are kept', row({ prompt_cost: '0.0000000000000001' }), 'prompt_cost'],
    ['a detail that is no price', row({ prompt_cost_details: { audio: 'much' } }), 'prompt_cost_details'],
    ['a pattern that is none', row({ match_pattern: '(' }), 'match_pattern'],
    ['a pattern with a look-ahead', row({ match_pattern: 'a(?=b)' }), 'match_pattern'],
    ['repetitions of repetitions', row({ match_pattern: '((a{100}){100}){100}' }), 'match_pattern'],
    ['a pattern of too many steps', row({ match_pattern: '(abc|defg){150}' }), 'match_pattern'],
    ['a member that is not known', row({ prompt_token_threshold: 1 }), 'prompt_token_threshold'],
    ['a row without a name', { ...row(), name: undefined }, 'name'],
  ])('refuses %s', async (_what, body, member) => {
    const { status, json } = await tenant.call('POST', PATH, body);
    expect([status, json.detail[0].loc]).toEqual([422, ['body', member]]);
  });

  it('refuses a row twice, parts of a row, and more rows than there may be', async () => {
    await tenant.call('POST', PATH, row({ name: 'twice' }));
    expect(await tenant.call('POST', PATH, row({ name: 'twice' }))).toMatchObject({ status: 409 });
    const [own] = await list('?q=twice');
    const { status, json } = await tenant.call('PUT', `${PATH}/${own?.id}`, { name: 'twice' });
    expect([status, json.detail.map((one: { loc: string[] }) => one.loc[1])]).toEqual([
      422,
      ['match_pattern', 'prompt_cost', 'completion_cost'],
    ]);
    const both = { ...row(), disabled: true };
    expect(await tenant.call('PUT', `${PATH}/${own?.id}`, both)).toMatchObject({ status: 422 });
    const other = await api.workspace('enterprise');
    const client = new pg.Client({ connectionString: api.storeUri });
    await client.connect();
    await client.query(
      `INSERT INTO model_prices (tenant_id, id, name, match_pattern, match_path, prompt_cost, completion_cost, is_disabled)
      SELECT $1, gen_random_uuid(), n::text, '^none$', '{}', '1', '1', false FROM generate_series(1, 500) AS n`,
      [other.tenantId],
    );
    await client.end();
    const refused = await other.call('POST', PATH, row({ name: 'one more' }));
    expect([refused.status, refused.json.detail]).toEqual([409, expect.stringContaining('500 prices')]);
  });

  it('counts its rows beside the page that is asked for', async () => {
    const all = await list();
    const answer = await fetch(`${api.url}${PATH}?limit=2&offset=1`, {
      headers: { 'x-api-key': tenant.key },
    });
    expect(answer.headers.get('x-pagination-total')).toBe(String(all.length));
    expect(await answer.json()).toEqual(all.slice(1, 3));
  });
});
