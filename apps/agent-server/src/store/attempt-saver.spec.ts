import type { RunnableConfig } from '@langchain/core/runnables';
import { emptyCheckpoint, type Checkpoint } from '@langchain/langgraph-checkpoint';
import type pg from 'pg';
import { createLogger } from '#lib/telemetry';
import { testPostgres, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { kwargsOf } from '../run/run-request.js';
import { uuid7 } from '../run/uuid7.js';
import { AttemptSaver } from './attempt-saver.js';
import { Database } from './database.js';
import { RunEnds } from './run-ends.js';
import { RunEvents } from './run-events.js';
import { RunLeases } from './run-leases.js';
import { RunQueue } from './run-queue.js';
import { RunRecords } from './run-records.js';
import { FencedError, type ClaimedRun } from './run-row.js';
import { Threads } from './threads.js';

const postgres = testPostgres();
const log = createLogger('test', 'error');
const [one, two] = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'];
let database: Database;
let pool: pg.Pool;

beforeAll(async () => {
  const { uri } = await postgres.freshDatabase();
  database = new Database(uri, 5, log);
  await database.migrate();
  pool = database.pool;
});

afterAll(() => database.close());

/** A run at work at server one, on a thread of its own. */
async function runAtWork(leaseMs = 60_000): Promise<ClaimedRun> {
  const queue = new RunQueue(pool, one, leaseMs, ['graph'], systemClock);
  const threadId = uuid7(systemClock.now());
  await new Threads(pool).create(threadId, {}, 'raise');
  await queue.submit(
    {
      runId: uuid7(systemClock.now()),
      threadId,
      assistantId: one,
      graphId: 'graph',
      metadata: {},
      kwargs: kwargsOf({ assistant_id: one }, {}),
      strategy: 'enqueue',
      delayMs: 0,
      startHere: false,
      isWatched: false,
    },
    false,
  );
  const [run] = await queue.claim(1);
  if (!run) throw new Error('nothing was claimed');
  return run;
}

/** The same run as server two has it after a take-over. */
async function takenOver(run: ClaimedRun): Promise<ClaimedRun> {
  await pool.query(
    `UPDATE agentplane.runs SET lease_until = clock_timestamp() - interval '1 second' WHERE run_id = $1`,
    [run.runId],
  );
  const taken = await new RunLeases(pool, two, 60_000, 3, ['graph']).takeOver(10);
  const found = taken.find((other) => other.runId === run.runId);
  if (!found) throw new Error('nothing was taken over');
  return found;
}

function saverOf(run: ClaimedRun): { saver: AttemptSaver; failures: unknown[] } {
  const failures: unknown[] = [];
  return {
    saver: new AttemptSaver(pool, run, (error) => failures.push(error), { run_id: run.runId }, systemClock),
    failures,
  };
}

function configOf(run: ClaimedRun, checkpointId?: string): RunnableConfig {
  return { configurable: { thread_id: run.threadId, checkpoint_ns: '', checkpoint_id: checkpointId } };
}

function checkpointWith(values: Record<string, unknown>, version: number): Checkpoint {
  return {
    ...emptyCheckpoint(),
    id: uuid7(systemClock.now()),
    channel_values: values,
    channel_versions: Object.fromEntries(Object.keys(values).map((name) => [name, version])),
  };
}

const METADATA = { source: 'loop', step: 1, parents: {} } as const;

describe('the saver of an attempt', () => {
  it('keeps checkpoints and writes as the public one reads them', async () => {
    const run = await runAtWork();
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

  it('is refused every write once another attempt has the run, and the other is not', async () => {
    const run = await runAtWork();
    const next = await takenOver(run);
    expect(next.attempt).toBe(2);
    const old = saverOf(run);
    const checkpoint = checkpointWith({ text: 'old' }, 1);
    await old.saver.put(configOf(run), checkpoint, METADATA, checkpoint.channel_versions);
    await old.saver.putWrites(configOf(run, checkpoint.id), [['text', 'old']], 'task');
    expect(old.failures).toEqual([expect.any(FencedError), expect.any(FencedError)]);
    for (const table of ['checkpoints', 'checkpoint_blobs', 'checkpoint_writes'])
      expect(
        (await pool.query(`SELECT 1 FROM agentplane.${table} WHERE thread_id = $1`, [run.threadId])).rowCount,
      ).toBe(0);
    const ends = new RunEnds(pool);
    expect(
      await ends.finish(run, { status: 'success', threadStatus: 'idle', values: '{"text":"old"}' }),
    ).toEqual({
      isAccepted: false,
      hasNext: false,
    });
    await ends.handBack([run]);
    const fresh = saverOf(next);
    await fresh.saver.put(configOf(run), checkpoint, METADATA, checkpoint.channel_versions);
    expect(fresh.failures).toEqual([]);
    expect(await ends.finish(next, { status: 'success', threadStatus: 'idle' })).toMatchObject({
      isAccepted: true,
    });
  });

  it('is refused what it says to readers elsewhere, except where nobody else has the run', async () => {
    const run = await runAtWork();
    const events = new RunEvents(pool, one);
    const say = ({ runId }: ClaimedRun, attempt: number, event: string) =>
      events.append({ runId, attempt, event, data: '1' });
    const heard = async () =>
      (await events.read([{ runId: run.runId, after: 0n }])).map(({ event }) => event);
    await say(run, 1, 'in time');
    await takenOver(run);
    await Promise.all([say(run, 1, 'too late'), say(run, 2, 'first'), say(run, 2, 'second')]);
    expect(await heard()).toEqual(['in time', 'first', 'second']);
    await pool.query('DELETE FROM agentplane.runs WHERE run_id = $1', [run.runId]);
    await say(run, 2, 'last words');
    expect(await heard()).toEqual(['in time', 'first', 'second', 'last words']);
  });

  it('keeps nothing of a run that came to its end just when it was to be rolled back', async () => {
    const run = await runAtWork();
    const { saver } = saverOf(run);
    const checkpoint = checkpointWith({ text: 'done' }, 1);
    await saver.put(configOf(run), checkpoint, METADATA, checkpoint.channel_versions);
    expect(await new RunRecords(pool).cancel(run.runId, run.threadId, 'rollback')).toBe('asked');
    expect(await new RunRecords(pool).cancel(run.runId, run.threadId, 'interrupt')).toBe('asked');
    const end = { status: 'success', threadStatus: 'idle', values: '{"text":"done"}' } as const;
    expect(await new RunEnds(pool).finish(run, end)).toEqual({ isAccepted: true, hasNext: false });
    expect(await new RunRecords(pool).find(run.runId)).toBeUndefined();
    expect(await new Threads(pool).get(run.threadId)).toMatchObject({ status: 'idle', values: null });
    for (const table of ['checkpoints', 'checkpoint_blobs', 'checkpoint_writes'])
      expect(
        (await pool.query(`SELECT 1 FROM agentplane.${table} WHERE thread_id = $1`, [run.threadId])).rowCount,
      ).toBe(0);
  });

  it('leaves nothing behind on a thread that is removed while it writes', async () => {
    const run = await runAtWork();
    const { saver, failures } = saverOf(run);
    await Promise.all([
      ...Array.from({ length: 20 }, (_, n) => {
        const checkpoint = checkpointWith({ text: `text ${n}` }, n + 1);
        return saver.put(configOf(run), checkpoint, METADATA, checkpoint.channel_versions);
      }),
      new Threads(pool).remove(run.threadId),
    ]);
    expect(failures.every((failure) => failure instanceof FencedError)).toBe(true);
    for (const table of ['checkpoints', 'checkpoint_blobs'])
      expect(
        (await pool.query(`SELECT 1 FROM agentplane.${table} WHERE thread_id = $1`, [run.threadId])).rowCount,
      ).toBe(0);
  });

  it('makes a take-over wait for a write that has begun', async () => {
    const run = await runAtWork();
    const writer = await pool.connect();
    await writer.query('BEGIN');
    // The fence of a write that is still under way
    await writer.query('SELECT 1 FROM agentplane.runs WHERE run_id = $1 AND attempt = 1 FOR SHARE', [
      run.runId,
    ]);
    await pool.query('SELECT 1');
    const blocked = pool.query({
      text: `UPDATE agentplane.runs SET attempt = attempt + 1 WHERE run_id = $1`,
      values: [run.runId],
    });
    const early = await Promise.race([
      blocked.then(() => 'took over'),
      systemClock.sleep(150).then(() => 'waits'),
    ]);
    expect(early).toBe('waits');
    await writer.query('COMMIT');
    writer.release();
    await blocked;
  });

  it('never gives two branches the same version', () => {
    const { saver } = saverOf({ runId: one, attempt: 1 } as ClaimedRun);
    const versions = Array.from({ length: 100 }, () => saver.getNextVersion(7));
    expect(new Set(versions).size).toBe(100);
    for (const version of versions) expect(saver.getNextVersion(version)).toBeGreaterThan(version);
  });
});

describe('the queue', () => {
  it('has a run wait its turn when a delayed one of its thread begins in the same moment', async () => {
    const queue = new RunQueue(pool, one, 60_000, ['graph'], systemClock);
    const threadId = uuid7(systemClock.now());
    await new Threads(pool).create(threadId, {}, 'raise');
    const base = {
      threadId,
      assistantId: one,
      graphId: 'graph',
      metadata: {},
      kwargs: kwargsOf({ assistant_id: one }, {}),
      strategy: 'enqueue',
      isWatched: false,
    };
    const delayed = { ...base, runId: uuid7(systemClock.now()), delayMs: 1_000_000, startHere: false };
    await queue.submit(delayed, false);
    const other = await pool.connect();
    await other.query('BEGIN');
    await other.query(`UPDATE agentplane.runs SET status = 'running' WHERE run_id = $1`, [delayed.runId]);
    const submitted = queue.submit(
      { ...base, runId: uuid7(systemClock.now()), delayMs: 0, startHere: true },
      false,
    );
    await waitFor(
      async () =>
        (
          await pool.query(
            `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%submit_run%'`,
          )
        ).rowCount === 1,
    );
    await other.query('COMMIT');
    other.release();
    expect(await submitted).toMatchObject({ status: 'pending' });
  });

  it('gives each run to one of many servers that ask at once, and one run of a thread at a time', async () => {
    const queue = new RunQueue(pool, one, 60_000, ['graph'], systemClock);
    const threadId = uuid7(systemClock.now());
    await new Threads(pool).create(threadId, {}, 'raise');
    const base = {
      assistantId: one,
      graphId: 'graph',
      metadata: {},
      kwargs: kwargsOf({ assistant_id: one }, {}),
      strategy: 'enqueue',
      delayMs: 0,
      startHere: false,
      isWatched: false,
    };
    for (let n = 0; n < 5; n++)
      await queue.submit({ ...base, runId: uuid7(systemClock.now()), threadId }, false);
    await Promise.all(
      Array.from({ length: 20 }, () =>
        queue.submitTemporary({
          ...base,
          runId: uuid7(systemClock.now()),
          threadId: uuid7(systemClock.now()),
        }),
      ),
    );
    const stranger = new RunQueue(pool, two, 60_000, ['another graph'], systemClock);
    expect(await stranger.claim(50)).toEqual([]);
    const servers = Array.from({ length: 4 }, () => new RunQueue(pool, two, 60_000, ['graph'], systemClock));
    const claimed = (await Promise.all(servers.map((server) => server.claim(50)))).flat();
    expect(new Set(claimed.map((run) => run.runId)).size).toBe(claimed.length);
    expect(claimed.filter((run) => run.isTemporary)).toHaveLength(20);
    expect(claimed.filter((run) => run.threadId === threadId)).toHaveLength(1);
  });
});
