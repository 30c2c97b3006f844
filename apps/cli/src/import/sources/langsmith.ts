import { at, type JsonObject, listAt, numberAt, own, recordAt, textAt } from '#lib/json';
import { unless } from '#lib/errors';
import { countOf, type ItemPage, itemsOf, PageSize } from '../pages.js';
import {
  asObject,
  type Attachment,
  countLists,
  type Example,
  type ExamplePage,
  given,
  isChosen,
  isMissing,
  type LeftBehind,
  picked,
  type RunPage,
  type Source,
  type SourceDataset,
  type SourceOptions,
  type SourceProject,
} from '../source.js';

const PAGE = 100;
/** Fields of a run that are moved, and those that say what else it has. */
const SELECT = [
  ...['id', 'name', 'run_type', 'trace_id', 'parent_run_id', 'dotted_order', 'start_time', 'end_time'],
  ...['inputs', 'outputs', 'error', 'events', 'extra', 'serialized', 'tags', 'reference_example_id'],
  ...['total_tokens', 'prompt_tokens', 'completion_tokens', 'total_cost', 'prompt_cost', 'completion_cost'],
  ...['first_token_time', 'trace_tier', 'feedback_stats', 'direct_child_run_ids'],
  ...['inputs_s3_urls', 'outputs_s3_urls', 's3_urls'],
];
/** Fields with which runs are only counted. */
const COUNTED = ['id', 'feedback_stats', 's3_urls'];
const KEPT = SELECT.slice(0, SELECT.indexOf('total_tokens'));
const SUMS = SELECT.slice(KEPT.length, SELECT.indexOf('first_token_time'));

/** Lists that have no place here, by the route that counts them. */
const LISTS: readonly (readonly [kind: string, path: string, note: string])[] = [
  ['prompts', '/repos?is_archived=false', 'keep them in your code, or in files'],
  ['annotation queues', '/annotation-queues?', 'their feedback is moved with its runs'],
  ['rules', '/runs/rules?', 'automations and online evaluators run in your code'],
  ['charts', '/charts?', 'see the metrics of the platform'],
  ['feedback configurations', '/feedback-configs?', 'set them by createFeedbackConfig'],
];

export interface LangSmithOptions extends Omit<SourceOptions, 'from'> {
  /** Reads payloads that the source keeps elsewhere, by signed addresses. */
  readonly open: (url: string) => Promise<unknown>;
  /** The same of an attachment. */
  readonly openBytes: (url: string) => ReturnType<Attachment['read']>;
  readonly isCountOnly: boolean;
}

/** A server with the REST interface of LangSmith. */
export class LangSmith implements Source {
  readonly product = 'langsmith';
  readonly #options: LangSmithOptions;
  readonly #size = new PageSize();
  /** Datasets on which the chosen projects are experiments. */
  readonly #referenced = new Set<string>();

  constructor(options: LangSmithOptions) {
    this.#options = options;
  }

