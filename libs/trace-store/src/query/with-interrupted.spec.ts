import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { parseFilter } from '#lib/filter-language';
import { testTraceStore } from '../../testdata/test-trace-store.js';

const HOUR = 3_600_000;
const ago = (hours: number): string => new Date(Date.now() - hours * HOUR).toISOString();

describe('a run without an end', () => {
  const traces = testTraceStore();
  const tenant = randomUUID();
  const send = (kind: 'post' | 'patch', run: object) =>
    traces.store.ingest(tenant, { post: [], patch: [], [kind]: [{ run: Buffer.from(JSON.stringify(run)) }] });

  /** A root and a run below it, both without an end unless the root has one. */
  async function trace(started: number, rootEnded?: number) {
    const [root, child] = [randomUUID(), randomUUID()];
    const end = rootEnded === undefined ? {} : { end_time: ago(rootEnded) };
    const common = { trace_id: root, run_type: 'chain', start_time: ago(started), session_name: 'p' };
    await send('post', { ...common, id: root, name: 'root', ...end });
    await send('post', { ...common, id: child, parent_run_id: root, name: 'child' });
    const order = { order: 'descending', limit: 10, maxBytes: 1 << 20, fields: [], totals: true } as const;
    const { runs } = await traces.store.runs.search(tenant, { traceId: root }, order);
    const listed = new Map(runs.map(({ row }) => [row.id, row.status]));
    const read = async (id: string) =>
      (await traces.store.runs.get(tenant, id, { totals: true }))?.row.status;
    expect([await read(root), await read(child)]).toEqual([listed.get(root), listed.get(child)]);
    for (const status of ['pending', 'interrupted', 'success']) {
      const filter = parseFilter(`eq(status, "${status}")`);
      const search = { projectIds: [runs[0]?.row.projectId ?? ''], filters: { filter } };
      const { runs: all } = await traces.store.runs.search(tenant, search, order);
      const found = all.map(({ row }) => row.id).filter((id) => listed.has(id));
      const expected = [...listed].filter(([, shown]) => shown === status).map(([id]) => id);
      expect(found.toSorted()).toEqual(expected.toSorted());
      const { counts } = await traces.store.statistics.ofRuns(tenant, { ...search, traceId: root });
      expect([status, counts.runs]).toEqual([status, expected.length]);
    }
    return { child, statuses: [listed.get(root), listed.get(child)], read };
  }

  it.each<[started: number, rootEnded: number | undefined, statuses: readonly string[]]>([
    [23, undefined, ['pending', 'pending']],
    [25, undefined, ['interrupted', 'interrupted']],
    [3, 2, ['success', 'interrupted']],
    [3, 0.5, ['success', 'pending']],
  ])('shows, after %d hours and %s after the end of its root, %j', async (started, rootEnded, statuses) => {
    expect((await trace(started, rootEnded)).statuses).toEqual(statuses);
  });

  it('has the status of an end that comes later', async () => {
    const { child, read } = await trace(25);
    await send('patch', { id: child, end_time: ago(0) });
    expect(await read(child)).toBe('success');
  });
});
