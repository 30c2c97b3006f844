import { randomUUID } from 'node:crypto';
import type { Client } from '@langchain/langgraph-sdk';
import { newerSdkRows, sdkRows, statusOf } from '../clients/sdk-client.js';

interface Steps {
  readonly steps: string[];
}

async function threadWithRuns({ threads, runs }: Client, count: number, metadata = {}): Promise<string> {
  const { thread_id: id } = await threads.create({ metadata });
  for (let n = 0; n < count; n++) await runs.wait(id, 'counter', { input: {} });
  return id;
}

const SUPERSTEPS = [
  { updates: [{ values: { steps: ['given'], waitMs: 0 }, asNode: '__start__' }] },
  { updates: [{ values: { steps: ['first'] }, asNode: 'first' }] },
];

const THREADS = sdkRows({
  'creates a thread by supersteps, and goes on from the last': async ({ threads, runs }) => {
    const made = await threads.create({ graphId: 'slow', metadata: { a: 1 }, supersteps: SUPERSTEPS });
    const { thread_id: id } = made;
    expect(made).toMatchObject({
      status: 'interrupted',
      metadata: { a: 1, graph_id: 'slow' },
      values: { steps: ['given', 'first'] },
    });
    expect((await threads.getState(id)).next).toEqual(['second']);
    const history = await threads.getHistory<Steps>(id);
    expect(history.map(({ values }) => values.steps)).toEqual([['given', 'first'], ['given']]);
    expect(await runs.wait(id, 'slow', { input: null })).toMatchObject({
      steps: ['given', 'first', 'second', 'third'],
    });
  },
  'creates no thread when a superstep cannot be taken': async ({ threads }) => {
    const threadId = randomUUID();
    const wrong = [...SUPERSTEPS, { updates: [{ values: { steps: ['x'] }, asNode: 'nowhere' }] }];
    const asked = threads.create({ threadId, graphId: 'slow', supersteps: wrong });
    await expect(asked).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('nowhere') as unknown,
    });
    expect(await statusOf(threads.get(threadId))).toBe(404);
    expect(await threads.create({ threadId, graphId: 'slow' })).toMatchObject({ values: null });
    expect(await threads.getHistory(threadId)).toEqual([]);
  },
  'takes several writes in one superstep, and commands': async ({ threads }) => {
    const updates = [
      { values: null, command: { update: { steps: ['second'] } }, asNode: 'second' },
      { values: { steps: ['third'] }, asNode: 'third' },
    ];
    const made = await threads.create({ graphId: 'slow', supersteps: [...SUPERSTEPS, { updates }] });
    expect(made.values).toMatchObject({ steps: ['given', 'first', 'second', 'third'] });
  },
  'takes no supersteps for a thread that exists, or for no graph': async ({ threads }) => {
    const asked = { threadId: randomUUID(), graphId: 'slow', supersteps: SUPERSTEPS };
    const first = await threads.create(asked);
    expect(await threads.create({ ...asked, ifExists: 'do_nothing' })).toEqual(first);
    expect(await statusOf(threads.create({ ...asked, ifExists: 'raise' }))).toBe(409);
    await expect(threads.create({ graphId: 'absent', supersteps: SUPERSTEPS })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('graph_id') as unknown,
    });
  },
  'creates a thread, changes its metadata and deletes it': async ({ threads }) => {
    const threadId = randomUUID();
    const made = await threads.create({ threadId, metadata: { colour: 'blue' } });
    expect(made).toMatchObject({
      thread_id: threadId,
      status: 'idle',
      metadata: { colour: 'blue' },
      values: null,
    });
    expect(await threads.get(threadId)).toEqual(made);
    const metadata = { colour: 'blue', size: 1 };
    expect((await threads.update(threadId, { metadata: { size: 1 } })).metadata).toEqual(metadata);
    expect(await threads.search({ ids: [threadId], metadata })).toHaveLength(1);
    await threads.delete(threadId);
    expect(await statusOf(threads.get(threadId))).toBe(404);
    expect(await statusOf(threads.delete(threadId))).toBe(404);
  },
  'refuses a thread id that is taken, unless asked to leave it': async ({ threads }) => {
    const threadId = randomUUID();
    await threads.create({ threadId, metadata: { a: 1 } });
    expect(await statusOf(threads.create({ threadId }))).toBe(409);
    expect(await threads.create({ threadId, ifExists: 'do_nothing' })).toMatchObject({ metadata: { a: 1 } });
  },
  'searches threads by metadata, values and status, sorted, page by page, and counts them': async (
    client,
  ) => {
    const { threads } = client;
    const metadata = { mark: randomUUID() };
    const [idle, , asked] = [
      await threadWithRuns(client, 1, metadata),
      await threadWithRuns(client, 0, metadata),
      await threadWithRuns(client, 0, metadata),
    ];
    await client.runs.wait(asked, 'asking', { input: {} });
    const ids = async (more: object) =>
      (await threads.search({ metadata, ...more })).map((one) => one.thread_id);
    expect(await ids({})).toHaveLength(3);
    expect(await ids({ status: 'interrupted' })).toEqual([asked]);
    expect(await ids({ values: { steps: ['step 1'] } })).toEqual([idle]);
    const sorted = await ids({ sortBy: 'thread_id', sortOrder: 'desc' });
    expect(sorted).toEqual([...sorted].sort().reverse());
    expect(await ids({ sortBy: 'created_at', sortOrder: 'asc', limit: 1 })).toEqual([idle]);
    expect(await ids({ sortBy: 'thread_id', sortOrder: 'desc', limit: 2, offset: 1 })).toEqual(
      sorted.slice(1),
    );
    expect([await threads.count({ metadata }), await threads.count({ metadata, status: 'idle' })]).toEqual([
      3, 2,
    ]);
    expect(await threads.search({ ids: [idle], select: ['thread_id', 'status'] })).toEqual([
      { thread_id: idle, status: 'idle' },
    ]);
  },
  'copies a thread with its states, which go on apart': async (client) => {
    const first = await threadWithRuns(client, 2, { kept: 'yes' });
    const copy = (await client.threads.copy(first)) as unknown as { thread_id: string };
    expect(copy).toMatchObject({
      status: 'idle',
      metadata: { kept: 'yes' },
      values: { steps: ['step 1', 'step 2'] },
    });
    const [history, copied] = [
      await client.threads.getHistory(first, { limit: 20 }),
      await client.threads.getHistory(copy.thread_id, { limit: 20 }),
    ];
    expect(copied.map(({ values }) => values)).toEqual(history.map(({ values }) => values));
    expect(copied[0]?.checkpoint.thread_id).toBe(copy.thread_id);
    await client.runs.wait(copy.thread_id, 'counter', { input: {} });
    expect((await client.threads.getState<Steps>(first)).values.steps).toHaveLength(2);
    expect((await client.threads.getState<Steps>(copy.thread_id)).values.steps).toHaveLength(3);
    expect(await client.threads.getHistory(copy.thread_id, { limit: 20 })).toHaveLength(9);
  },
});

