import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { PublicError } from '#lib/errors';
import { systemClock } from '#lib/time';
import { CRON_LIMITS, cronWith, rowsOf } from '../../testdata/owned-rows.js';
import { ABSENT, SCOPE_STATEMENTS } from '../../testdata/scope-statements.js';
import { newId, queueing, serverOf, storedRun, storeFixture } from '../../testdata/store-fixture.js';
import { TemporaryRuns } from '../run/thread-runs.js';
import { createAssistant, findAssistant, patchAssistant, removeAssistant } from './statement/assistants.js';
import { ThreadSaver } from './checkpoint/thread-saver.js';
import { createCron } from './statement/crons.js';
import { requireAdmitted, createThread, patchThread, ThreadWriter } from './statement/change-thread.js';
import { submitRun } from './statement/submit-run.js';
import { type CallerScope, type Scope, EVERY_ROW, sqlFilter } from './scope.js';
import { getItem, putItem } from './statement/items.js';
import { storedThread } from '../../testdata/stored-thread.js';
import { WORKER } from './worker-scope.js';

const store = storeFixture();
const alice: CallerScope = { kind: 'caller', filter: sqlFilter({ owner: 'alice' }) };
const everyone: CallerScope = { kind: 'caller', filter: EVERY_ROW };

/** Number and digest of the rows of each table, to see that none of them changed. */
async function everyRow(): Promise<unknown> {
  const tables = [
    'assistants',
    'assistant_versions',
    'threads',
    'runs',
    'checkpoints',
    'checkpoint_blobs',
    'checkpoint_writes',
    'store_items',
    'store_vectors',
    'webhooks',
    'task_pushes',
    'thread_ttls',
    'trace_erasures',
    'crons',
  ];
  const digests = await Promise.all(
    tables.map((table) =>
      store.pool.query(
        `SELECT '${table}' AS name, count(*), md5(string_agg(t::text, '' ORDER BY t::text)) FROM agentplane.${table} t`,
      ),
    ),
  );
  return digests.map((result) => result.rows);
}

/** Answer of a statement, or the code of the error for the caller. */
async function answerOf(asked: Promise<unknown>): Promise<unknown> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof PublicError) return error.code;
    throw error;
  }
}

/** Statements for a database with pgvector, which this one does not have. */
const VECTOR_STATEMENTS = ['rankItems'];

/** Statements that make a row, and the one that explains why a row was not made: tested by themselves below. */
const MAKING_STATEMENTS = [
  'createCron',
  'createAssistant',
  'createThread',
  'putItem',
  'submitTemporaryRuns',
  'requireAdmitted',
];

/** Statements of the server's own work: their types take no other scope. */
const WORKER_STATEMENTS = [
  'appendRunEvents',
  'claimCron',
  'claimExpiredThreads',
  'claimRuns',
  'readInput',
  'readPush',
  'readWebhook',
  'claimTraceErasures',
  'claimWebhooks',
  'countQueuedRuns',
  'countRunLoad',
  'countTraceErasures',
  'databaseTime',
  'delayTraceErasures',
  'endCalledRun',
  'endTemporaryRuns',
  'endTraceErasures',
  'ensureSystemAssistant',
  'ensureVectorType',
  'findCancel',
  'findCheckpoints',
  'findDeltaHistory',
  'findLastEvent',
  'findNextWork',
  'finishRun',
  'finishRuns',
  'getContextKey',
  'handBackRuns',
  'hasVectorType',
  'isMessageIdUsed',
  'listNewestPlaces',
  'listRunStates',
  'listWornOutRuns',
  'markStreamed',
  'notifyPending',
  'notifyPosition',
  'notifyThreads',
  'putThreadCheckpoint',
  'putThreadWrites',
  'putWrites',
  'readRunEvents',
  'renewLeases',
  'restThreadTtl',
  'retryRun',
  'setDefaultTtl',
  'settleCron',
  'settleWebhook',
  'sweepItems',
  'sweepRunEvents',
  'sweepWebhooks',
  'takeOverRuns',
  'watchRun',
];

