import { runAtWork, storeFixture, untilLocked } from '../../../testdata/store-fixture.js';
import type { ClaimedRun } from '../row/claimed-run.js';
import { WORKER } from '../worker-scope.js';
import { ERROR_IDX, putWrites, type StateWrite, StateWriter } from './put-states.js';

const store = storeFixture();

function checkpointOf({ runId, attempt, threadId }: ClaimedRun, channel = 'text'): StateWrite {
  const blobs = [{ channel, version: '1', type: 'json', bytes: Buffer.from('"a"') }];
  const place = { threadId, namespace: '', checkpointId: 'first', parentId: undefined };
  const dumped = { ...place, checkpoint: '{}', metadata: '{}', blobs };
  return { kind: 'checkpoint', fence: { runId, attempt }, dumped };
}

function writesOf(
  { runId, attempt, threadId }: ClaimedRun,
  text: string,
  replaces: boolean,
  idx = replaces ? -3 : 0,
): Extract<StateWrite, { kind: 'writes' }> {
  const write = { idx, channel: 'text', type: 'json', blob: Buffer.from(text) };
  const place = { threadId, namespace: '', checkpointId: 'first', taskId: 'task', taskPath: '' };
  return { kind: 'writes', fence: { runId, attempt }, dumped: { ...place, replaces, writes: [write] } };
}

async function keptOf({ threadId }: ClaimedRun): Promise<unknown> {
  const { rows } = await store.pool.query<{ kept: unknown }>(
    `SELECT array_agg(kept ORDER BY kept) AS kept FROM (
       SELECT 'checkpoint ' || checkpoint_id FROM agentplane.checkpoints WHERE thread_id = $1 UNION ALL
       SELECT 'value ' || convert_from(blob, 'UTF8') FROM agentplane.checkpoint_blobs WHERE thread_id = $1 UNION ALL
       SELECT 'write ' || convert_from(blob, 'UTF8') FROM agentplane.checkpoint_writes WHERE thread_id = $1
     ) AS all_of_it(kept)`,
    [threadId],
  );
  return rows[0]?.kept;
}

describe('a state writer', () => {
  it('keeps checkpoints and writes of many runs in one statement', async () => {
    const writer = new StateWriter(store.sql);
    const runs: ClaimedRun[] = [];
    while (runs.length < 10) runs.push(await runAtWork(store.sql));
    const before = await transactions();
    const kept = await Promise.all(
      runs.flatMap((run) => [
        writer.put(checkpointOf(run)),
        writer.put(writesOf(run, 'one', false)),
        writer.put(writesOf(run, 'two', true)),
      ]),
    );
    expect(kept).toEqual(Array(30).fill(true));
    expect((await transactions()) - before).toBeLessThan(5);
    for (const run of runs)
      expect(await keptOf(run)).toEqual(['checkpoint first', 'value "a"', 'write one', 'write two']);
  });

  it('keeps the first write of a place, and the last of one that replaces', async () => {
    const writer = new StateWriter(store.sql);
    const run = await runAtWork(store.sql);
    const texts = ['old', 'new'];
    await Promise.all(texts.map((text) => writer.put(writesOf(run, `kept ${text}`, false))));
    await Promise.all(texts.map((text) => writer.put(writesOf(run, `last ${text}`, true))));
    expect(await keptOf(run)).toEqual(['write kept old', 'write last new']);
  });

  it('removes the writes of a task that failed', async () => {
    const writer = new StateWriter(store.sql);
    const [run, other] = [await runAtWork(store.sql), await runAtWork(store.sql)];
    await Promise.all([run, other].map((one) => writer.put(writesOf(one, 'value', false))));
    await writer.put(writesOf(run, 'error', true, ERROR_IDX));
    expect([await keptOf(run), await keptOf(other)]).toEqual([['write error'], ['write value']]);
    const alone = writesOf(other, 'error', true, ERROR_IDX);
    await putWrites(WORKER, store.sql, alone.fence, alone.dumped);
    expect(await keptOf(other)).toEqual(['write error']);
  });

  it('refuses an outdated attempt and keeps the state of the newer one beside it', async () => {
    const writer = new StateWriter(store.sql);
    const [run, other] = [await runAtWork(store.sql), await runAtWork(store.sql)];
    const older = { ...run, attempt: 0 };
    const states = [checkpointOf(other), writesOf(older, 'older', false), writesOf(run, 'newer', false)];
    expect(await Promise.all(states.map((state) => writer.put(state)))).toEqual([true, false, true]);
    expect(await keptOf(run)).toEqual(['write newer']);
  });

  it('fails alone what Postgres refuses', async () => {
    const writer = new StateWriter(store.sql);
    const [run, other] = [await runAtWork(store.sql), await runAtWork(store.sql)];
    const both = [writer.put(checkpointOf(run, 'nul \u0000')), writer.put(checkpointOf(other))];
    expect((await Promise.allSettled(both)).map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    expect(await keptOf(other)).toEqual(['checkpoint first', 'value "a"']);
  });

  it('does not let a run that another transaction holds delay the others', async () => {
    const writer = new StateWriter(store.sql);
    const [run, other] = [await runAtWork(store.sql), await runAtWork(store.sql)];
    const holder = await store.pool.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT 1 FROM agentplane.runs WHERE run_id = $1 FOR UPDATE', [run.runId]);
    const held = writer.put(checkpointOf(run));
    expect(await writer.put(checkpointOf(other))).toBe(true);
    await untilLocked(store.pool);
    expect(await Promise.race([held, 'waits'])).toBe('waits');
    await holder.query('COMMIT');
    holder.release();
    expect(await held).toBe(true);
    expect(await keptOf(run)).toEqual(['checkpoint first', 'value "a"']);
  });
});

/** Counts transactions that have written something so far. */
async function transactions(): Promise<number> {
  const { rows } = await store.pool.query<{ next: string }>(
    'SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS next',
  );
  return Number(rows[0]?.next);
}
