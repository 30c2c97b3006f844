import type { Client } from '@langchain/langgraph-sdk';
import { randomUUID } from 'node:crypto';
import { waitFor } from '#lib/testing';
import { collect, sdkRows, statusOf } from '../clients/sdk-client.js';

const LONG = { waitMs: 60_000 };
const HELLO = { messages: [{ role: 'user', content: 'hello' }] };

/** A run of `slow` at work, of which nothing ends by itself. */
async function atWork(client: Client): Promise<{ readonly threadId: string; readonly runId: string }> {
  const { thread_id: threadId } = await client.threads.create();
  await client.runs.wait(threadId, 'counter', { input: {} });
  const { run_id: runId } = await client.runs.create(threadId, 'slow', { input: LONG });
  await waitFor(async () => (await client.runs.get(threadId, runId)).status === 'running');
  return { threadId, runId };
}

const stepsOf = async (client: Client, threadId: string): Promise<unknown> =>
  (await client.threads.getState<{ steps: string[] }>(threadId)).values.steps;

const LIFE = sdkRows({
  'starts a run, joins it and shows it with its output': async (client) => {
    const { thread_id } = await client.threads.create();
    const made = await client.runs.create(thread_id, 'counter', { input: {}, metadata: { mark: 1 } });
    expect(made).toMatchObject({
      thread_id,
      metadata: { mark: 1 },
      multitask_strategy: 'enqueue',
      kwargs: { input: {} },
      status: expect.stringMatching(/^(pending|running)$/) as unknown,
    });
    expect(await client.runs.join(thread_id, made.run_id)).toMatchObject({ steps: ['step 1'] });
    expect(await client.runs.get(thread_id, made.run_id)).toMatchObject({ status: 'success' });
  },
  'gives a thread the priority that the agent assigns to its first run': async (client) => {
    const { thread_id } = await client.threads.create();
    const given = { run_priority: -2, fairness_group: 'ranked' };
    for (const rank of [-2, 4]) {
      const made = await client.runs.create(thread_id, 'counter', { input: {}, metadata: { rank } });
      expect(made.metadata).toMatchObject({ ...given, rank });
      await client.runs.join(thread_id, made.run_id);
    }
  },
  'joins a run that has ended': async (client) => {
    const { thread_id } = await client.threads.create();
    const { run_id } = await client.runs.create(thread_id, 'counter', { input: {} });
    await client.runs.join(thread_id, run_id);
    expect(await client.runs.join(thread_id, run_id)).toMatchObject({ steps: ['step 1'] });
    expect(await collect(client.runs.joinStream(thread_id, run_id))).toEqual([]);
  },
  'names the run of an answer that is its output': async (client) => {
    const { thread_id } = await client.threads.create();
    const ids: string[] = [];
    const onRunCreated = (params: { run_id: string }) => void ids.push(params.run_id);
    await client.runs.wait(thread_id, 'counter', { input: {}, onRunCreated });
    expect(await client.runs.get(thread_id, ids[0] ?? '')).toMatchObject({ status: 'success' });
  },
  'lists runs newest first, by status and page by page': async (client) => {
    const { thread_id } = await client.threads.create();
    expect(await client.runs.list(thread_id)).toEqual([]);
    const ids: string[] = [];
    for (let n = 0; n < 3; n++) {
      const { run_id } = await client.runs.create(thread_id, 'counter', { input: {} });
      await client.runs.join(thread_id, run_id);
      ids.unshift(run_id);
    }
    expect((await client.runs.list(thread_id)).map(({ run_id }) => run_id)).toEqual(ids);
    const [second] = await client.runs.list(thread_id, { limit: 1, offset: 1 });
    expect(second?.run_id).toBe(ids[1]);
    expect(await client.runs.list(thread_id, { status: 'error' })).toEqual([]);
    expect(await client.runs.list(thread_id, { status: 'success' })).toHaveLength(3);
    const selected = await client.runs.list(thread_id, { limit: 1, select: ['status', 'thread_id'] });
    expect(selected).toEqual([{ status: 'success', thread_id }]);
  },
  'deletes a run that has ended, and none at work': async (client) => {
    const { threadId, runId } = await atWork(client);
    expect(await statusOf(client.runs.delete(threadId, runId))).toBe(409);
    await client.runs.cancel(threadId, runId, true);
    await client.runs.delete(threadId, runId);
    expect(await statusOf(client.runs.get(threadId, runId))).toBe(404);
  },
  'answers the output of a run without a thread, and keeps nothing of it': async (client) => {
    const ids: { run_id: string; thread_id?: string }[] = [];
    const values = await client.runs.wait(null, 'counter', {
      input: {},
      onRunCreated: (ran) => void ids.push(ran),
    });
    expect(values).toMatchObject({ steps: ['step 1'] });
    expect(ids[0]?.thread_id).toBeUndefined();
  },
  'starts several runs without a thread in one batch': async (client) => {
    const made = await client.runs.createBatch([
      { assistantId: 'counter', input: {} },
      { assistantId: 'slow', input: { waitMs: 1 } },
    ]);
    expect(new Set(made.map(({ run_id }) => run_id)).size).toBe(2);
    expect(new Set(made.map(({ assistant_id }) => assistant_id)).size).toBe(2);
    for (const { status } of made) expect(['running', 'pending']).toContain(status);
  },
  'fails the waiting for a run that fails with the error of its node': async (client) => {
    const { thread_id } = await client.threads.create();
    await expect(client.runs.wait(thread_id, 'failing', { input: HELLO })).rejects.toThrow(
      'RangeError: the node gave up',
    );
    expect((await client.runs.list(thread_id)).map(({ status }) => status)).toEqual(['error']);
    const output = await client.runs.wait(thread_id, 'failing', { input: HELLO, raiseError: false });
    expect(output).toMatchObject({ __error__: { error: 'RangeError', message: 'the node gave up' } });
  },
  'makes the thread of a run that asks for it': async (client) => {
    const threadId = randomUUID();
    expect(await statusOf(client.runs.wait(threadId, 'counter', { input: {} }))).toBe(404);
    const values = await client.runs.wait(threadId, 'counter', { input: {}, ifNotExists: 'create' });
    expect(values).toMatchObject({ steps: ['step 1'] });
    expect(await client.threads.get(threadId)).toMatchObject({
      status: 'idle',
      metadata: { graph_id: 'counter' },
    });
  },
  'hands a run its ids, its configuration and its context': async (client) => {
    const { thread_id } = await client.threads.create();
    const config = { recursion_limit: 17, tags: ['a'], configurable: { word: 'hello' } };
    const values = await client.runs.wait(thread_id, 'seeing', { input: {}, config });
    expect((values as { seen: unknown }).seen).toMatchObject({
      thread_id,
      word: 'hello',
      recursionLimit: 17,
      graph_id: 'seeing',
      tags: ['a'],
      run_id: expect.any(String) as unknown,
    });
    const other = await client.runs.wait(thread_id, 'seeing', { input: {}, context: { tenant: 't' } });
    expect((other as { seen: unknown }).seen).toMatchObject({ context: { tenant: 't' } });
  },
  'ends a run above its recursion limit with an error': async (client) => {
    const asked = client.runs.wait(null, 'slow', { input: { waitMs: 1 }, config: { recursion_limit: 1 } });
    await expect(asked).rejects.toThrow(/Recursion/);
  },
  'starts a run after its delay': async (client) => {
    const { thread_id } = await client.threads.create();
    const { run_id } = await client.runs.create(thread_id, 'counter', { input: {}, afterSeconds: 2 });
    expect((await client.runs.get(thread_id, run_id)).status).toBe('pending');
    expect((await client.threads.get(thread_id)).status).toBe('busy');
    expect(await client.runs.join(thread_id, run_id)).toMatchObject({ steps: ['step 1'] });
    const run = await client.runs.get(thread_id, run_id);
    expect(Date.parse(run.updated_at) - Date.parse(run.created_at)).toBeGreaterThanOrEqual(2_000);
  },
  ...Object.fromEntries(
    (['sync', 'async', 'exit'] as const).map((durability) => [
      `keeps the state of a run of the durability ${durability}`,
      async (client: Client) => {
        const { thread_id } = await client.threads.create();
        await client.runs.wait(thread_id, 'slow', { input: { waitMs: 1 }, durability });
        expect(await stepsOf(client, thread_id)).toEqual(['first', 'second', 'third']);
        const history = await client.threads.getHistory(thread_id);
        expect(history).toHaveLength(durability === 'exit' ? 1 : 5);
      },
    ]),
  ),
});

