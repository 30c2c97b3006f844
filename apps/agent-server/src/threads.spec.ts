import type { Client } from '@langchain/langgraph-sdk';
import { testServer } from '../testdata/test-server.js';

const server = testServer();
let client: Client;

beforeAll(() => {
  client = server.client();
});

async function threadWithRuns(count: number): Promise<string> {
  const { thread_id: id } = await client.threads.create({ metadata: { kept: 'yes' } });
  for (let n = 0; n < count; n++) await client.runs.wait(id, 'counter', { input: {} });
  return id;
}

describe('copying a thread', () => {
  it('takes the whole state of the first, and goes on by itself', async () => {
    const first = await threadWithRuns(2);
    const before = await client.threads.getState(first);
    const history = await client.threads.getHistory(first, { limit: 100 });
    const copy = (await client.threads.copy(first)) as unknown as { thread_id: string };
    expect(copy).toMatchObject({ status: 'idle', metadata: { kept: 'yes' }, values: before.values });
    const copied = await client.threads.getHistory(copy.thread_id, { limit: 100 });
    expect(copied.map((state) => state.values)).toEqual(history.map((state) => state.values));
    expect(copied[0]?.checkpoint.thread_id).toBe(copy.thread_id);
    await client.runs.wait(copy.thread_id, 'counter', { input: {} });
    expect((await client.threads.getState(first)).values).toEqual(before.values);
    expect(await client.threads.getHistory(copy.thread_id, { limit: 100 })).not.toHaveLength(history.length);
  });

  it('refuses a thread that does not exist', async () => {
    await expect(client.threads.copy('11111111-1111-4111-8111-111111111111')).rejects.toMatchObject({
      status: 404,
    });
  });
});

describe('pruning threads', () => {
  it('keeps the last state of a thread, with which it goes on', async () => {
    const [pruned, twin] = [await threadWithRuns(3), await threadWithRuns(3)];
    const before = await client.threads.getState(pruned);
    expect(await client.threads.prune([pruned], { strategy: 'keep_latest' })).toEqual({ pruned_count: 1 });
    expect(await client.threads.getHistory(pruned, { limit: 100 })).toHaveLength(1);
    expect((await client.threads.getState(pruned)).values).toEqual(before.values);
    for (const id of [pruned, twin]) await client.runs.wait(id, 'counter', { input: {} });
    const states = await Promise.all([pruned, twin].map((id) => client.threads.getState(id)));
    expect(states[0]?.values).toEqual(states[1]?.values);
  });

  it('removes threads, and counts those that existed', async () => {
    const id = await threadWithRuns(1);
    const absent = '11111111-1111-4111-8111-111111111111';
    expect(await client.threads.prune([id, absent])).toEqual({ pruned_count: 1 });
    await expect(client.threads.get(id)).rejects.toMatchObject({ status: 404 });
  });
});

it('marks the last state of a thread with metadata', async () => {
  const id = await threadWithRuns(1);
  await client.threads.patchState(id, { reviewed: true });
  expect((await client.threads.getState(id)).metadata).toMatchObject({ reviewed: true });
  const { thread_id: empty } = await client.threads.create();
  await expect(client.threads.patchState(empty, { a: 1 })).rejects.toMatchObject({ status: 404 });
});

describe('runs of a thread', () => {
  it('lists none of a new thread, and answers 404 for one that does not exist', async () => {
    const { thread_id: id } = await client.threads.create();
    expect(await client.runs.list(id)).toEqual([]);
    const unknown = client.runs.list('11111111-1111-4111-8111-111111111111');
    await expect(unknown).rejects.toMatchObject({ status: 404 });
  });
});

