import { at, type JsonObject, listAt, numberAt, own, recordAt, textAt } from '#lib/json';
import { type ItemPage, itemsOf } from '../pages.js';
import {
  type Example,
  type ExamplePage,
  given,
  idOf,
  isChosen,
  type LeftBehind,
  type RunPage,
  type Source,
  type SourceDataset,
  type SourceOptions,
  type SourceProject,
} from '../source.js';

const PAGE = 100;

/**
 * Evals of the OpenAI platform: an eval is a dataset, each of its runs an experiment on it, and each output item a call of
 * a model with the results of the graders as feedback. An example is found by its content: runs number their items anew.
 */
export class OpenAiEvals implements Source {
  readonly product = 'openai-evals';
  readonly #options: SourceOptions;
  /** Ids of runs, by their eval. */
  readonly #runs = new Map<string, string[]>();

  constructor(options: SourceOptions) {
    this.#options = options;
  }

  #id(kind: string, id: string): string {
    return idOf(id, 'openai-evals', this.#options.from, kind);
  }

  async *projects(): AsyncIterable<SourceProject> {
    for await (const found of this.#evals()) {
      const evalId = textAt(found, ['id']);
      const runs: string[] = [];
      for await (const run of this.#list(`/evals/${evalId}/runs`)) {
        if (!this.#isInWindow(run)) continue;
        const ref = textAt(run, ['id']);
        runs.push(ref);
        const body = {
          id: this.#id('run', ref),
          name: `${textAt(run, ['name'])} (${ref})`,
          start_time: timeOf(run),
          end_time: timeOf(run),
          reference_dataset_id: this.#id('eval', evalId),
          extra: {
            metadata: { ...recordAt(run, 'metadata'), openai_id: ref, model: textAt(run, ['model']) },
          },
        };
        yield { ref: `${evalId}/runs/${ref}`, body, total: numberAt(run, ['result_counts', 'total']) };
      }
      this.#runs.set(evalId, runs);
    }
  }

  async *#evals(): AsyncIterable<JsonObject> {
    for await (const found of this.#list('/evals'))
      if (isChosen(this.#options, textAt(found, ['id']), textAt(found, ['name']))) yield found;
  }

  #isInWindow(run: JsonObject): boolean {
    const { since, until } = this.#options;
    const ms = numberAt(run, ['created_at']) * 1_000;
    return ms >= Date.parse(since ?? '1970-01-01') && ms <= Date.parse(until ?? '9999-12-31');
  }

  async runs({ ref, body }: SourceProject, cursor: string | undefined): Promise<RunPage> {
    const { items, next } = await this.#page(`/evals/${ref}/output_items`, cursor);
    return {
      runs: items.map((item) => this.#run(item, body.id)),
      feedback: items.flatMap((item) => this.#feedback(item, body.id)),
      next,
    };
  }

  #run(item: JsonObject, projectId: string): JsonObject {
    const id = this.#id('item', textAt(item, ['id']));
    const sample = recordAt(item, 'sample');
    const time = timeOf(item);
    const stamp = time.replaceAll(/[-:.]/g, '').replace('Z', '000Z');
    return given({
      id,
      trace_id: id,
      dotted_order: `${stamp}${id}`,
      session_id: projectId,
      name: textAt(sample, ['model'], 'sample'),
      run_type: 'llm',
      start_time: time,
      end_time: time,
      inputs: { messages: listAt(sample, 'input') },
      outputs: { messages: listAt(sample, 'output'), finish_reason: own(sample, 'finish_reason') ?? null },
      error: textAt(sample, ['error', 'message']) || undefined,
      reference_example_id: this.#exampleId(item),
      prompt_tokens: own(recordAt(sample, 'usage'), 'prompt_tokens'),
      completion_tokens: own(recordAt(sample, 'usage'), 'completion_tokens'),
      total_tokens: own(recordAt(sample, 'usage'), 'total_tokens'),
      extra: {
        invocation_params: given({
          model: own(sample, 'model'),
          temperature: own(sample, 'temperature'),
          top_p: own(sample, 'top_p'),
          seed: own(sample, 'seed'),
          max_completion_tokens: own(sample, 'max_completion_tokens'),
        }),
        metadata: given({ openai_id: textAt(item, ['id']), ls_model_name: own(sample, 'model') }),
      },
    });
  }

  #feedback(item: JsonObject, projectId: string): readonly JsonObject[] {
    const itemId = textAt(item, ['id']);
    return listAt(item, 'results').map((result, nth) => {
      const key = textAt(result, ['name']);
      return given({
        id: this.#id('result', `${itemId} ${nth} ${key}`),
        run_id: this.#id('item', itemId),
        session_id: projectId,
        key,
        score: at(result, 'score'),
        value: at(result, 'passed') === true ? 'passed' : 'failed',
        created_at: timeOf(item),
        feedback_source: { type: 'api', metadata: { grader: textAt(result, ['type']) } },
      });
    });
  }

  #exampleId(item: JsonObject): string {
    return this.#id(
      'example',
      `${textAt(item, ['eval_id'])} ${JSON.stringify(recordAt(item, 'datasource_item'))}`,
    );
  }

  async *datasets(): AsyncIterable<SourceDataset> {
    for await (const found of this.#evals()) {
      const ref = textAt(found, ['id']);
      const metadata = {
        ...recordAt(found, 'metadata'),
        openai_id: ref,
        testing_criteria: listAt(found, 'testing_criteria'),
      };
      yield {
        ref,
        body: { id: this.#id('eval', ref), name: textAt(found, ['name'], ref), extra: { metadata } },
      };
    }
  }

  /** @param cursor place of a run among those of the eval, and the last item that was read of it */
  async examples({ ref }: SourceDataset, cursor = '0 '): Promise<ExamplePage> {
    const [nth = '0', after] = cursor.split(' ');
    const run = this.#runs.get(ref)?.[Number(nth)];
    if (run === undefined) return { examples: [], next: undefined };
    const { items, next } = await this.#page(`/evals/${ref}/runs/${run}/output_items`, after || undefined);
    const examples = new Map(items.map((item) => [this.#exampleId(item), item]));
    return {
      examples: [...examples].map(([id, item]): Example => ({
        id,
        inputs: recordAt(item, 'datasource_item'),
        outputs: undefined,
        metadata: {},
        split: [],
        created_at: timeOf(item),
        source_run_id: undefined,
      })),
      next: next === undefined ? `${Number(nth) + 1} ` : `${nth} ${next}`,
    };
  }

  leftBehind(): Promise<readonly LeftBehind[]> {
    return Promise.resolve([]);
  }

  #list(path: string): AsyncIterable<JsonObject> {
    return itemsOf((cursor) => this.#page(path, cursor));
  }

  async #page(path: string, after: string | undefined): Promise<ItemPage> {
    const query = new URLSearchParams({
      limit: String(PAGE),
      order: 'asc',
      ...(after === undefined ? {} : { after }),
    });
    const answer = await this.#options.rest.request('GET', `${path}?${query}`);
    const items = listAt(answer, 'data') as readonly JsonObject[];
    const hasMore = at(answer, 'has_more') === true;
    return { items, next: hasMore ? textAt(items.at(-1), ['id']) : undefined };
  }
}

function timeOf(found: JsonObject): string {
  return new Date(numberAt(found, ['created_at']) * 1_000).toISOString();
}