const STRATEGIES = sdkRows({
  'queues a run behind the one at work where no strategy is named': async (client) => {
    const { thread_id } = await client.threads.create();
    const first = await client.runs.create(thread_id, 'slow', { input: { waitMs: 50 } });
    const second = await client.runs.create(thread_id, 'counter', { input: {} });
    expect(second.multitask_strategy).toBe('enqueue');
    expect(await client.runs.join(thread_id, second.run_id)).toMatchObject({
      steps: ['first', 'second', 'third', 'step 4'],
    });
    expect((await client.runs.get(thread_id, first.run_id)).status).toBe('success');
  },
  'performs queued runs in the order of their arrival': async (client) => {
    const { thread_id } = await client.threads.create();
    await client.runs.create(thread_id, 'slow', { input: { waitMs: 30 } });
    const ids: string[] = [];
    for (let n = 0; n < 3; n++)
      ids.push((await client.runs.create(thread_id, 'counter', { input: {} })).run_id);
    const last = await client.runs.join(thread_id, ids.at(-1) ?? '');
    expect(last).toMatchObject({ steps: ['first', 'second', 'third', 'step 4', 'step 5', 'step 6'] });
  },
  'refuses a run of the strategy reject while another is at work, which goes on': async (client) => {
    const { thread_id } = await client.threads.create();
    const first = await client.runs.create(thread_id, 'slow', { input: { waitMs: 500 } });
    const asked = { input: {}, multitaskStrategy: 'reject' as const };
    expect(await statusOf(client.runs.create(thread_id, 'counter', asked))).toBe(409);
    expect(await statusOf(client.runs.wait(thread_id, 'counter', asked))).toBe(409);
    expect(await client.runs.join(thread_id, first.run_id)).toMatchObject({
      steps: ['first', 'second', 'third'],
    });
    expect(await client.runs.wait(thread_id, 'counter', asked)).toHaveProperty('steps');
  },
  'interrupts the run at work for one of the strategy interrupt, and keeps its state': async (client) => {
    const { threadId, runId } = await atWork(client);
    const values = await client.runs.wait(threadId, 'counter', { input: {}, multitaskStrategy: 'interrupt' });
    expect(values).toMatchObject({ steps: ['step 1', 'step 2'] });
    expect((await client.runs.get(threadId, runId)).status).toBe('interrupted');
    expect((await client.threads.get(threadId)).status).toBe('idle');
  },
  'removes the run at work and its state for one of the strategy rollback': async (client) => {
    const { threadId, runId } = await atWork(client);
    const values = await client.runs.wait(threadId, 'counter', { input: {}, multitaskStrategy: 'rollback' });
    expect(values).toMatchObject({ steps: ['step 1', 'step 2'] });
    expect(await statusOf(client.runs.get(threadId, runId))).toBe(404);
    const { waitMs } = (await client.threads.getState<{ waitMs?: number }>(threadId)).values;
    expect(waitMs).toBeUndefined();
  },
});