/** Every function that a conversation with the database exports. */
async function exportedStatements(): Promise<string[]> {
  const folders = readdirSync(import.meta.dirname, { withFileTypes: true }).filter(
    (entry) => entry.isDirectory() && entry.name !== 'row' && entry.name !== 'schema',
  );
  const files = folders.flatMap(({ name }) =>
    readdirSync(join(import.meta.dirname, name))
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'))
      .map((file) => `./${name}/${file.replace(/\.ts$/, '.js')}`),
  );
  const modules = await Promise.all(files.map((file): Promise<object> => import(file)));
  return modules
    .flatMap((module) => Object.entries(module))
    .filter(([, exported]) => typeof exported === 'function' && !/^class\b/.test(String(exported)))
    .map(([name]) => name);
}

describe('the statements of the store', () => {
  it('names every exported statement of the store', async () => {
    const named = [
      ...Object.keys(SCOPE_STATEMENTS),
      ...MAKING_STATEMENTS,
      ...VECTOR_STATEMENTS,
      ...WORKER_STATEMENTS,
    ];
    expect((await exportedStatements()).sort()).toEqual(named.sort());
  });

  it('fail when they leave the filter of the scope out', async () => {
    const forgetful = store.sql.inScope(alice, {
      text: 'SELECT 1 FROM agentplane.threads WHERE thread_id = $2',
      values: [newId()],
    });
    await expect(forgetful).rejects.toThrow('could not determine data type of parameter $1');
  });
});

describe.each(Object.entries(SCOPE_STATEMENTS))('%s', (_name, { ask, absent }) => {
  it('treats rows of another owner as if they did not exist', async () => {
    const bobs = await rowsOf(store, 'bob');
    const before = await everyRow();
    expect(await answerOf(ask(alice, ABSENT, store))).toEqual(absent);
    expect(await answerOf(ask(alice, bobs, store))).toEqual(absent);
    expect(await everyRow()).toEqual(before);
  });

  it('reaches rows of its owner, and every row with a filter that lets all through', async () => {
    for (const scope of [alice, everyone, WORKER]) {
      const alices = await rowsOf(store, 'alice');
      const before = await everyRow();
      const answer = await answerOf(ask(scope, alices, store));
      // a statement without an answer changes no rows
      expect([answer, absent === undefined && (await everyRow())]).not.toEqual([absent, before]);
      if (absent !== undefined) expect(answer).not.toEqual(absent);
    }
  });
});

