import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Client } from 'langsmith';
import { evaluate } from 'langsmith/evaluation';
import { pythonWith } from '#lib/testing';
import { testApi } from '../testdata/test-api.js';

const EVALUATE = join(import.meta.dirname, '..', 'testdata', 'evaluate.py');
/** A Python with `langsmith`. */
const python = pythonWith('langsmith');

type Values = Record<string, unknown>;
interface Row {
  /** Outputs of the target; absent when it failed. */
  readonly outputs?: Values;
  readonly referenceOutputs?: Values;
}

const { api, tenant } = testApi();

describe('an evaluation', () => {
  let client: Client;

  beforeAll(() => {
    client = new Client({ apiUrl: api.url, apiKey: tenant.key });
    // the client's console output
    for (const method of ['log', 'error', 'warn'] as const)
      jest.spyOn(console, method).mockImplementation(() => undefined);
  });

  it('runs in JavaScript and is read back: runs of examples, feedback on them and on the experiment', async () => {
    const dataset = await client.createDataset('by javascript');
    const sent = [1, 2, 3].map((n) => ({ dataset_id: dataset.id, inputs: { n }, outputs: { twice: 2 * n } }));
    const examples = await client.createExamples(sent);
    const double = async ({ n }: { n: number }) => {
      if (n === 3) throw new Error('cannot count so far');
      return { twice: n === 2 ? 5 : 2 * n };
    };
    const results = await evaluate(double, {
      data: 'by javascript',
      client,
      experimentPrefix: 'js',
      metadata: { model: 'm' },
      evaluators: [
        ({ outputs, referenceOutputs }: Row) => ({
          key: 'correct',
          score: outputs?.['twice'] === referenceOutputs?.['twice'],
        }),
      ],
      summaryEvaluators: [
        ({ outputs }: { outputs: Values[] }) => ({ key: 'answers', score: outputs.length }),
      ],
    });
    expect(results.results.map(({ example }) => example.inputs['n'])).toEqual([1, 2, 3]);
    const project = await client.readProject({ projectName: results.experimentName });
    const asOf = examples.at(-1)?.modified_at;
    expect(project).toMatchObject({
      reference_dataset_id: dataset.id,
      test_run_number: 1,
      extra: { metadata: { model: 'm', dataset_version: asOf, dataset_splits: ['base'] } },
    });
    const { json } = await tenant.call('POST', '/runs/query', { session: [project.id], is_root: true });
    const runs = json.runs as {
      id: string;
      reference_example_id: string;
      outputs: unknown;
      error: unknown;
    }[];
    const rows = examples.map(({ id }) => runs.find((run) => run.reference_example_id === id));
    expect(rows).toMatchObject([
      { outputs: { twice: 2 }, error: null },
      { outputs: { twice: 5 }, error: null },
      { error: expect.stringContaining('cannot count so far') },
    ]);
    const feedback = async (query: string) =>
      (await tenant.call('GET', `/feedback?${query}`)).json as {
        run_id: string;
        key: string;
        score: unknown;
      }[];
    const given = await feedback(runs.map(({ id }) => `run=${id}`).join('&'));
    const scores = rows.map((run) => given.find(({ run_id }) => run_id === run?.id));
    expect(scores).toMatchObject([true, false, false].map((score) => ({ key: 'correct', score })));
    expect(await feedback(`session=${project.id}&level=session`)).toMatchObject([
      { key: 'answers', score: 3 },
    ]);
    expect(await client.readDataset({ datasetId: dataset.id })).toMatchObject({ session_count: 1 });

    const stats = (await tenant.call('GET', `/sessions/${project.id}?include_stats=true`)).json;
    expect(stats.feedback_stats).toMatchObject({
      correct: { n: 3, avg: expect.closeTo(1 / 3, 5), min: 0, max: 1, errors: 0 },
    });
    expect(stats.session_feedback_stats).toMatchObject({ answers: { n: 1, avg: 3, comments: [] } });
    // the experiment shows the examples that it ran on
    await client.updateExample({ id: examples[0]?.id ?? '', inputs: { n: 9 } });
    const table = async (more: object = {}) =>
      tenant.call('POST', `/datasets/${dataset.id}/runs`, { session_ids: [project.id], ...more });
    const rest = examples.slice(1).map(({ id }) => ({ id }));
    expect((await table()).json).toMatchObject([
      {
        id: examples[0]?.id,
        inputs: { n: 1 },
        outputs: { twice: 2 },
        runs: [{ id: rows[0]?.id, outputs: { twice: 2 }, feedback_stats: { correct: { n: 1, avg: 1 } } }],
      },
      { ...rest[0], runs: [{ id: rows[1]?.id, status: 'success' }] },
      { ...rest[1], runs: [{ id: rows[2]?.id, status: 'error' }] },
    ]);
    expect((await table({ limit: 1, offset: 1 })).json).toMatchObject([{ ...rest[0], runs: [{}] }]);
    const failed = await table({ filters: { [project.id]: ['eq(status, "error")', 'eq(is_root, true)'] } });
    expect(failed.json.map(({ runs }: { runs: readonly object[] }) => runs.length)).toEqual([0, 0, 1]);
    const other = await client.createDataset('of another');
    const foreign = await tenant.call('POST', `/datasets/${other.id}/runs`, { session_ids: [project.id] });
    expect([foreign.status, foreign.json.detail]).toEqual([404, expect.stringContaining(project.id)]);
    expect((await table({ filters: { [project.id]: ['nonsense('] } })).status).toBe(400);
    expect((await table({ session_ids: ['x'] })).status).toBe(422);
    expect((await table({ offset: 100 })).json).toEqual([]);
  });

  (python ? it : it.skip)(
    'runs in Python, also without waiting and on an experiment that exists',
    async () => {
      const env = { ...process.env, LANGSMITH_TRACING: 'true' };
      const { stdout } = await promisify(execFile)(python, [EVALUATE, api.url, tenant.key], { env });
      const last = stdout.trim().split('\n').at(-1) ?? '';
      expect(JSON.parse(last)).toEqual({
        first: {
          dataset: true,
          splits: ['base', 'large', 'odd', 'small'],
          rows: [0, 1, 2, 3].map((n) => [n, 2 * n]),
          feedback: [
            ...[0, 1, 1, 1].map((score) => ['correct', score]),
            ...[1, 1, 1, 1].map((score) => ['whole', score]),
          ],
          summaries: [['share', 0.75]],
          results: { stats: ['correct', 'share', 'whole'], rows: [0, 1, 2, 3].map((n) => [n, 1]) },
        },
        second: {
          dataset: true,
          splits: ['small'],
          rows: [0, 1].map((n) => [n, 2 * n]),
          feedback: [1, 1].map((score) => ['correct', score]),
          summaries: [['share', 1]],
          results: { stats: ['correct', 'share'], rows: [0, 1, 2].map((n) => [n, n < 2 ? 1 : 0]) },
        },
        experiments: 2,
        splits: ['base', 'large', 'odd', 'small'],
        versions: 4,
      });
    },
  );
});
