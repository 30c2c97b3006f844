import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { Client, RunTree } from 'langsmith';
import { pythonWith } from '#lib/testing';
import { testApi } from '../testdata/test-api.js';

const SEND_COSTS = join(import.meta.dirname, '..', 'testdata', 'send-costs.py');
/** A Python with `langsmith`. */
const python = pythonWith('langsmith');

const USAGE = {
  input_tokens: 1_000,
  output_tokens: 100,
  total_tokens: 1_100,
  input_token_details: { cache_read: 400 },
};
/** 600 at 0.15, 400 at 0.075 and 100 at 0.6 dollars for a million. */
const PROMPT_COST = '0.0001200000';
const COMPLETION_COST = '0.0000600000';
const TOTAL_COST = '0.0001800000';

describe('pricing of runs', () => {
  const { api, tenant } = testApi();

  it('takes costs from the price table for the client of JavaScript, down to totals and statistics', async () => {
    const client = new Client({ apiUrl: api.url, apiKey: tenant.key });
    const options = { name: 'agent', run_type: 'chain', project_name: 'js', client, inputs: { q: 1 } };
    const root = new RunTree({ ...options, extra: { metadata: { thread_id: 'one' } } });
    await root.postRun();
    for (let call = 0; call < 2; call++) {
      const metadata = { ls_model_name: 'gpt-4o-mini', ls_provider: 'openai', thread_id: 'one' };
      const child = root.createChild({ name: 'model', run_type: 'llm', extra: { metadata } });
      await child.postRun();
      await child.end({ usage_metadata: USAGE });
      await child.patchRun();
    }
    await root.end({ a: 1 });
    await root.patchRun();
    await client.flush();
    const { runs } = (await tenant.call('POST', '/runs/query', { trace: root.trace_id })).json;
    const costs = (type: string) => runs.filter((run: { run_type: string }) => run.run_type === type);
    const call = { prompt_cost: PROMPT_COST, completion_cost: COMPLETION_COST, total_cost: TOTAL_COST };
    const [mini] = (await tenant.call('GET', '/model-price-map?q=gpt-4o-mini')).json;
    const details = {
      price_model_id: mini.id,
      prompt_cost_details: { cache_read: '0.00003' },
      prompt_token_details: { cache_read: 400 },
      completion_cost_details: null,
    };
    expect(costs('llm')).toMatchObject([
      { ...call, ...details },
      { ...call, ...details },
    ]);
    const why = async (id: string) =>
      (await tenant.call('GET', `/runs/${id}?explain_usage=true`)).json.usage_source;
    expect(await why(costs('llm')[0].id)).toMatchObject({
      tokens: 'outputs.usage_metadata',
      costs: 'price',
      model: 'gpt-4o-mini',
      model_member: null,
      provider: 'openai',
      price: { id: mini.id, name: mini.name, prompt_cost: mini.prompt_cost, built_in: true },
    });
    expect(await why(root.id)).toMatchObject({ tokens: 'calls_below', costs: 'calls_below', price: null });
    expect(costs('chain')).toMatchObject([{ total_cost: '0.0003600000', price_model_id: null }]);
    expect(await client.readRun(root.id)).toMatchObject({ total_cost: '0.0003600000' });
    const stats = await client.getRunStats({ projectNames: ['js'], isRoot: true });
    expect(stats).toMatchObject({ total_cost: '0.00036', prompt_cost: '0.00024' });
    const project = await client.readProject({ projectName: 'js', includeStats: true });
    expect(project).toMatchObject({ total_cost: '0.00036' });
    const [thread] = await client.listThreads({ projectName: 'js' });
    expect(thread).toMatchObject({ thread_id: 'one' });
    const groups = { session_id: project.id, group_by: 'conversation' };
    const { json } = await tenant.call('POST', '/runs/group', groups);
    expect(json.groups).toMatchObject([{ total_cost: '0.0003600000', total_tokens: 2_200 }]);
    const selects = ['TOTAL_COST', 'PROMPT_COST_DETAILS', 'PROMPT_TOKEN_DETAILS', 'PRICE_MODEL_ID'];
    const v2 = { project_ids: [project.id], run_type: 'LLM', selects };
    expect((await tenant.call('POST', '/api/v2/runs/query', v2)).json.items[0]).toEqual({
      total_cost: 0.00018,
      price_model_id: mini.id,
      prompt_cost_details: { raw: { cache_read: 0.00003 } },
      prompt_token_details: { raw: { cache_read: 400 } },
    });
  });

  (python ? it : it.skip)('takes costs from the price table for the client of Python', async () => {
    const { stdout } = await promisify(execFile)(python, [SEND_COSTS, api.url, tenant.key, 'python']);
    const found = JSON.parse(stdout) as { costs: { llm: string[][]; chain: string[][] } };
    const [llm, chain] = [found.costs.llm, found.costs.chain].map((runs) =>
      runs.map((run) => run.map(Number)),
    );
    expect(llm).toEqual([
      [0.00012, 0.00006, 0.00018],
      [0.00012, 0.00006, 0.00018],
    ]);
    expect(chain).toEqual([[0.00024, 0.00012, 0.00036]]);
    expect(found).toMatchObject({ stats: '0.00036', project: '0.00036', details: { cache_read: '0.00003' } });
  });

  it('takes costs from the price table for spans of OpenTelemetry', async () => {
    const attribute = (key: string, value: object) => ({ key, value });
    const span = {
      traceId: randomUUID().replaceAll('-', ''),
      spanId: 'b'.repeat(16),
      name: 'chat',
      startTimeUnixNano: `${Date.now() - 5_000}000000`,
      endTimeUnixNano: `${Date.now()}000000`,
      attributes: [
        attribute('gen_ai.operation.name', { stringValue: 'chat' }),
        attribute('gen_ai.request.model', { stringValue: 'claude-sonnet-4-5-20250929' }),
        attribute('gen_ai.provider.name', { stringValue: 'anthropic' }),
        attribute('gen_ai.usage.input_tokens', { intValue: '1000' }),
        attribute('gen_ai.usage.output_tokens', { intValue: '10' }),
      ],
    };
    const body = { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] };
    const headers = { 'langsmith-project': 'otlp' };
    expect((await tenant.call('POST', '/otel/v1/traces', body, headers)).status).toBe(200);
    const { runs } = (await tenant.call('POST', '/runs/query', { filter: 'eq(name, "chat")' })).json;
    expect(runs).toMatchObject([{ run_type: 'llm', total_cost: '0.0031500000' }]);
  });
});
