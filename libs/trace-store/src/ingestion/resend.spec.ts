import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { RunBatch, RunOperation } from '../index.js';
import { testTraceStore } from '../../testdata/test-trace-store.js';

const TENANT = randomUUID();

const operation = (run: Record<string, unknown>, fields: Record<string, unknown> = {}): RunOperation => ({
  run: Buffer.from(JSON.stringify(run)),
  fields: Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, Buffer.from(JSON.stringify(value))]),
  ),
});

describe('a batch that is sent again', () => {
  const database = testTraceStore();

  /** Every version of every row, with the transaction that wrote it. */
  const versions = async (): Promise<unknown[]> => {
    const found: unknown[] = [];
    for (const [table, key] of [
      ['runs', 'id'],
      ['run_payloads', 'id'],
      ['run_keys', 'id'],
      ['run_pairs', 'run_id'],
    ]) {
      const { rows } = await database.client.query(
        `SELECT '${table}' AS t, ${key} AS id, ctid::text, xmin::text FROM ${table} ORDER BY 1, 2, 3`,
      );
      found.push(...rows);
    }
    return found;
  };

  const finished = (count: number): RunBatch & { readonly ids: readonly string[] } => {
    const ids = Array.from({ length: count }, () => randomUUID());
    const post = ids.map((id) =>
      operation(
        {
          id,
          trace_id: id,
          name: 'n',
          run_type: 'llm',
          session_name: 'p',
          start_time: '2026-11-20T12:00:00Z',
          tags: ['a'],
        },
        { inputs: { q: id }, extra: { metadata: { user: id, thread_id: 't' } } },
      ),
    );
    const patch = ids.map((id) =>
      operation(
        { id, trace_id: id, end_time: '2026-11-20T12:00:01.5Z', total_cost: 0.25, session_name: 'p' },
        {
          outputs: { a: id, usage_metadata: { input_tokens: 1, output_tokens: 2 } },
          extra: { metadata: { user: id, thread_id: 't' } },
        },
      ),
    );
    return { post, patch, ids };
  };

  it('writes no row of a hundred finished runs', async () => {
    const batch = finished(100);
    await database.store.ingest(TENANT, { post: batch.post, patch: [] });
    await database.store.ingest(TENANT, { post: [], patch: batch.patch });
    const before = await versions();
    await database.store.ingest(TENANT, batch);
    await database.store.ingest(TENANT, { post: batch.post, patch: [] });
    await database.store.ingest(TENANT, { post: [], patch: batch.patch });
    expect(await versions()).toEqual(before);
    expect(before.length).toBeGreaterThan(100 * 4);
  });

  it('marks a run anew when only a payload differs', async () => {
    const { post, ids } = finished(2);
    await database.store.ingest(TENANT, { post, patch: [] });
    const mark = async (id: string | undefined): Promise<unknown> =>
      (await database.client.query('SELECT changed_in FROM runs WHERE id = $1', [id])).rows;
    const [changed, other] = [await mark(ids[0]), await mark(ids[1])];
    await database.store.ingest(TENANT, {
      post: [],
      patch: [operation({ id: ids[0] }, { outputs: { a: 2 } })],
    });
    expect(await mark(ids[0])).not.toEqual(changed);
    expect(await mark(ids[1])).toEqual(other);
  });

  it('keeps the update that ends a run on the page of the run, without new index entries', async () => {
    const { post, patch, ids } = finished(200);
    await database.store.ingest(TENANT, { post, patch: [] });
    const blocks = async (): Promise<ReadonlyMap<string, number>> => {
      const { rows } = await database.client.query<{ id: string; block: number }>(
        'SELECT id, (ctid::text::point)[0]::int AS block FROM runs WHERE id = ANY ($1)',
        [ids],
      );
      return new Map(rows.map(({ id, block }) => [id, block]));
    };
    const before = await blocks();
    // as the SDK sends them: updates follow their creates within seconds, some at a time
    for (let from = 0; from < patch.length; from += 20)
      await database.store.ingest(TENANT, { post: [], patch: patch.slice(from, from + 20) });
    const after = await blocks();
    const stayed = ids.filter((id) => before.get(id) === after.get(id)).length;
    expect(stayed).toBeGreaterThan(100);
  });

  it('brings the pairs of metadata in line with what is stored', async () => {
    const [id] = finished(1).ids;
    const post = operation(
      { id, trace_id: id, name: 'n', run_type: 'llm', start_time: '2026-11-20T12:00:00Z' },
      { inputs: { messages: [{ role: 'user', content: 'hi' }] }, extra: { metadata: { user: 'u1', n: 1 } } },
    );
    const pairs = async (): Promise<unknown[]> =>
      (
        await database.client.query<{ pair: string }>(
          `SELECT kind || ' ' || key || '=' || value AS pair FROM run_pairs WHERE tenant_id = $1 AND run_id = $2 ORDER BY 1`,
          [TENANT, id],
        )
      ).rows.map(({ pair }) => pair);
    await database.store.ingest(TENANT, { post: [post], patch: [] });
    expect(await pairs()).toEqual(['1 n=1', '1 user=u1']);
    const patch = operation(
      { id, trace_id: id },
      { outputs: { ok: true }, extra: { metadata: { user: 'u2', n: 1 } } },
    );
    await database.store.ingest(TENANT, { post: [], patch: [patch] });
    expect(await pairs()).toEqual(['1 n=1', '1 user=u2']);
    // a late create fills gaps only
    await database.store.ingest(TENANT, { post: [post], patch: [] });
    expect(await pairs()).toEqual(['1 n=1', '1 user=u2']);
  });
});
