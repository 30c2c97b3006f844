import type { RunnableConfig } from '@langchain/core/runnables';
import { emptyCheckpoint, type Checkpoint } from '@langchain/langgraph-checkpoint';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { LoggedEvent, BEGINNING } from '../../log/logged-event.js';
import { newId, runAtWork, serverOf, storeFixture, untilLocked } from '../../../testdata/store-fixture.js';
import { RunRelay } from '../../run/run-relay.js';
import { readRunEvents } from '../statement/run-events.js';
import { type ClaimedRun, type Fence, FencedError } from '../row/claimed-run.js';
import { handBackRuns, takeOverRuns } from '../statement/claim-runs.js';
import { cancelRun, finishRun } from '../statement/finish-run.js';
import { findRun } from '../statement/runs.js';
import { getThread } from '../statement/threads.js';
import { removeThread } from '../statement/change-thread.js';
import { WORKER } from '../worker-scope.js';
import { AttemptSaver } from './attempt-saver.js';
import { StateWriter } from './put-states.js';

const store = storeFixture();

/** The same run as server two has it after a take-over. */
async function takenOver(run: ClaimedRun): Promise<ClaimedRun> {
  await store.pool.query(
    `UPDATE agentplane.runs SET lease_until = clock_timestamp() - interval '1 second' WHERE run_id = $1`,
    [run.runId],
  );
  const taken = await takeOverRuns(WORKER, store.sql, serverOf('two'), 10);
  const found = taken.find((other) => other.runId === run.runId);
  if (!found) throw new Error('nothing was taken over');
  return found;
}

function saverOf(run: Fence, emptyThread?: string): { saver: AttemptSaver; failures: unknown[] } {
  const failures: unknown[] = [];
  return {
    saver: new AttemptSaver(
      new StateWriter(store.sql),
      run,
      (error) => failures.push(error),
      { run_id: run.runId },
      systemClock,
      emptyThread,
    ),
    failures,
  };
}

function configOf(run: ClaimedRun, checkpointId?: string): RunnableConfig {
  return { configurable: { thread_id: run.threadId, checkpoint_ns: '', checkpoint_id: checkpointId } };
}

function checkpointWith(values: Record<string, unknown>, version: number): Checkpoint {
  return {
    ...emptyCheckpoint(),
    id: newId(),
    channel_values: values,
    channel_versions: Object.fromEntries(Object.keys(values).map((name) => [name, version])),
  };
}

const METADATA = { source: 'loop', step: 1, parents: {} } as const;

