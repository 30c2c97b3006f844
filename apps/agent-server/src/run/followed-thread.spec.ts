import type { Pool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { FakeClock, waitFor } from '#lib/testing';
import { newId, queueing, serverOf, storedRun, storeFixture } from '../../testdata/store-fixture.js';
import { LoggedEvent, type OutgoingFrame } from '../log/logged-event.js';
import { submitRun } from '../store/statement/submit-run.js';
import { Sql, type Statement } from '../store/sql.js';
import { createThread } from '../store/statement/change-thread.js';
import { WORKER } from '../store/worker-scope.js';
import { ProtocolReading, type ThreadEvent } from './protocol-reading.js';
import type { Reading, RunReader } from './run-reading.js';
import { ThreadReading, type ThreadMode } from './thread-reading.js';
import { ThreadWatch } from './thread-watch.js';

const store = storeFixture();
const log = createLogger('test', 'silent');

/** The real database, which can be unavailable. */
class WeakSql extends Sql {
  isDown = false;
  statements = 0;
  /** Statements of callers that are not answered yet. */
  asked = 0;

  constructor(pool: Pool) {
    super(pool);
  }

  override async inScope<R extends object>(...given: Parameters<Sql['inScope']>) {
    this.#note();
    this.asked++;
    return super.inScope<R>(...given).finally(() => this.asked--);
  }

  override asWorker<R extends object>(scope: typeof WORKER, statement: Statement) {
    this.#note();
    return super.asWorker<R>(scope, statement);
  }

  #note(): void {
    this.statements++;
    if (this.isDown) throw new Error('Connection terminated unexpectedly');
  }
}

/** A run of one event, as a reader of it gets it. */
function readingOf(runId: string): Reading {
  const data = JSON.stringify({ namespace: [], data: { run: runId } });
  const events = [new LoggedEvent({ event: 'protocol/values', data }, { attempt: 1, n: 1 })];
  const take = (): LoggedEvent | undefined => events.shift();
  return {
    take,
    get state() {
      return events.length > 0 ? ('waiting' as const) : ('ended' as const);
    },
    hasEnd: true,
    close: () => undefined,
  };
}

function partsOf() {
  const sql = new WeakSql(store.pool);
  const clock = new FakeClock();
  const failing = new Set<string>();
  const outputs = {
    isKept: () => true,
    async read(_scope: unknown, runId: string, _threadId: unknown, reader: RunReader) {
      if (failing.delete(runId)) throw new Error('Connection terminated unexpectedly');
      if (reader.kind === 'output') reader.attach(readingOf(runId));
      return () => undefined;
    },
  };
  const watch = new ThreadWatch({ sql, clock, log });
  return { sql, clock, failing, outputs, watch, log, keptMs: 60_000 };
}

async function newThread(): Promise<string> {
  const threadId = newId();
  await createThread(WORKER, store.sql, threadId, {}, 'raise');
  return threadId;
}

async function newRun(threadId: string): Promise<string> {
  const plain = storedRun({ threadId });
  const run = { ...plain, kwargs: { ...plain.kwargs, protocol: 'v2' as const } };
  await submitRun(WORKER, store.sql, serverOf('one'), run, queueing());
  return run.runId;
}

type Parts = ReturnType<typeof partsOf>;
type Followed = { take(): OutgoingFrame | ThreadEvent | undefined; close(): void };
type Follow = (parts: Parts, threadId: string) => Promise<Followed>;

const ways: [string, Follow][] = [
  [
    'the protocol',
    async (parts, threadId) => {
      const thread = { scope: WORKER, threadId, since: undefined, wants: () => true };
      const reading = new ProtocolReading(thread, () => undefined, parts);
      // a run that is made during the first look may be found by it
      await waitFor(() => parts.sql.asked === 0, { what: 'the first look at the thread' });
      return reading;
    },
  ],
  [
    'the older stream',
    (parts, threadId) => {
      const modes: ReadonlySet<ThreadMode> = new Set(['run_modes']);
      return ThreadReading.open(
        { scope: WORKER, threadId },
        { modes, wanted: 'kept' },
        () => undefined,
        parts,
      );
    },
  ],
];

/** Ids of the runs whose output was shown until all of these were. */
async function shownUntil(reading: Followed, { clock }: Parts, wanted: readonly string[]): Promise<string[]> {
  const shown: string[] = [];
  await waitFor(async () => {
    await clock.advance(250);
    for (let next = reading.take(); next; next = reading.take())
      shown.push(...wanted.filter((runId) => JSON.stringify(textOf(next)).includes(`\\"run\\":\\"${runId}`)));
    return wanted.every((runId) => shown.includes(runId));
  });
  return shown;
}

function textOf(event: OutgoingFrame | ThreadEvent): string {
  if ('frame' in event) return event.frame.toString();
  return typeof event.params === 'string' ? event.params : event.params.data;
}

describe.each(ways)('a thread that is followed by %s', (_title, follow) => {
  it('shows a run whose output could not be read at first, before the run after it', async () => {
    const parts = partsOf();
    const threadId = await newThread();
    const reading = await follow(parts, threadId);
    const runs = [await newRun(threadId), await newRun(threadId)];
    parts.failing.add(runs[0] ?? '');
    parts.watch.wake(threadId);
    expect(await shownUntil(reading, parts, runs)).toEqual(runs);
    reading.close();
  });

  it('shows runs that were made while the database was unavailable', async () => {
    const parts = partsOf();
    const threadId = await newThread();
    const reading = await follow(parts, threadId);
    const runs = [await newRun(threadId)];
    parts.sql.isDown = true;
    parts.watch.wake(threadId);
    await parts.clock.advance(1_000);
    expect(reading.take()).toBeUndefined();
    parts.sql.isDown = false;
    runs.push(await newRun(threadId));
    expect(await shownUntil(reading, parts, runs)).toEqual(runs);
    reading.close();
  });

  it('finds runs without a notification by one statement for all readers', async () => {
    const parts = partsOf();
    const threads = await Promise.all(Array.from({ length: 20 }, newThread));
    const readings = await Promise.all(threads.map((threadId) => follow(parts, threadId)));
    await parts.clock.advance(30_000); // the first look at each thread
    const before = parts.sql.statements;
    await parts.clock.advance(60_000);
    expect(parts.sql.statements - before).toBeLessThan(10);
    const run = await newRun(threads[3] ?? '');
    const [reading] = readings.slice(3);
    if (!reading) throw new Error('nothing is read');
    expect(await shownUntil(reading, parts, [run])).toEqual([run]);
    for (const one of readings) one.close();
  });
});

describe('the watch over threads', () => {
  it('ends with its last reader', async () => {
    const { watch, sql, clock } = partsOf();
    const ends = [1, 2].map(() => watch.follow('11111111-1111-4111-8111-111111111111', () => undefined));
    for (const end of ends) end();
    await clock.advance(60_000);
    expect([watch.follows('11111111-1111-4111-8111-111111111111'), sql.statements, clock.pending]).toEqual([
      false,
      0,
      0,
    ]);
  });
});