describe('cancelling many runs', () => {
  const delayed = { input: {}, afterSeconds: 3_600 };

  it('cancels those that are named, of one thread', async () => {
    const { thread_id: id } = await client.threads.create();
    const runs = [
      await client.runs.create(id, 'counter', delayed),
      await client.runs.create(id, 'counter', delayed),
    ];
    await client.runs.cancelMany({ threadId: id, runIds: [runs[0]?.run_id ?? ''] });
    const statuses = (await client.runs.list(id)).map(({ status }) => status);
    expect(statuses.sort()).toEqual(['interrupted', 'pending']);
  });

  it('cancels all that wait, of one thread or of every one', async () => {
    const [first, second] = [await client.threads.create(), await client.threads.create()];
    for (const { thread_id: id } of [first, second]) await client.runs.create(id, 'counter', delayed);
    await client.runs.cancelMany({ threadId: first.thread_id, status: 'pending' });
    expect((await client.runs.list(second.thread_id))[0]?.status).toBe('pending');
    await client.runs.cancelMany({ status: 'all', action: 'rollback' });
    expect(await client.runs.list(second.thread_id)).toEqual([]);
  });

  it('cancels more than one look finds', async () => {
    const { thread_id: id } = await client.threads.create();
    await Promise.all(Array.from({ length: 210 }, () => client.runs.create(id, 'counter', delayed)));
    await client.runs.cancelMany({ threadId: id, status: 'all' });
    expect(await client.runs.list(id, { status: 'pending' })).toEqual([]);
    const { length } = await client.runs.list(id, { status: 'interrupted', limit: 1_000 });
    expect(length).toBe(210);
  });

  it('refuses to guess which are meant', async () => {
    await expect(client.runs.cancelMany({})).rejects.toMatchObject({ status: 422 });
  });
});

describe('a look at a state', () => {
  async function stateOf(path: string, body?: object): Promise<unknown> {
    const answer = await fetch(server.url + path, {
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
      headers: body ? { 'content-type': 'application/json' } : {},
    });
    return answer.json();
  }

  it('shows what is asked for, of the values too', async () => {
    const { thread_id: id } = await client.threads.create();
    await client.runs.wait(id, 'counter', { input: { waitMs: 7 } });
    const { checkpoint } = await client.threads.getState(id);
    const steps = ['step 1'];
    expect(await stateOf(`/threads/${id}/state?select=next&select=values.steps`)).toEqual({
      values: { steps },
      next: [],
    });
    expect(await stateOf(`/threads/${id}/state?select=values`)).toEqual({ values: { steps, waitMs: 7 } });
    const { checkpoint_id: checkpointId } = checkpoint;
    expect(await stateOf(`/threads/${id}/state/${checkpointId}?select=values.absent`)).toEqual({
      values: {},
    });
    expect(await stateOf(`/threads/${id}/state/checkpoint`, { checkpoint, select: ['checkpoint'] })).toEqual({
      checkpoint,
    });
    expect(
      await stateOf(`/threads/${id}/history`, { limit: 1, select: ['created_at', 'values.waitMs'] }),
    ).toEqual([{ created_at: expect.any(String), values: { waitMs: 7 } }]);
    expect(await stateOf(`/threads/${id}/state?select=value`)).toMatchObject({
      detail: [
        { loc: ['query', 'select', 0], msg: expect.stringMatching(/^must be values, next, .* values\.KEY/) },
      ],
    });
  });
});

describe('a thread made of supersteps', () => {
  const steps = [
    { updates: [{ values: { steps: ['given'], waitMs: 0 }, asNode: '__start__' }] },
    { updates: [{ values: { steps: ['first'] }, asNode: 'first' }] },
  ];

  it('takes several writes in one step, and commands', async () => {
    const { values } = await client.threads.create({
      graphId: 'slow',
      supersteps: [
        ...steps,
        {
          updates: [
            { values: null, command: { update: { steps: ['second'] } }, asNode: 'second' },
            { values: { steps: ['third'] }, asNode: 'third' },
          ],
        },
      ],
    });
    expect(values).toMatchObject({ steps: ['given', 'first', 'second', 'third'] });
  });

  it('stays as it is when it exists', async () => {
    const threadId = '33333333-3333-4333-8333-333333333333';
    const asked = { threadId, graphId: 'slow', supersteps: steps, ifExists: 'do_nothing' as const };
    const first = await client.threads.create(asked);
    expect(await client.threads.create(asked)).toEqual(first);
    await expect(client.threads.create({ ...asked, ifExists: 'raise' })).rejects.toMatchObject({
      status: 409,
    });
  });

  it('needs a graph of the deployment', async () => {
    await expect(client.threads.create({ graphId: 'absent', supersteps: steps })).rejects.toMatchObject({
      ...{ status: 400, message: expect.stringContaining('graph_id') },
    });
  });
});