  async *projects(): AsyncIterable<SourceProject> {
    for await (const project of this.#list('/sessions?')) {
      const [id, name] = [textAt(project, ['id']), textAt(project, ['name'])];
      if (!isChosen(this.#options, id, name)) continue;
      const reference = textAt(project, ['reference_dataset_id']);
      if (reference !== '') this.#referenced.add(reference);
      const body = { ...picked(project, PROJECT), id, name };
      yield { ref: id, body, total: await this.#countRuns(id) };
    }
  }

  /** Undefined where the source does not say. */
  async #countRuns(id: string): Promise<number | undefined> {
    const body = { session: [id], ...this.#window() };
    const stats = await this.#options.rest.request('POST', '/runs/stats', body).catch(unless(isMissing));
    return stats === undefined ? undefined : numberAt(stats, ['run_count']);
  }

  #window(): JsonObject {
    return given({ start_time: this.#options.since, end_time: this.#options.until });
  }

  async runs({ ref, body }: SourceProject, cursor: string | undefined): Promise<RunPage> {
    if (cursor === OF_PROJECT)
      return { feedback: await this.#feedback(`session=${ref}&level=session`, body.id), next: undefined };
    const { isCountOnly, rest } = this.#options;
    const wanted = {
      session: [ref],
      ...this.#window(),
      order: 'asc',
      select: isCountOnly ? COUNTED : SELECT,
      ...(cursor === undefined ? {} : { cursor }),
    };
    const answer = await this.#size.ask((limit) => rest.request('POST', '/runs/query', { ...wanted, limit }));
    const found = listAt(answer, 'runs') as readonly JsonObject[];
    const judged = found.filter((run) => Object.keys(recordAt(run, 'feedback_stats')).length > 0);
    const query = judged.map((run) => `run=${String(run['id'])}`).join('&');
    const runs = isCountOnly ? found : await Promise.all(found.map((run) => this.#run(run, body.id)));
    return {
      runs,
      feedback: judged.length === 0 ? [] : await this.#feedback(query, body.id),
      attachments: found.flatMap((run) => this.#attachments(run)),
      next: textAt(answer, ['cursors', 'next']) || OF_PROJECT,
    };
  }

  async #run(run: JsonObject, projectId: string): Promise<JsonObject> {
    const first = own(run, 'first_token_time');
    const events = listAt(run, 'events');
    const isNoted = typeof first !== 'string' || events.some((event) => at(event, 'name') === 'new_token');
    return given({
      ...picked(run, KEPT),
      inputs: await this.#payload(run, 'inputs'),
      outputs: await this.#payload(run, 'outputs'),
      session_id: projectId,
      trace_tier: own(run, 'trace_tier'),
      ...(isNoted ? {} : { events: [...events, { name: 'new_token', time: first }] }),
      // tokens of all others are sums of their children, which are counted here again
      ...(isCall(run) ? picked(run, SUMS) : {}),
    });
  }

  async #payload(run: JsonObject, name: 'inputs' | 'outputs'): Promise<unknown> {
    const url = textAt(run, [`${name}_s3_urls`, 'ROOT', 'presigned_url']);
    return url === '' ? own(run, name) : await this.#options.open(url);
  }

  #attachments(run: JsonObject): readonly Attachment[] {
    const files = Object.entries(recordAt(run, 's3_urls')).filter(([name]) => name.startsWith(ATTACHMENT));
    return files.map(([name, file]) => ({
      runId: textAt(run, ['id']),
      name: name.slice(ATTACHMENT.length),
      read: () => this.#options.openBytes(textAt(file, ['presigned_url'])),
    }));
  }

  async #feedback(query: string, projectId: string): Promise<readonly JsonObject[]> {
    const found: JsonObject[] = [];
    for await (const one of this.#list(`/feedback?${query}`)) {
      const source = own(one, 'feedback_source');
      found.push({
        ...picked(one, FEEDBACK),
        session_id: projectId,
        ...(source ? { feedback_source: picked(asObject(source, 'type'), SOURCE) } : {}),
      });
    }
    return found;
  }

  async *datasets(): AsyncIterable<SourceDataset> {
    for await (const dataset of this.#list('/datasets?')) {
      const [id, name] = [textAt(dataset, ['id']), textAt(dataset, ['name'])];
      if (this.#options.projects.length > 0 && !this.#referenced.has(id)) continue;
      const extra = given({ metadata: own(dataset, 'metadata') });
      yield { ref: id, body: { ...picked(dataset, DATASET), extra, id, name } };
    }
  }

  async examples({ ref }: SourceDataset, cursor: string | undefined): Promise<ExamplePage> {
    const { items, next } = await this.#page(`/examples?dataset=${ref}`, cursor);
    return { examples: items.map(exampleOf), next };
  }

  async leftBehind(): Promise<readonly LeftBehind[]> {
    return await countLists(LISTS, (path) => countOf(this.#list(path)));
  }

  #list(path: string): AsyncIterable<JsonObject> {
    return itemsOf((cursor) => this.#page(path, cursor));
  }

  /** Items of a list by offset, also of one that is a member of an object. */
  async #page(path: string, cursor = '0'): Promise<ItemPage> {
    const answer = await this.#options.rest.request('GET', `${path}&limit=${PAGE}&offset=${cursor}`);
    const items = Array.isArray(answer) ? answer : (Object.values(answer ?? {}).find(Array.isArray) ?? []);
    const next = items.length < PAGE ? undefined : String(Number(cursor) + items.length);
    return { items: items as readonly JsonObject[], next };
  }
}

const ATTACHMENT = 'attachment.';
/** Cursor behind the last run: feedback of the project itself follows. */
const OF_PROJECT = 'project';
const PROJECT = ['description', 'start_time', 'end_time', 'extra', 'reference_dataset_id', 'trace_tier'];
const DATASET = ['description', 'data_type', 'inputs_schema_definition', 'outputs_schema_definition'];
const FEEDBACK = [
  ...['id', 'run_id', 'trace_id', 'key', 'score', 'value', 'correction', 'comment', 'feedback_config'],
  ...['extra', 'error', 'created_at', 'comparative_experiment_id', 'feedback_group_id'],
];
const SOURCE = ['type', 'metadata', 'user_id', 'user_name'];

/** True for a call of a model whose tokens are its own. */
function isCall(run: JsonObject): boolean {
  return (
    run['run_type'] === 'llm' &&
    listAt(run, 'direct_child_run_ids').length === 0 &&
    numberAt(run, ['total_tokens']) > 0
  );
}

function exampleOf(found: JsonObject): Example {
  const { dataset_split: split, ...metadata } = asObject(own(found, 'metadata'), 'metadata');
  const outputs = own(found, 'outputs');
  return {
    id: textAt(found, ['id']),
    inputs: asObject(own(found, 'inputs'), 'input'),
    outputs: outputs === null || outputs === undefined ? undefined : asObject(outputs, 'output'),
    metadata,
    split: (Array.isArray(split) ? split : [split]).filter((one) => typeof one === 'string'),
    created_at: textAt(found, ['created_at']) || undefined,
    source_run_id: textAt(found, ['source_run_id']) || undefined,
  };
}