describe('AttemptSaver', () => {
  it('keeps checkpoints and writes as the public one reads them', async () => {
    const run = await runAtWork(store.sql);
    const { saver, failures } = saverOf(run);
    const checkpoint = checkpointWith({ text: 'with \u0000 inside', bytes: new Uint8Array([0, 255]) }, 1.5);
    const config = await saver.put(configOf(run), checkpoint, METADATA, checkpoint.channel_versions);
    await saver.putWrites(
      config,
      [
        ['text', 'next'],
        ['text', { deep: ['\\', '"'] }],
      ],
      'task-1',
    );
    await saver.putWrites(
      config,
      [
        ['__interrupt__', 'a'],
        ['__interrupt__', 'b'],
      ],
      'task-2',
    );
    const tuple = await saver.getTuple(configOf(run));
    expect(tuple?.checkpoint.channel_values).toEqual({
      text: 'with \u0000 inside',
      bytes: Buffer.from([0, 255]),
    });
    expect(tuple?.metadata).toEqual({ ...METADATA, run_id: run.runId });
    expect(tuple?.pendingWrites).toEqual([
      ['task-1', 'text', 'next'],
      ['task-1', 'text', { deep: ['\\', '"'] }],
      ['task-2', '__interrupt__', 'b'],
    ]);
    expect(failures).toEqual([]);
  });

  it('looks for no state of a thread that was empty, but for what it wrote itself', async () => {
    const run = await runAtWork(store.sql);
    const checkpoint = checkpointWith({ text: 'said' }, 1);
    const other = saverOf(run);
    await other.saver.put(configOf(run), checkpoint, METADATA, checkpoint.channel_versions);
    const { saver } = saverOf(run, run.threadId);
    expect(await saver.getTuple(configOf(run))).toBeUndefined();
    expect(await saver.getTuple(configOf(run, checkpoint.id))).toBeDefined();
    const config = {
      configurable: { thread_id: run.threadId, checkpoint_ns: '', checkpoint_id: checkpoint.id },
    };
    await saver.putWrites(config, [['text', 'next']], 'task');
    expect((await saver.getTuple(configOf(run)))?.checkpoint.id).toBe(checkpoint.id);
    const inside = { configurable: { thread_id: run.threadId, checkpoint_ns: 'child:1' } };
    expect(await saver.getTuple(inside)).toBeUndefined();
  });

  it('refuses every write of an attempt once another has the run, and none of the other', async () => {
    const run = await runAtWork(store.sql);
    const next = await takenOver(run);
    expect(next.attempt).toBe(2);
    const old = saverOf(run);
    const checkpoint = checkpointWith({ text: 'old' }, 1);
    await old.saver.put(configOf(run), checkpoint, METADATA, checkpoint.channel_versions);
    await old.saver.putWrites(configOf(run, checkpoint.id), [['text', 'old']], 'task');
    expect(old.failures).toEqual([expect.any(FencedError), expect.any(FencedError)]);
    for (const table of ['checkpoints', 'checkpoint_blobs', 'checkpoint_writes'])
      expect(
        (await store.pool.query(`SELECT 1 FROM agentplane.${table} WHERE thread_id = $1`, [run.threadId]))
          .rowCount,
      ).toBe(0);
    expect(
      await finishRun(WORKER, store.sql, run, {
        status: 'success',
        threadStatus: 'idle',
        values: '{"text":"old"}',
      }),
    ).toEqual({
      isAccepted: false,
      hasNext: false,
    });
    await handBackRuns(WORKER, store.sql, [{ ...run, workedMs: 0, isRead: false }]);
    const fresh = saverOf(next);
    await fresh.saver.put(configOf(run), checkpoint, METADATA, checkpoint.channel_versions);
    expect(fresh.failures).toEqual([]);
    expect(
      await finishRun(WORKER, store.sql, next, { status: 'success', threadStatus: 'idle' }),
    ).toMatchObject({
      isAccepted: true,
    });
  });

  it('loses relayed output to a newer attempt only', async () => {
    const run = await runAtWork(store.sql);
    const relay = new RunRelay(store.sql, createLogger('test', 'silent'));
    let n = 0;
    const relayed = ({ runId }: ClaimedRun, attempt: number, event: string) =>
      relay.append(runId, new LoggedEvent({ event, data: '1' }, { attempt, n: n++ }));
    const read = async () =>
      (await readRunEvents(WORKER, store.sql, [{ runId: run.runId, after: BEGINNING }], 1_000)).map(
        ({ event }) => event,
      );
    await relayed(run, 1, 'in time');
    await takenOver(run);
    await Promise.all([relayed(run, 1, 'too late'), relayed(run, 2, 'first'), relayed(run, 2, 'second')]);
    expect(await read()).toEqual(['in time', 'first', 'second']);
    await store.pool.query('DELETE FROM agentplane.runs WHERE run_id = $1', [run.runId]);
    await relayed(run, 2, 'last');
    expect(await read()).toEqual(['in time', 'first', 'second', 'last']);
  });

  it('keeps nothing of a run that came to its end just when it was to be rolled back', async () => {
    const run = await runAtWork(store.sql);
    const { saver } = saverOf(run);
    const checkpoint = checkpointWith({ text: 'done' }, 1);
    await saver.put(configOf(run), checkpoint, METADATA, checkpoint.channel_versions);
    expect(await cancelRun(WORKER, store.sql, run.runId, run.threadId, 'rollback')).toBe('asked');
    expect(await cancelRun(WORKER, store.sql, run.runId, run.threadId, 'interrupt')).toBe('asked');
    const end = { status: 'success', threadStatus: 'idle', values: '{"text":"done"}' } as const;
    expect(await finishRun(WORKER, store.sql, run, end)).toEqual({ isAccepted: true, hasNext: false });
    expect(await findRun(WORKER, store.sql, run, true)).toBeUndefined();
    expect(JSON.parse(await getThread(WORKER, store.sql, run.threadId))).toMatchObject({
      status: 'idle',
      values: null,
    });
    for (const table of ['checkpoints', 'checkpoint_blobs', 'checkpoint_writes'])
      expect(
        (await store.pool.query(`SELECT 1 FROM agentplane.${table} WHERE thread_id = $1`, [run.threadId]))
          .rowCount,
      ).toBe(0);
  });

  it('leaves nothing behind on a thread that is removed while it writes', async () => {
    const run = await runAtWork(store.sql);
    const { saver, failures } = saverOf(run);
    await Promise.all([
      ...Array.from({ length: 20 }, (_, n) => {
        const checkpoint = checkpointWith({ text: `text ${n}` }, n + 1);
        return saver.put(configOf(run), checkpoint, METADATA, checkpoint.channel_versions);
      }),
      removeThread(WORKER, store.sql, run.threadId),
    ]);
    expect(failures.every((failure) => failure instanceof FencedError)).toBe(true);
    for (const table of ['checkpoints', 'checkpoint_blobs'])
      expect(
        (await store.pool.query(`SELECT 1 FROM agentplane.${table} WHERE thread_id = $1`, [run.threadId]))
          .rowCount,
      ).toBe(0);
  });

  it('makes a take-over wait for a write that has begun', async () => {
    const run = await runAtWork(store.sql);
    const writer = await store.pool.connect();
    await writer.query('BEGIN');
    // The fence of a write that is still in flight
    await writer.query('SELECT 1 FROM agentplane.runs WHERE run_id = $1 AND attempt = 1 FOR SHARE', [
      run.runId,
    ]);
    await store.pool.query('SELECT 1');
    const blocked = store.pool.query({
      text: `UPDATE agentplane.runs SET attempt = attempt + 1 WHERE run_id = $1`,
      values: [run.runId],
    });
    await untilLocked(store.pool);
    expect(await Promise.race([blocked, 'waits'])).toBe('waits');
    await writer.query('COMMIT');
    writer.release();
    await blocked;
  });

  it('never gives two branches the same version', () => {
    const { saver } = saverOf({ runId: newId(), attempt: 1 });
    const versions = Array.from({ length: 100 }, () => saver.getNextVersion(7));
    expect(new Set(versions).size).toBe(100);
    for (const version of versions) expect(saver.getNextVersion(version)).toBeGreaterThan(version);
  });
});
