import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { testApi } from '../testdata/test-api.js';

describe('prices applied again', () => {
  const { tenant } = testApi();
  const PATH = '/model-price-map';

  it('names models without a price, and prices their runs when they have one', async () => {
    const [id, model] = [randomUUID(), 'house-1'];
    const run = {
      id,
      trace_id: id,
      name: 'n',
      run_type: 'llm',
      session_name: 'p',
      start_time: new Date(Date.now() - 60_000).toISOString(),
      extra: { metadata: { ls_model_name: model, ls_provider: 'acme' } },
      outputs: { usage_metadata: { input_tokens: 3, output_tokens: 4 } },
    };
    await tenant.call('POST', '/runs', run);
    const [project] = (await tenant.call('GET', '/sessions?name=p')).json;
    const unmatched = async () => (await tenant.call('GET', `${PATH}/unmatched`)).json;
    expect(await unmatched()).toMatchObject([{ model, provider: 'acme', runs: 1, total_tokens: 7 }]);
    const row = { name: 'house', match_pattern: '^house', prompt_cost: 1, completion_cost: 2 };
    await tenant.call('PUT', PATH, row);
    const begun = await tenant.call('POST', `${PATH}/apply`, { session_id: project.id });
    expect(begun).toMatchObject({ status: 202, json: { session_id: project.id, start_time: null } });
    let found = begun.json;
    while (found.status === 'pending') found = (await tenant.call('GET', `${PATH}/apply/${found.id}`)).json;
    expect(found).toMatchObject({ runs_looked_at: 1, runs_changed: 1, runs_without_price: 0, problem: null });
    expect((await tenant.call('GET', `/runs/${id}`)).json).toMatchObject({ total_cost: '11.0000000000' });
    expect((await tenant.call('GET', `${PATH}/apply`)).json).toEqual([found]);
    expect(await unmatched()).toEqual([]);
  });

  it('refuses projects and applications that do not exist', async () => {
    const none = randomUUID();
    expect(await tenant.call('POST', `${PATH}/apply`, { session_id: none })).toMatchObject({ status: 404 });
    expect(await tenant.call('GET', `${PATH}/unmatched?session_id=${none}`)).toMatchObject({ status: 404 });
    expect(await tenant.call('GET', `${PATH}/apply/${none}`)).toMatchObject({ status: 404 });
  });
});
