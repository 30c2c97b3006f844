import { systemClock } from '#lib/time';
import {
  newId,
  queueing,
  serverOf,
  storedRun,
  storeFixture,
  untilLocked,
} from '../../testdata/store-fixture.js';
import { type ClaimedRun, RunInput } from '../store/row/claimed-run.js';
import type { QueuedRun } from '../store/row/run-row.js';
import { cancelRun } from '../store/statement/finish-run.js';
import { type CallerScope, type Scope, sqlFilter } from '../store/scope.js';
import { createThread } from '../store/statement/change-thread.js';
import { storedThread } from '../../testdata/stored-thread.js';
import { WORKER } from '../store/worker-scope.js';
import { TemporaryRuns, ThreadRuns } from './thread-runs.js';

const store = storeFixture();
const SERVER = serverOf('one');
const HERE = queueing({ startsHere: true });
const END = { status: 'success', threadStatus: 'idle', values: '{"text":"said"}' } as const;
const ALICE: CallerScope = { kind: 'caller', filter: sqlFilter({ owner: 'alice' }) };

function threadRuns(): ThreadRuns {
  return new ThreadRuns(store.sql, SERVER);
}

async function newThread(metadata = {}): Promise<string> {
  const threadId = newId();
  await createThread(WORKER, store.sql, threadId, metadata, 'raise');
  return threadId;
}

function newThreads(count: number): Promise<string[]> {
  return Promise.all(Array.from({ length: count }, () => newThread()));
}

function claimed(
  { runId, threadId, assistantId, graphId }: ReturnType<typeof storedRun>,
  attempt = 1,
): ClaimedRun {
  return {
    runId,
    threadId,
    isTemporary: false,
    assistantId,
    graphId,
    attempt,
    ranMs: 0,
    input: new RunInput('{}'),
    webhook: undefined,
    isResumable: false,
    cancel: undefined,
    watchers: [],
    isStreamed: false,
  };
}

/** A run in progress on each thread. */
async function atWork(runs: ThreadRuns, threads: readonly string[]): Promise<ClaimedRun[]> {
  return Promise.all(
    threads.map(async (threadId) => {
      const run = storedRun({ threadId });
      await runs.submit(WORKER, run, HERE);
      return claimed(run);
    }),
  );
}

/** Counts transactions that have written something so far. */
async function transactions(): Promise<number> {
  const { rows } = await store.pool.query<{ next: string }>(
    'SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS next',
  );
  return Number(rows[0]?.next);
}

/** The runs by the transaction that wrote their rows last. */
async function groupsOf(all: readonly { readonly runId: string }[]): Promise<number[]> {
  const { rows } = await store.pool.query<{ xmin: string }>(
    `SELECT r.xmin::text FROM unnest($1::uuid[]) WITH ORDINALITY AS n(run_id, at)
     JOIN agentplane.runs r USING (run_id) ORDER BY n.at`,
    [all.map(({ runId }) => runId)],
  );
  const seen = [...new Set(rows.map(({ xmin }) => xmin))];
  return rows.map(({ xmin }) => seen.indexOf(xmin));
}

async function statusOf(runId: string): Promise<string | undefined> {
  const { rows } = await store.pool.query<{ status: string }>(
    'SELECT status FROM agentplane.runs WHERE run_id = $1',
    [runId],
  );
  return rows[0]?.status;
}

/** Outcome of a submission: the status, or the code of the refusal. */
async function outcomeOf(submitted: Promise<QueuedRun>): Promise<string> {
  return submitted.then(
    ({ status }) => status,
    (error: unknown) => (error as { code: string }).code,
  );
}

/** Performs an action while another transaction holds a row. */
async function whileHeld(table: string, key: string, id: string, action: () => Promise<void>): Promise<void> {
  const holder = await store.pool.connect();
  await holder.query('BEGIN');
  await holder.query(`SELECT 1 FROM agentplane.${table} WHERE ${key} = $1 FOR UPDATE`, [id]);
  try {
    await action();
  } finally {
    await holder.query('COMMIT');
    holder.release();
  }
}

/** Reports that a call is still pending while a statement waits for a lock. */
async function waits(promise: Promise<unknown>): Promise<boolean> {
  await untilLocked(store.pool);
  return (await Promise.race([promise, 'waits'])) === 'waits';
}

