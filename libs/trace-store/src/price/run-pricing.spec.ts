import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { systemClock } from '#lib/time';
import { openTraceStore, type NewModelPrice, type TraceStore } from '../index.js';
import { prepareStore } from '../../testdata/test-trace-store.js';

const postgres = testPostgres();
const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const START = '2026-11-20T12:00:00Z';

describe('pricing at ingestion', () => {
  let store: TraceStore;
  let tenant: string;

  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase(prepareStore);
    store = openTraceStore({ uri, log: createLogger('test', 'silent'), clock: systemClock });
    await store.migrate();
  });
  afterAll(() => store.close());

  const price = (more: Partial<NewModelPrice> = {}): NewModelPrice => ({
    name: 'house',
    matchPattern: '^house',
    matchPath: ['model'],
    provider: undefined,
    startTime: undefined,
    promptCost: '0.000001',
    completionCost: '0.00001',
    promptCostDetails: undefined,
    completionCostDetails: undefined,
    ...more,
  });
  const add = (more: Partial<NewModelPrice> = {}) => store.prices.create(tenant, price(more));
  const USAGE = { input_tokens: 100, output_tokens: 10 };
  const HOUSE = { metadata: { ls_model_name: 'house-1' } };

  const run = (more: object = {}) => {
    const id = randomUUID();
    return {
      id,
      trace_id: id,
      name: 'n',
      run_type: 'llm',
      session_name: 'p',
      start_time: START,
      extra: HOUSE,
      outputs: { usage_metadata: USAGE },
      ...more,
    };
  };
  const send = async (post: readonly object[], patch: readonly object[] = []): Promise<void> => {
    const operations = (runs: readonly object[]) => runs.map((one) => ({ run: json(one) }));
    const { refused } = await store.ingest(tenant, { post: operations(post), patch: operations(patch) });
    expect(refused).toEqual([]);
  };
  const costOf = async ({ id }: { readonly id: string }): Promise<string | undefined> =>
    (await store.runs.get(tenant, id))?.row.totalCost;
  const costs = async (...runs: object[]): Promise<(string | undefined)[]> => {
    const made = runs.map(run);
    await send(made);
    return Promise.all(made.map(costOf));
  };
  /** The statistics of the tenant's only project. */
  const summed = async (): Promise<string | undefined> => {
    const project = await store.projects.find(tenant, { name: 'p' });
    const projectIds = project ? [project.id] : [];
    return (await store.statistics.ofRuns(tenant, { projectIds, filters: {} })).costs?.totalCost;
  };

  beforeAll(() => {
    tenant = randomUUID();
  });
  const fresh = (): void => {
    tenant = randomUUID();
  };

  it('takes the model from metadata, parameters of the call and members that a row names', async () => {
    fresh();
    await add({ matchPath: ['model', 'deployment'] });
    const params = (members: object) => ({ extra: { invocation_params: members } });
    expect(
      await costs(
        {},
        params({ model: 'house-2' }),
        params({ deployment: 'house-3' }),
        { extra: { metadata: { model: 'house-4' } } },
        // the one that names it first counts
        { extra: { metadata: { ls_model_name: 'other' }, invocation_params: { model: 'house' } } },
        params({ model_id: 'house-5' }),
        { extra: {} },
        { run_type: 'chain' },
      ),
    ).toEqual([...Array(4).fill('0.0002000000'), ...Array(4).fill(undefined)]);
  });

  it('takes the row of the workspace, of the provider and of the time', async () => {
    fresh();
    await add({ matchPattern: 'house', promptCost: '1', completionCost: '0' });
    await add({ name: 'provider', provider: 'Acme', promptCost: '2', completionCost: '0' });
    const later = { name: 'later', startTime: BigInt(Date.parse('2026-11-21')) * 1000n };
    await add({ ...later, matchPattern: 'house', promptCost: '3', completionCost: '0' });
    await add({ name: 'own mini', matchPattern: '^gpt-4o-mini$', promptCost: '4', completionCost: '0' });
    expect(
      await costs(
        {},
        { extra: { metadata: { ls_model_name: 'house', ls_provider: 'acme' } } },
        { start_time: '2026-11-22T00:00:00Z' },
        { extra: { metadata: { ls_model_name: 'gpt-4o-mini' } } },
      ),
    ).toEqual(['100.0000000000', '200.0000000000', '300.0000000000', '400.0000000000']);
  });

  it('loses no digit, and prices kinds of tokens once', async () => {
    fresh();
    const details = { promptCostDetails: { cache_read: '0.0000001', audio: '0.5' } };
    await add({ promptCost: '0.00000000015', completionCost: '0.000000000000001', ...details });
    const usage = (more: object) => ({ outputs: { usage_metadata: { ...USAGE, ...more } } });
    expect(
      await costs(
        {},
        usage({ output_tokens: 1_000_000_000 }),
        usage({ input_token_details: { cache_read: 30, reasoning: 5 } }),
        // more than there are
        usage({ input_token_details: { cache_read: 90, audio: 90 } }),
        { outputs: { usage: { prompt_tokens: 100, prompt_tokens_details: { cached_tokens: 100 } } } },
        { outputs: { usage: { input_tokens: 10, cache_read_input_tokens: 90, output_tokens: 0 } } },
      ),
    ).toEqual([
      '0.0000000150',
      '0.0000010150',
      '0.0000030105',
      '5.0000090000',
      '0.0000100000',
      '0.0000090015',
    ]);
  });

  it('leaves the costs that a sender gave, also where they come later', async () => {
    fresh();
    await add();
    const given = { outputs: { usage_metadata: { ...USAGE, total_cost: 7 } } };
    const runs = [run(given), run(), run({ outputs: undefined }), run()];
    await send(runs);
    expect(await summed()).toBe('7.0004');
    const patch = (at: number, more: object) => {
      const { id = '' } = runs[at] ?? {};
      return { id, trace_id: id, session_name: 'p', ...more };
    };
    await send([], [patch(1, { total_cost: 5 }), patch(2, { outputs: { usage_metadata: USAGE } })]);
    await send([], [patch(3, { tags: ['a'] })]);
    expect(await Promise.all(runs.map(costOf))).toEqual([
      '7.0000000000',
      '5.0000000000',
      '0.0002000000',
      '0.0002000000',
    ]);
    const row = async (at: number) => (await store.runs.get(tenant, runs[at]?.id ?? ''))?.row;
    expect(await row(1)).toMatchObject({ priceId: undefined, promptCost: undefined });
    expect((await row(0))?.priceId).toBeUndefined();
    expect((await row(3))?.priceId).toBeDefined();
    expect(await summed()).toBe('12.0004');
  });

  it('keeps the cost of a run until something of what it was priced by changes', async () => {
    fresh();
    const { id } = await add();
    const one = run();
    await send([one]);
    await store.prices.replace(tenant, id, price({ promptCost: '1' }));
    const patch = (more: object) => ({ id: one.id, trace_id: one.id, session_name: 'p', ...more });
    await send([one], [patch({ tags: ['late'] })]);
    expect(await costOf(one)).toBe('0.0002000000');
    await send([], [patch({ outputs: { usage_metadata: { input_tokens: 2, output_tokens: 0 } } })]);
    expect([await costOf(one), await summed()]).toEqual(['2.0000000000', '2']);
    await store.prices.remove(tenant, id);
    await send([], [patch({ extra: { metadata: { ls_model_name: 'house-2' } } })]);
    expect([await costOf(one), await summed()]).toEqual([undefined, undefined]);
  });

  it('prices embeddings by their input, and prompts by their length', async () => {
    fresh();
    const model = (name: string, tokens: number) => ({
      extra: { metadata: { ls_model_name: name } },
      outputs: { usage_metadata: { input_tokens: tokens } },
    });
    const embedding = { ...model('text-embedding-3-small', 1_000_000), run_type: 'embedding' };
    expect(
      await costs(embedding, model('gemini-2.5-pro', 200_000), model('gemini-2.5-pro', 200_001)),
    ).toEqual(['0.0200000000', '0.2500000000', '0.5000025000']);
  });

  it('takes the rows of the platform from a file', async () => {
    const { uri } = await postgres.freshDatabase(prepareStore);
    const [listed] = await store.prices.list(randomUUID());
    if (!listed) throw new Error('the platform has no price');
    const modelPrices = [{ ...listed, matchPattern: '^house', literal: undefined, promptCost: '0.000001' }];
    const other = openTraceStore({
      uri,
      log: createLogger('test', 'silent'),
      clock: systemClock,
      modelPrices,
    });
    try {
      await other.migrate();
      fresh();
      const sent = run();
      await other.ingest(tenant, { post: [{ run: json(sent) }], patch: [] });
      expect((await other.runs.get(tenant, sent.id))?.row.priceId).toBe(listed.id);
      expect(await other.prices.list(tenant)).toMatchObject([
        { id: listed.id, isBuiltIn: true, isOwn: false },
      ]);
      expect(await other.prices.remove(tenant, listed.id)).toBe('disabled');
    } finally {
      await other.close();
    }
  });
});