const CANCELLING = sdkRows({
  'cancels a run at work and keeps it': async (client) => {
    const { threadId, runId } = await atWork(client);
    await client.runs.cancel(threadId, runId, true);
    expect((await client.runs.get(threadId, runId)).status).toBe('interrupted');
    expect((await client.threads.get(threadId)).status).toBe('interrupted');
    expect(await stepsOf(client, threadId)).toEqual(['step 1']);
  },
  'cancels without waiting for the end': async (client) => {
    const { threadId, runId } = await atWork(client);
    await client.runs.cancel(threadId, runId);
    await waitFor(async () => (await client.runs.get(threadId, runId)).status === 'interrupted');
  },
  'cancels a run and leaves no trace of it when asked to roll back': async (client) => {
    const { threadId, runId } = await atWork(client);
    await client.runs.cancel(threadId, runId, true, 'rollback');
    expect(await statusOf(client.runs.get(threadId, runId))).toBe(404);
    expect(await stepsOf(client, threadId)).toEqual(['step 1']);
    expect((await client.threads.get(threadId)).status).toBe('idle');
  },
  'cancels a run that waits for its moment': async (client) => {
    const { thread_id } = await client.threads.create();
    const { run_id } = await client.runs.create(thread_id, 'counter', { input: {}, afterSeconds: 1_000 });
    await client.runs.cancel(thread_id, run_id, true);
    expect((await client.runs.get(thread_id, run_id)).status).toBe('interrupted');
    expect((await client.threads.get(thread_id)).status).toBe('idle');
  },
  'takes the cancelling of a run that has ended for done': async (client) => {
    const { thread_id } = await client.threads.create();
    const { run_id } = await client.runs.create(thread_id, 'counter', { input: {} });
    await client.runs.join(thread_id, run_id);
    for (const wait of [false, true]) await client.runs.cancel(thread_id, run_id, wait);
    expect((await client.runs.get(thread_id, run_id)).status).toBe('success');
  },
});

