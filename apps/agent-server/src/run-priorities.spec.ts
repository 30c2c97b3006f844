import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { Run } from '@langchain/langgraph-sdk';
import { waitFor } from '#lib/testing';
import { testServer } from '../testdata/test-server.js';

const folderOf = (name: string): string => join(import.meta.dirname, '..', 'testdata', name);
const python = process.env['AGENTPLANE_TEST_PYTHON'];
if (!python)
  process.stderr.write('SKIPPED: priorities in Python: AGENTPLANE_TEST_PYTHON names no interpreter\n');

const LANGUAGES: readonly (readonly [string, string])[] = [
  ['JavaScript', 'ranked'],
  ...(python ? ([['Python', 'ranked-python']] as const) : []),
];

/** Priority of a run as its metadata show it, which are those of its trace too. */
function priorityOf({ metadata }: Run): unknown {
  return metadata?.['run_priority'];
}

describe.each(LANGUAGES)('the priority of runs by a function in %s', (_language, folder) => {
  const env = { AGENTPLANE_PYTHON: python ?? '', N_JOBS_PER_WORKER: '1', CRON_MIN_INTERVAL_SECONDS: '1' };
  const server = testServer({ folder: folderOf(folder), env });

  it('stays with the thread from its first run', async () => {
    const client = server.client();
    const { thread_id: threadId } = await client.threads.create();
    const ranked = async (metadata: Record<string, unknown>) =>
      priorityOf(await client.runs.create(threadId, 'counter', { input: {}, metadata }));
    expect(await ranked({ rank: -3 })).toEqual(-3);
    expect(await ranked({ rank: 2, run_priority: 5 })).toEqual(-3);
    const { thread_id: other } = await client.threads.create({ metadata: { rank: 1 } });
    expect(priorityOf(await client.runs.create(other, 'counter', { input: {} }))).toEqual(1);
    const unranked = await client.runs.create(null, 'counter', { input: {} });
    expect(priorityOf(unranked)).toBeUndefined();
  });

  it('ranks batches, runs without a thread, and those of crons', async () => {
    const client = server.client();
    const batch = await client.runs.createBatch([
      { assistantId: 'counter', input: {}, metadata: { rank: 5 } },
      { assistantId: 'counter', input: {}, metadata: { rank: -5 } },
    ]);
    expect(batch.map(priorityOf)).toEqual([5, -5]);
    const { thread_id: threadId } = await client.threads.create();
    const { cron_id: cronId } = await client.crons.createForThread(threadId, 'counter', {
      input: {},
      schedule: '* * * * * *',
    });
    const made = await waitFor(async () => (await client.runs.list(threadId))[0]);
    await client.crons.delete(cronId);
    expect(made?.metadata).toMatchObject({ run_priority: 4, fairness_group: 'cron of counter' });
  });

  it.each([
    ['raises', 'broken'],
    ['answers a priority out of range', 6],
  ])('refuses a run when the function %s', async (_what, rank) => {
    const asked = server.client().runs.create(null, 'counter', { input: {}, metadata: { rank } });
    await expect(asked).rejects.toMatchObject({ status: 500 });
  });
});

describe('a more urgent run', () => {
  const server = testServer({ folder: folderOf('ranked'), env: { N_JOBS_PER_WORKER: '1' } });

  it('takes the next place before those that wait', async () => {
    const client = server.client();
    const begin = async (rank: number, waitMs: number): Promise<() => Promise<Run>> => {
      const { thread_id: threadId } = await client.threads.create();
      const { run_id: runId } = await client.runs.create(threadId, 'slow', {
        input: { waitMs },
        metadata: { rank },
      });
      return () => client.runs.get(threadId, runId);
    };
    const first = await begin(0, 1_000_000);
    await waitFor(async () => (await first()).status === 'running');
    const late = await begin(5, 1_000_000);
    const urgent = await begin(-5, 1_000_000);
    const { thread_id: threadId, run_id: runId } = await first();
    await client.runs.cancel(threadId, runId);
    await waitFor(async () => (await urgent()).status === 'running');
    expect((await late()).status).toBe('pending');
  });
});
