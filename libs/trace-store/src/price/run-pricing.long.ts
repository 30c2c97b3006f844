import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { systemClock } from '#lib/time';
import { openTraceStore, type TraceStore } from '../index.js';

const postgres = testPostgres();

describe('pricing at ingestion', () => {
  const tenant = randomUUID();
  let store: TraceStore;

  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase();
    store = openTraceStore({ uri, log: createLogger('test', 'silent'), clock: systemClock });
    await store.migrate();
  });
  afterAll(() => store.close());

  const price = (name: string) => ({
    name,
    matchPattern: '(x+x+)+y|(a|aa|b|bb)+c{9}$',
    matchPath: ['model'],
    provider: undefined,
    startTime: undefined,
    promptCost: '0.000001',
    completionCost: '0.00001',
    promptCostDetails: undefined,
    completionCostDetails: undefined,
  });
  const run = (model: string) => {
    const id = randomUUID();
    const one = {
      id,
      trace_id: id,
      name: 'n',
      run_type: 'llm',
      session_name: 'p',
      start_time: '2026-11-20T12:00:00Z',
      extra: { metadata: { ls_model_name: model } },
      outputs: { usage_metadata: { input_tokens: 100, output_tokens: 10 } },
    };
    return { run: Buffer.from(JSON.stringify(one)) };
  };

  it('bounds the work for patterns and for models that differ from run to run', async () => {
    for (let n = 0; n < 60; n++) await store.prices.create(tenant, price(`${n}`));
    const models = Array.from({ length: 400 }, (_, n) => `${n}${'x'.repeat(100)}${'ab'.repeat(40)}`);
    const started = systemClock.monotonicMs();
    let longest = 0;
    let last = started;
    const timer = setInterval(() => {
      const now = systemClock.monotonicMs();
      longest = Math.max(longest, now - last);
      last = now;
    }, 5);
    const post = [...models, 'house-1'].map(run);
    expect((await store.ingest(tenant, { post, patch: [] })).refused).toEqual([]);
    clearInterval(timer);
    expect(systemClock.monotonicMs() - started).toBeLessThan(15_000);
    expect(longest).toBeLessThan(1_500);
  });
});