describe('a new row', () => {
  const assistantWith = (metadata: Record<string, unknown>, assistantId = newId()) => ({
    assistantId,
    graphId: 'graph',
    name: 'mine',
    description: undefined,
    config: {},
    context: {},
    metadata,
  });

  it('makes a new row inside the scope only', async () => {
    const { sql } = store;
    const [mine, theirs] = [{ owner: 'alice' }, { owner: 'bob' }];
    const before = await everyRow();
    expect(await answerOf(createThread(alice, sql, newId(), theirs, 'raise'))).toBe('forbidden');
    const threads = new ThreadWriter(sql);
    expect(await answerOf(threads.create(alice, newId(), theirs))).toBe('forbidden');
    expect(await answerOf(createCron(alice, sql, cronWith(theirs), CRON_LIMITS))).toBe('forbidden');
    expect(await answerOf(createAssistant(alice, sql, assistantWith(theirs), 'raise'))).toBe('forbidden');
    expect(await answerOf(requireAdmitted(alice, sql, theirs, 'Thread'))).toBe('forbidden');
    const onNewThread = queueing({ newThread: theirs });
    expect(await answerOf(submitRun(alice, sql, serverOf('one'), storedRun(), onNewThread))).toBe(
      'forbidden',
    );
    const item = { namespace: ['a'], key: newId(), ttlMinutes: undefined, vectors: [] };
    expect(await answerOf(putItem(alice, sql, { ...item, value: theirs }))).toBe('forbidden');
    expect(await everyRow()).toEqual(before);
    expect(await answerOf(putItem(alice, sql, { ...item, value: mine }))).toBeUndefined();
    expect(await answerOf(putItem(alice, sql, { ...item, value: theirs }))).toBe('forbidden');
    expect((await getItem(alice, sql, item, false))?.value).toBe('{"owner": "alice"}');
    const run = storedRun();
    await submitRun(alice, sql, serverOf('one'), run, queueing({ newThread: mine }));
    expect(await storedThread(alice, sql, run.threadId)).toMatchObject({ metadata: mine });
    expect(JSON.parse(await createThread(alice, sql, newId(), mine, 'raise'))).toMatchObject({
      metadata: mine,
    });
    expect(JSON.parse(await threads.create(alice, newId(), mine))).toMatchObject({ metadata: mine });
    expect(await createCron(alice, sql, cronWith(mine), CRON_LIMITS)).toMatchObject({ metadata: mine });
    expect(await createAssistant(alice, sql, assistantWith(mine), 'raise')).toMatchObject({ metadata: mine });
    expect(await answerOf(requireAdmitted(alice, sql, mine, 'Thread'))).toBeUndefined();
  });

  it('does not show or replace a row of another owner with the same id', async () => {
    const { sql } = store;
    const bobs = await rowsOf(store, 'bob');
    const before = await everyRow();
    const mine = { owner: 'alice' };
    for (const ifExists of ['raise', 'do_nothing'] as const) {
      expect(await answerOf(createThread(alice, sql, bobs.threadId, mine, ifExists))).toBe('conflict');
      const assistant = assistantWith(mine, bobs.assistantId);
      expect(await answerOf(createAssistant(alice, sql, assistant, ifExists))).toBe('conflict');
    }
    const item = { ...bobs.item, value: mine, ttlMinutes: undefined, vectors: [] };
    expect(await answerOf(putItem(alice, sql, item))).toBe('conflict');
    expect(await everyRow()).toEqual(before);
  });

  it('judges each row by its own scope when many share a statement', async () => {
    const runs = new TemporaryRuns(store.sql, serverOf('one'), systemClock);
    const submit = (scope: Scope, owner: string) =>
      answerOf(
        runs.submit({
          scope,
          run: storedRun({ isTemporary: true, metadata: { owner } }),
          queueing: queueing(),
        }),
      );
    const made = { status: 'pending', createdAt: expect.any(Date) };
    expect(
      await Promise.all([
        submit(alice, 'alice'),
        submit(alice, 'bob'),
        submit(everyone, 'bob'),
        submit(WORKER, 'x'),
      ]),
    ).toEqual([made, 'forbidden', made, made]);
  });

  it('cannot leave its scope by a change', async () => {
    const { threadId, assistantId } = await rowsOf(store, 'alice');
    const bobs = { metadata: { owner: 'bob' } };
    expect(await answerOf(patchAssistant(alice, store.sql, assistantId, bobs))).toBe('forbidden');
    expect(await answerOf(patchThread(alice, store.sql, threadId, { owner: 'bob' }))).toBe('forbidden');
    expect(await storedThread(alice, store.sql, threadId)).toMatchObject({ metadata: { owner: 'alice' } });
  });
});

describe('the assistant of a graph', () => {
  it('shows the assistant of a graph to every caller, and lets only a caller whose filter permits it remove it', async () => {
    const { sql, pool } = store;
    const { assistantId } = await rowsOf(store, 'carol');
    await pool.query('UPDATE agentplane.assistants SET system = true WHERE assistant_id = $1', [assistantId]);
    expect(await findAssistant(alice, sql, assistantId)).toBeDefined();
    expect(await removeAssistant(alice, sql, assistantId)).toBe(false);
  });
});

describe('the checkpoints of an open thread', () => {
  it('reads the checkpoints of the open thread alone', async () => {
    const [mine, theirs] = [await rowsOf(store, 'alice'), await rowsOf(store, 'bob')];
    const saver = new ThreadSaver(store.sql, mine.threadId);
    const config = { configurable: { thread_id: theirs.threadId } };
    await expect(saver.getTuple(config)).rejects.toThrow(mine.threadId);
    await expect(saver.list({ configurable: {} }).next()).rejects.toThrow(mine.threadId);
    await expect(saver.putWrites(config, [], 'task')).rejects.toThrow(mine.threadId);
    await expect(saver.deleteThread()).rejects.toThrow('cannot delete');
    expect(await saver.getTuple({ configurable: { thread_id: mine.threadId } })).toBeUndefined();
  });
});