const QUESTIONS = sdkRows({
  'stops for a question and goes on with the answer': async (client) => {
    const { thread_id } = await client.threads.create();
    const asked = await client.runs.wait(thread_id, 'asking', { input: HELLO });
    expect(asked).toMatchObject({
      __interrupt__: [{ value: 'Which colour?', id: expect.any(String) as unknown }],
    });
    const thread = await client.threads.get(thread_id);
    expect(thread.status).toBe('interrupted');
    expect(Object.values(thread.interrupts)).toMatchObject([[{ value: 'Which colour?' }]]);
    const state = await client.threads.getState(thread_id);
    expect(state).toMatchObject({
      next: ['ask'],
      tasks: [{ name: 'ask', interrupts: [{ value: 'Which colour?' }] }],
    });
    const done = await client.runs.wait(thread_id, 'asking', { command: { resume: 'red' } });
    expect((done as { messages: { content: string }[] }).messages.at(-1)?.content).toBe('painted red');
    expect((await client.threads.get(thread_id)).status).toBe('idle');
    expect(await client.runs.wait(null, 'asking', { input: HELLO })).toMatchObject({
      __interrupt__: [{ value: 'Which colour?' }],
    });
  },
  'answers two questions by their ids': async (client) => {
    const { thread_id } = await client.threads.create();
    const asked = await client.runs.wait(thread_id, 'twofold', { input: HELLO });
    const questions = (asked as unknown as { __interrupt__: { id: string; value: string }[] }).__interrupt__;
    const resume = Object.fromEntries(questions.map(({ id, value }) => [id, value.toUpperCase()]));
    const done = await client.runs.wait(thread_id, 'twofold', { command: { resume } });
    expect((done as { messages: { content: string }[] }).messages.at(-1)?.content).toBe(
      'left LEFT?, right RIGHT?',
    );
  },
  'asks inside a subgraph and shows its state when asked to': async (client) => {
    const { thread_id } = await client.threads.create();
    await client.runs.wait(thread_id, 'nested', { input: {} });
    const state = await client.threads.getState(thread_id, undefined, { subgraphs: true });
    expect(state.tasks[0]).toMatchObject({ name: 'child', state: { next: ['inner'] } });
    const done = await client.runs.wait(thread_id, 'nested', { command: { resume: 'yes' } });
    expect(done).toMatchObject({ steps: ['inner yes', 'deeper', 'after'] });
  },
  'stops before and after the nodes that are named, and goes on without input': async (client) => {
    const { thread_id } = await client.threads.create();
    const input = { waitMs: 1 };
    const before = await client.runs.wait(thread_id, 'slow', { input, interruptBefore: ['second'] });
    expect(before).toMatchObject({ steps: ['first'] });
    expect((await client.threads.getState(thread_id)).next).toEqual(['second']);
    const after = await client.runs.wait(thread_id, 'slow', { input: null, interruptAfter: ['second'] });
    expect(after).toMatchObject({ steps: ['first', 'second'] });
    expect(await client.runs.wait(thread_id, 'slow', { input: null })).toMatchObject({
      steps: ['first', 'second', 'third'],
    });
  },
  'stops before every node where all are meant': async (client) => {
    const { thread_id } = await client.threads.create();
    await client.runs.wait(thread_id, 'slow', { input: { waitMs: 1 }, interruptBefore: '*' });
    expect((await client.threads.getState(thread_id)).next).toEqual(['first']);
  },
  'goes to the node and takes the update that a command names': async (client) => {
    const { thread_id } = await client.threads.create();
    await client.runs.wait(thread_id, 'slow', { input: { waitMs: 1 }, interruptBefore: ['second'] });
    const command = { goto: 'third', update: { steps: ['by command'] } };
    await client.runs.wait(thread_id, 'slow', { command });
    expect(await stepsOf(client, thread_id)).toEqual(
      expect.arrayContaining(['first', 'by command', 'third']),
    );
  },
  'goes on from an earlier checkpoint': async (client) => {
    const { thread_id } = await client.threads.create();
    await client.runs.wait(thread_id, 'counter', { input: {} });
    const { checkpoint } = await client.threads.getState(thread_id);
    await client.runs.wait(thread_id, 'counter', { input: {} });
    const asked = { input: { waitMs: 1 }, checkpointId: checkpoint.checkpoint_id ?? '' };
    expect(await client.runs.wait(thread_id, 'slow', asked)).toMatchObject({
      steps: ['step 1', 'first', 'second', 'third'],
    });
    const again = await client.runs.wait(thread_id, 'counter', { input: {}, checkpoint });
    expect(again).toMatchObject({ steps: ['step 1', 'step 2'] });
  },
});

export const RUN_ROWS = [...LIFE, ...STRATEGIES, ...CANCELLING, ...QUESTIONS];