describe('ThreadRuns', () => {
  it('makes and ends runs on many threads in few transactions', async () => {
    const runs = threadRuns();
    const threads = await newThreads(20);
    const before = await transactions();
    const all = await atWork(runs, threads);
    const ended = await Promise.all(all.map((run) => runs.end(run, END)));
    expect((await transactions()) - before).toBeLessThan(6);
    expect(ended).toEqual(Array(20).fill({ isAccepted: true, hasNext: false }));
    for (const { runId, threadId } of all) {
      expect(await statusOf(runId)).toBe('success');
      expect(await storedThread(WORKER, store.sql, threadId)).toMatchObject({
        status: 'idle',
        values: { text: 'said' },
      });
    }
  });

  it('makes and ends large runs apart from the statement of the others', async () => {
    const runs = threadRuns();
    const threads = await newThreads(5);
    const texts = ['', 'x'.repeat(300_000), '', 'x'.repeat(300_000), ''];
    const all = threads.map((threadId, at) => {
      const run = storedRun({ threadId });
      return { ...run, kwargs: { ...run.kwargs, input: texts[at] } };
    });
    await Promise.all(all.map((run) => runs.submit(WORKER, run, HERE)));
    expect(await groupsOf(all)).toEqual([0, 1, 0, 2, 0]);
    const ends = all.map((run, at) =>
      runs.end(claimed(run), { ...END, values: JSON.stringify({ text: texts[at] }) }),
    );
    expect(await Promise.all(ends)).toEqual(Array(5).fill({ isAccepted: true, hasNext: false }));
    expect(await groupsOf(all)).toEqual([0, 1, 0, 2, 0]);
  });

  it('makes large temporary runs apart from the statement of the others', async () => {
    const runs = new TemporaryRuns(store.sql, SERVER, systemClock);
    const all = ['', 'x'.repeat(300_000), '', 'x'.repeat(300_000), ''].map((input) => {
      const run = storedRun({ isTemporary: true });
      return { ...run, kwargs: { ...run.kwargs, input } };
    });
    await Promise.all(all.map((run) => runs.submit({ scope: WORKER, run, queueing: HERE })));
    expect(new Set(await groupsOf(all)).size).toBe(3);
  });

  it('refuses each run that is refused alone, and makes the others', async () => {
    const runs = threadRuns();
    const [busy, free, hers] = [await newThread(), await newThread(), await newThread({ owner: 'alice' })];
    await runs.submit(WORKER, storedRun({ threadId: busy }), HERE);
    const asked: [Scope, string, Partial<typeof HERE>][] = [
      [WORKER, newId(), {}],
      [ALICE, free, {}],
      [ALICE, hers, {}],
      [WORKER, busy, { strategy: 'reject' }],
      [WORKER, await newThread(), { startsHere: false }],
    ];
    const outcomes = await Promise.all(
      asked.map(([scope, threadId, given]) =>
        outcomeOf(runs.submit(scope, storedRun({ threadId }), { ...HERE, ...given })),
      ),
    );
    expect(outcomes).toEqual(['not_found', 'not_found', 'running', 'conflict', 'pending']);
  });

  it('lines up runs of one thread in the order in which they came', async () => {
    const runs = threadRuns();
    const threadId = await newThread();
    const all = Array.from({ length: 6 }, (_none, at) => {
      const run = storedRun({ threadId });
      return { ...run, kwargs: { ...run.kwargs, input: 'x'.repeat((at % 3) * 200_000) } };
    });
    const queued = await Promise.all(all.map((run) => runs.submit(WORKER, run, HERE)));
    expect(queued.map(({ status }) => status)).toEqual(['running', ...Array<string>(5).fill('pending')]);
    const { rows } = await store.pool.query<{ run_id: string; place: string }>(
      'SELECT run_id, place FROM agentplane.runs WHERE thread_id = $1 ORDER BY ordinal',
      [threadId],
    );
    expect(rows).toEqual(all.map(({ runId }, at) => ({ run_id: runId, place: String(at + 1) })));
    expect(await runs.end(claimed(all[0] ?? storedRun()), END)).toEqual({ isAccepted: true, hasNext: true });
    expect(await storedThread(WORKER, store.sql, threadId)).toMatchObject({ status: 'busy' });
  });

  it('begins a run beside a delayed one', async () => {
    const runs = threadRuns();
    const threadId = await newThread();
    await runs.submit(WORKER, storedRun({ threadId }), queueing({ delayMs: 1_000_000 }));
    expect(await outcomeOf(runs.submit(WORKER, storedRun({ threadId }), HERE))).toBe('running');
  });

  it('ends the active runs of a thread whose new run interrupts them', async () => {
    const runs = threadRuns();
    const threadId = await newThread();
    const waiting = storedRun({ threadId });
    await runs.submit(WORKER, waiting, queueing());
    await runs.submit(WORKER, storedRun({ threadId }), queueing({ strategy: 'interrupt' }));
    expect(await statusOf(waiting.runId)).toBe('interrupted');
  });

  it('lets no thread that another transaction holds delay runs of others', async () => {
    const runs = threadRuns();
    const [held, free] = [await newThread(), await newThread()];
    const run = storedRun({ threadId: held });
    let submitted: Promise<QueuedRun> | undefined;
    await whileHeld('threads', 'thread_id', held, async () => {
      submitted = runs.submit(WORKER, run, HERE);
      expect(await outcomeOf(runs.submit(WORKER, storedRun({ threadId: free }), HERE))).toBe('running');
      expect(await waits(submitted)).toBe(true);
    });
    expect((await submitted)?.status).toBe('running');
    const [other] = await atWork(runs, [await newThread()]);
    let ended: Promise<unknown> | undefined;
    await whileHeld('threads', 'thread_id', held, async () => {
      ended = runs.end(claimed(run), END);
      if (other) expect(await runs.end(other, END)).toMatchObject({ isAccepted: true });
      expect(await waits(ended)).toBe(true);
    });
    expect(await ended).toMatchObject({ isAccepted: true });
  });

  it('bounds how long a request waits for a thread that another server holds', async () => {
    const threadId = await newThread({ owner: 'alice' });
    let outcome: Promise<string> | undefined;
    await whileHeld('threads', 'thread_id', threadId, async () => {
      const cancelled = cancelRun(ALICE, store.sql, newId(), threadId.toUpperCase(), 'interrupt');
      outcome = cancelled.then(String, (error: unknown) => (error as { code: string }).code);
      expect(store.sql.isTurnTaken(threadId)).toBe(true);
      await outcome;
    });
    expect(await outcome).toBe('unavailable');
  });

  it('refuses the end of an outdated attempt, and accepts the others', async () => {
    const runs = threadRuns();
    const [one, two] = await atWork(runs, await newThreads(2));
    if (!one || !two) throw new Error('no runs');
    await store.pool.query('UPDATE agentplane.runs SET attempt = 2 WHERE run_id = $1', [one.runId]);
    const ended = await Promise.all([runs.end(one, END), runs.end(two, END)]);
    expect(ended.map(({ isAccepted }) => isAccepted)).toEqual([false, true]);
    expect(await statusOf(one.runId)).toBe('running');
    expect(await runs.end({ ...one, attempt: 2 }, END)).toMatchObject({ isAccepted: true });
  });

  it('leaves nothing of a run whose rollback was asked for before its end', async () => {
    const runs = threadRuns();
    const [one, two] = await atWork(runs, await newThreads(2));
    if (!one || !two) throw new Error('no runs');
    await cancelRun(WORKER, store.sql, one.runId, one.threadId, 'rollback');
    await Promise.all([runs.end(one, END), runs.end(two, END)]);
    expect([await statusOf(one.runId), await statusOf(two.runId)]).toEqual([undefined, 'success']);
    expect(await storedThread(WORKER, store.sql, one.threadId)).toMatchObject({ values: null });
  });

  it('fails alone a run that Postgres refuses', async () => {
    const runs = threadRuns();
    const [one, two] = await newThreads(2);
    const refused = runs.submit(WORKER, storedRun({ threadId: one, graphId: 'nul \u0000' }), HERE);
    const made = runs.submit(WORKER, storedRun({ threadId: two }), HERE);
    const settled = await Promise.allSettled([refused, made]);
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  });

  it('finds out which threads have no checkpoint', async () => {
    const runs = threadRuns();
    const [empty, used] = await newThreads(2);
    await store.pool.query(
      `INSERT INTO agentplane.checkpoints (thread_id, checkpoint_ns, checkpoint_id, checkpoint) VALUES ($1, '', 'a', '{}')`,
      [used],
    );
    const queued = await Promise.all(
      [empty, used].map((threadId) => runs.submit(WORKER, storedRun({ threadId }), HERE)),
    );
    expect(queued.map(({ isThreadEmpty }) => isThreadEmpty)).toEqual([true, false]);
  });
});