const STATES = sdkRows({
  'shows the empty state of a thread without runs': async ({ threads }) => {
    const { thread_id } = await threads.create();
    expect(await threads.getState(thread_id)).toMatchObject({
      values: {},
      next: [],
      tasks: [],
      checkpoint: null,
    });
    expect(await threads.getHistory(thread_id)).toEqual([]);
  },
  'shows the newest state and every one before it, newest first': async (client) => {
    const id = await threadWithRuns(client, 2);
    const state = await client.threads.getState<Steps>(id);
    expect(state).toMatchObject({
      values: { steps: ['step 1', 'step 2'] },
      next: [],
      metadata: { source: 'loop' },
      checkpoint: { thread_id: id, checkpoint_ns: '' },
      created_at: expect.any(String) as unknown,
    });
    const history = await client.threads.getHistory<Steps>(id, { limit: 100 });
    expect(history.map(({ values }) => values.steps?.length ?? 0)).toEqual([2, 1, 1, 1, 0, 0]);
    expect(history.map(({ metadata }) => metadata?.['source'])).toEqual([
      'loop',
      'loop',
      'input',
      'loop',
      'loop',
      'input',
    ]);
    expect(await client.threads.get(id)).toMatchObject({ status: 'idle', values: state.values });
    expect(history[0]?.checkpoint).toEqual(state.checkpoint);
    expect(history[1]?.checkpoint).toEqual(state.parent_checkpoint);
  },
  'pages the states before a checkpoint and filters them by metadata': async (client) => {
    const id = await threadWithRuns(client, 2);
    const [newest, ...others] = await client.threads.getHistory(id, { limit: 100 });
    const before = { configurable: { ...newest?.checkpoint } };
    const page = await client.threads.getHistory(id, { limit: 2, before });
    expect(page.map(({ checkpoint }) => checkpoint)).toEqual(
      others.slice(0, 2).map(({ checkpoint }) => checkpoint),
    );
    const inputs = await client.threads.getHistory(id, { metadata: { source: 'input' } });
    expect(inputs).toHaveLength(2);
  },
  'shows the state at a checkpoint, by its id and by itself': async (client) => {
    const id = await threadWithRuns(client, 1);
    const { checkpoint } = await client.threads.getState(id);
    await client.runs.wait(id, 'counter', { input: {} });
    const checkpointId = checkpoint.checkpoint_id ?? '';
    expect((await client.threads.getState<Steps>(id, checkpointId)).values.steps).toEqual(['step 1']);
    expect((await client.threads.getState<Steps>(id, checkpoint)).values.steps).toEqual(['step 1']);
  },
  'takes a change of the state as a node would make it': async (client) => {
    const id = await threadWithRuns(client, 1);
    const { checkpoint } = (await client.threads.updateState(id, {
      values: { steps: ['by hand'] },
      asNode: 'count',
    })) as unknown as { checkpoint: object };
    const state = await client.threads.getState<Steps>(id);
    expect(state.values.steps).toEqual(['step 1', 'by hand']);
    expect(state.checkpoint).toMatchObject(checkpoint);
    expect((await client.threads.get(id)).values).toMatchObject({ steps: ['step 1', 'by hand'] });
  },
  'forks the state at an earlier checkpoint': async (client) => {
    const id = await threadWithRuns(client, 1);
    const { checkpoint } = await client.threads.getState(id);
    await client.runs.wait(id, 'counter', { input: {} });
    await client.threads.updateState(id, {
      values: { steps: ['fork'] },
      checkpointId: checkpoint.checkpoint_id ?? '',
    });
    expect((await client.threads.getState<Steps>(id)).values.steps).toEqual(['step 1', 'fork']);
  },
  'refuses a change of the state under a run': async (client) => {
    for (const more of [{ input: { waitMs: 500 } }, { input: {}, afterSeconds: 1_000 }]) {
      const { thread_id: id } = await client.threads.create();
      await client.runs.create(id, 'slow', more);
      expect(await statusOf(client.threads.updateState(id, { values: { steps: ['no'] } }))).toBe(409);
    }
  },
  'marks the last state with metadata': async (client) => {
    const id = await threadWithRuns(client, 1);
    await client.threads.patchState(id, { reviewed: true });
    expect((await client.threads.getState(id)).metadata).toMatchObject({ reviewed: true });
    const { thread_id: empty } = await client.threads.create();
    expect(await statusOf(client.threads.patchState(empty, { reviewed: true }))).toBe(404);
  },
});

