/** Answers of the evals of the OpenAI platform, in the shapes of `openai` (PyPI, `openai.types.evals`). */

const EVAL = {
  id: 'eval_1',
  object: 'eval',
  name: 'tickets',
  created_at: 1_780_000_000,
  metadata: { team: 'support' },
  data_source_config: { type: 'custom', schema: {} },
  testing_criteria: [
    { type: 'string_check', name: 'label', operation: 'eq', input: '{{sample.output_text}}' },
  ],
};

const run = (id: string, total: number): object => ({
  id,
  object: 'eval.run',
  eval_id: 'eval_1',
  name: 'trial',
  model: 'gpt',
  created_at: 1_780_000_100,
  status: 'completed',
  metadata: {},
  per_model_usage: [],
  per_testing_criteria_results: [],
  result_counts: { total, passed: total, failed: 0, errored: 0 },
});

const item = (id: string, runId: string, question: string, passed: boolean): object => ({
  id,
  object: 'eval.run.output_item',
  eval_id: 'eval_1',
  run_id: runId,
  created_at: 1_780_000_200,
  datasource_item_id: 0,
  datasource_item: { question },
  status: passed ? 'pass' : 'fail',
  results: [{ name: 'label', type: 'string-check-grader', passed, score: passed ? 1 : 0 }],
  sample: {
    input: [{ role: 'user', content: question }],
    output: [{ role: 'assistant', content: 'hardware' }],
    usage: { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9, cached_tokens: 0 },
    error: passed ? null : { code: 'server_error', message: 'the model failed' },
    ...{
      model: 'gpt',
      finish_reason: 'stop',
      temperature: 1,
      top_p: 1,
      seed: 42,
      max_completion_tokens: 100,
    },
  },
});

const ITEMS: Readonly<Record<string, readonly { readonly id: string }[]>> = {
  evalrun_1: [item('item_1', 'evalrun_1', 'screen', true), item('item_2', 'evalrun_1', 'mouse', false)] as {
    id: string;
  }[],
  // the same question in another run is the same example
  evalrun_2: [item('item_3', 'evalrun_2', 'screen', true)] as { id: string }[],
};

/** Pages have one item. Undefined for a path that it does not have. */
export function openAiAnswer(path: string, query: URLSearchParams): object | undefined {
  if (path === '/evals') return { object: 'list', data: [EVAL], has_more: false };
  if (path === '/evals/eval_1/runs')
    return { object: 'list', data: [run('evalrun_1', 2), run('evalrun_2', 1)], has_more: false };
  const items = ITEMS[/^\/evals\/eval_1\/runs\/(\w+)\/output_items$/.exec(path)?.[1] ?? ''];
  if (!items) return undefined;
  const at = items.findIndex(({ id }) => id === query.get('after')) + 1;
  return { object: 'list', data: items.slice(at, at + 1), has_more: at + 1 < items.length };
}
