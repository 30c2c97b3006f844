/** Metrics are counted for a whole process. @own-process */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger, renderMetrics } from '#lib/telemetry';
import { parseExposition, testPostgres } from '#lib/testing';
import { systemClock } from '#lib/time';
import { openTraceStore, type RunOperation, type TraceStore } from '../index.js';
import { prepareStore } from '../../testdata/test-trace-store.js';

const START = '2026-11-20T21:59:04.635001Z';

describe('the metrics of ingestion', () => {
  const postgres = testPostgres();
  const tenantId = randomUUID();
  let store: TraceStore;

  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase(prepareStore);
    store = openTraceStore({
      uri,
      poolSize: 2,
      log: createLogger('test', 'silent'),
      clock: systemClock,
      waiting: { patches: 1, bytes: 1_000_000, bytesOfRun: 1_000_000 },
    });
    await store.migrate();
  });
  afterAll(() => store.close());

  const operation = (run: object): RunOperation => ({ run: Buffer.from(JSON.stringify(run)) });
  const root = (more: object = {}): RunOperation => {
    const id = randomUUID();
    const dotted_order = `20261120T215904635001Z${id}`;
    return operation({
      id,
      trace_id: id,
      dotted_order,
      name: 'a',
      run_type: 'chain',
      session_name: 'demo',
      start_time: START,
      ...more,
    });
  };
  const patch = (): RunOperation => operation({ id: randomUUID(), end_time: START });

  it('counts offered, refused and waiting operations, with the reason of each refusal', async () => {
    const post = [root(), root({ session_id: randomUUID(), session_name: undefined }), operation({ id: 7 })];
    const batch = { post, patch: [patch(), patch()] };
    const bytes = [...batch.post, ...batch.patch].reduce((sum, { run }) => sum + run.length, 0);
    const { accepted } = await store.ingest(tenantId, batch);
    expect(accepted).toBe(2);

    const families = parseExposition((await renderMetrics('api')).text);
    const valuesOf = (name: string): Readonly<Record<string, number>> =>
      Object.fromEntries(
        families.get(name)?.samples.map(({ labels, value }) => [Object.values(labels).join(), value]) ?? [],
      );
    expect(valuesOf('agentplane_ingest_operations_total')).toEqual({ post: 3, patch: 2 });
    expect(valuesOf('agentplane_ingest_bytes_total')).toEqual({ '': bytes });
    expect(valuesOf('agentplane_ingest_refused_total')).toEqual({
      invalid: 1,
      unknown_project: 1,
      too_many_projects: 0,
      outside_days: 0,
      waiting_room_full: 1,
      other_project: 0,
      erased: 0,
    });
    expect(valuesOf('agentplane_ingest_waiting_patches')).toEqual({ '': 1 });
    expect(families.get('agentplane_ingest_duration_seconds')?.samples.at(-1)).toMatchObject({
      labels: { outcome: 'stored' },
      value: 1,
    });
  });

  it('counts a batch that failed', async () => {
    await expect(store.ingest('no tenant', { post: [root()], patch: [] })).rejects.toThrow();
    const families = parseExposition((await renderMetrics('api')).text);
    expect(families.get('agentplane_ingest_duration_seconds')?.samples.at(-1)).toMatchObject({
      labels: { outcome: 'failed' },
      value: 1,
    });
  });
});