const NEWER = newerSdkRows({
  'extracts values of threads by paths': async ({ threads }) => {
    const metadata = { mark: randomUUID(), list: [{ a: 1 }, { a: 2 }] };
    await threads.create({ metadata });
    const extract = {
      last: 'metadata.list[-1].a',
      none: 'metadata.nothing[3].x',
      proto: 'metadata.__proto__',
    };
    const found = await threads.search({ metadata: { mark: metadata.mark }, select: ['status'], extract });
    expect(found).toEqual([{ status: 'idle', extracted: { last: 2, none: null, proto: null } }]);
  },
  'prunes threads to their last state, or removes them': async (client) => {
    const [pruned, removed] = [await threadWithRuns(client, 2), await threadWithRuns(client, 1)];
    expect(await client.threads.prune([pruned], { strategy: 'keep_latest' })).toEqual({ pruned_count: 1 });
    expect(await client.threads.getHistory(pruned)).toHaveLength(1);
    expect(await client.runs.wait(pruned, 'counter', { input: {} })).toMatchObject({
      steps: ['step 1', 'step 2', 'step 3'],
    });
    expect(await client.threads.prune([removed, randomUUID()])).toEqual({ pruned_count: 1 });
    expect(await statusOf(client.threads.get(removed))).toBe(404);
  },
  'shows how long a thread lives': async ({ threads }) => {
    const { thread_id } = await threads.create({ ttl: 60 });
    const ttl = { strategy: 'delete', ttl_minutes: 60, expires_at: expect.any(String) as unknown };
    expect(await threads.get(thread_id, { include: ['ttl'] })).toMatchObject({ ttl });
    await threads.update(thread_id, { ttl: { ttl: 5, strategy: 'keep_latest' } as never });
    expect(await threads.get(thread_id, { include: ['ttl'] })).toMatchObject({
      ttl: { strategy: 'keep_latest', ttl_minutes: 5 },
    });
  },
  'cancels many runs at once': async ({ threads, runs }) => {
    const { thread_id: threadId } = await threads.create();
    const made: string[] = [];
    for (let n = 0; n < 3; n++)
      made.push((await runs.create(threadId, 'counter', { input: {}, afterSeconds: 1_000 })).run_id);
    const statuses = async () => (await runs.list(threadId)).map(({ status }) => status);
    await runs.cancelMany({ threadId, runIds: made.slice(0, 1) });
    expect((await statuses()).sort()).toEqual(['interrupted', 'pending', 'pending']);
    await runs.cancelMany({ threadId, status: 'pending' });
    expect(await statuses()).toEqual(['interrupted', 'interrupted', 'interrupted']);
  },
  'cancels more runs than one look finds': async ({ threads, runs }) => {
    const { thread_id: threadId } = await threads.create();
    const delayed = { input: {}, afterSeconds: 3_600 };
    await Promise.all(Array.from({ length: 210 }, () => runs.create(threadId, 'counter', delayed)));
    await runs.cancelMany({ threadId, status: 'all' });
    expect(await runs.list(threadId, { status: 'pending' })).toEqual([]);
    expect(await runs.list(threadId, { status: 'interrupted', limit: 1_000 })).toHaveLength(210);
  },
});

export const THREAD_ROWS = [...THREADS, ...STATES, ...NEWER];
