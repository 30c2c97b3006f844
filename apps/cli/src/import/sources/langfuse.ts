import { isJsonObject, type JsonObject, listAt, numberAt, own, recordAt, textAt, textsAt } from '#lib/json';
import { type ItemPage, itemsOf, PageSize } from '../pages.js';
import {
  asObject,
  countLists,
  type Example,
  type ExamplePage,
  given,
  idOf,
  isChosen,
  type LeftBehind,
  picked,
  runIdOf,
  type RunPage,
  type Source,
  type SourceDataset,
  type SourceOptions,
  type SourceProject,
} from '../source.js';

const PAGE = 100;
/** Groups of fields of an observation. */
const FIELDS = 'core,basic,time,io,metadata,model,usage,prompt,trace_context';
/** Types of observations that are more than a step. */
const TYPES: Readonly<Record<string, string>> = {
  GENERATION: 'llm',
  EMBEDDING: 'embedding',
  TOOL: 'tool',
  RETRIEVER: 'retriever',
};
const SOURCES: Readonly<Record<string, string>> = { ANNOTATION: 'app', EVAL: 'model', API: 'api' };
/** Fields of an observation that become metadata of its run. */
const METADATA = [
  'version',
  'release',
  'environment',
  'level',
  'promptName',
  'promptVersion',
  'modelParameters',
];
const LISTS = [
  ['prompts', '/api/public/v2/prompts', 'keep them in your code, or push them with the LangSmith client'],
  ['score configurations', '/api/public/score-configs', 'set them by createFeedbackConfig'],
  ['annotation queues', '/api/public/annotation-queues', 'their scores are moved with the runs'],
  ['comments', '/api/public/comments', 'write them as feedback'],
  ['experiments', '/api/public/experiments', 'their traces are moved; run evaluate() again'],
] as const;
/** Length at which the interface cuts values of metadata that are not asked for by name. */
const CUT_CHARS = 200;
/** Cursor behind the last observation: scores follow. */
const SCORES = 'scores';

/** Langfuse 4 by its public interface, whose keys belong to one project: observations become spans, scores feedback. */
export class Langfuse implements Source {
  readonly product = 'langfuse';
  readonly #options: SourceOptions;
  readonly #size = new PageSize();
  #scoresElsewhere = 0;

  constructor(options: SourceOptions) {
    this.#options = options;
  }

  #id(kind: string, id: string): string {
    return idOf(id, 'langfuse', this.#options.from, kind);
  }

  async *projects(): AsyncIterable<SourceProject> {
    const { rest } = this.#options;
    for (const project of listAt(await rest.request('GET', '/api/public/projects'), 'data')) {
      const [ref, name] = [textAt(project, ['id']), textAt(project, ['name'])];
      if (!isChosen(this.#options, ref, name)) continue;
      const extra = { metadata: { ...recordAt(project, 'metadata'), langfuse_id: ref } };
      yield { ref, body: { id: this.#id('project', ref), name, extra }, total: undefined };
    }
  }

  async runs({ body }: SourceProject, cursor: string | undefined): Promise<RunPage> {
    if (cursor?.startsWith(SCORES)) return await this.#scores(body.id, cursor.slice(SCORES.length));
    const { since, until } = this.#options;
    const query = given({ fromStartTime: since, toStartTime: until, cursor, fields: FIELDS });
    let answer = await this.#observations(query);
    const cut = listAt(answer, 'data').flatMap((one) => cutNames(recordAt(one, 'metadata')));
    if (cut.length > 0)
      answer = await this.#observations({ ...query, expandMetadata: [...new Set(cut)].join(',') });
    return {
      spans: listAt(answer, 'data').map((one) => this.#span(one as JsonObject, body.id)),
      feedback: [],
      next: textAt(answer, ['meta', 'cursor']) || SCORES,
    };
  }

  async #scores(projectId: string, cursor: string): Promise<RunPage> {
    const { since, until, rest } = this.#options;
    const query = given({ fromTimestamp: since, toTimestamp: until, cursor: cursor || undefined });
    const words = new URLSearchParams({
      ...(query as Record<string, string>),
      fields: 'details,subject',
      limit: String(PAGE),
    });
    const answer = await rest.request('GET', `/api/public/v3/scores?${words}`);
    const feedback = listAt(answer, 'data').map((one) => this.#feedback(one as JsonObject, projectId));
    const kept = feedback.filter((one) => one !== undefined);
    this.#scoresElsewhere += feedback.length - kept.length;
    const next = textAt(answer, ['meta', 'cursor']);
    return { feedback: kept, next: next === '' ? undefined : `${SCORES}${next}` };
  }

  /** Undefined for a score of a session or an experiment. */
  #feedback(score: JsonObject, projectId: string): JsonObject | undefined {
    const [kind, subject] = [textAt(score, ['subject', 'kind']), textAt(score, ['subject', 'id'])];
    if (kind !== 'trace' && kind !== 'observation') return undefined;
    const [id, value] = [textAt(score, ['id']), own(score, 'value')];
    const type = textAt(score, ['dataType']);
    return given({
      id: this.#id('score', id),
      // the id of a trace stands for its root
      run_id: runIdOf(kind === 'trace' ? this.#traceId(subject) : this.#spanId(subject)),
      session_id: projectId,
      key: textAt(score, ['name']),
      ...(type === 'CORRECTION'
        ? { correction: asObject(value, 'output') }
        : typeof value === 'string'
          ? { value }
          : { score: typeof value === 'boolean' ? Number(value) : value }),
      comment: own(score, 'comment'),
      created_at: own(score, 'timestamp'),
      feedback_source: {
        type: SOURCES[textAt(score, ['source'])] ?? 'api',
        metadata: recordAt(score, 'metadata'),
      },
      extra: { langfuse_id: id },
    });
  }

  async #observations(query: JsonObject): Promise<unknown> {
    return await this.#size.ask(async (limit) => {
      const words = new URLSearchParams({ ...(query as Record<string, string>), limit: String(limit) });
      return await this.#options.rest.request('GET', `/api/public/v2/observations?${words}`);
    });
  }

  /** An observation in the JSON of OTLP. */
  #span(found: JsonObject, projectId: string): JsonObject {
    const [id, parent] = [textAt(found, ['id']), textAt(found, ['parentObservationId'])];
    const type = TYPES[textAt(found, ['type'])] ?? 'chain';
    const usage = usageOf(found);
    const start = nanosOf(own(found, 'startTime'));
    const first = own(found, 'completionStartTime');
    const attributes = given({
      'langsmith.trace.session_id': projectId,
      'langsmith.span.kind': type,
      'langsmith.span.tags': textsAt(found, 'tags').join(',') || undefined,
      'langsmith.usage_metadata': usage && JSON.stringify(usage),
      'gen_ai.request.model': own(found, 'model') ?? own(found, 'providedModelName'),
      'gen_ai.prompt': jsonText(own(found, 'input')),
      'gen_ai.completion': jsonText(own(found, 'output')),
      'session.id': own(found, 'sessionId'),
      'user.id': own(found, 'userId'),
      ...metadataOf(found),
    });
    return given({
      traceId: this.#traceId(textAt(found, ['traceId'])),
      spanId: this.#spanId(id),
      parentSpanId: parent === '' ? undefined : this.#spanId(parent),
      name: textAt(found, ['name']) || textAt(found, ['type']).toLowerCase(),
      startTimeUnixNano: start,
      endTimeUnixNano: nanosOf(own(found, 'endTime')) ?? start,
      attributes: Object.entries(attributes).map(([key, value]) => ({ key, value: anyValue(value) })),
      events:
        typeof first === 'string'
          ? [{ name: 'gen_ai.content.completion.chunk', timeUnixNano: nanosOf(first) }]
          : undefined,
      status:
        own(found, 'level') === 'ERROR'
          ? { code: 2, message: textAt(found, ['statusMessage']) || 'error' }
          : undefined,
    });
  }

  async *datasets(): AsyncIterable<SourceDataset> {
    if (this.#options.projects.length > 0) return;
    for await (const dataset of itemsOf((cursor) => this.#page('/api/public/v2/datasets?', cursor))) {
      const [id, ref] = [textAt(dataset, ['id']), textAt(dataset, ['name'])];
      const extra = { metadata: { ...asObject(dataset['metadata'], 'metadata'), langfuse_id: id } };
      const description = textAt(dataset, ['description']);
      yield { ref, body: { id: this.#id('dataset', id), name: ref, description, extra } };
    }
  }

  async examples({ ref }: SourceDataset, cursor: string | undefined): Promise<ExamplePage> {
    const query = new URLSearchParams({ datasetName: ref });
    const { items, next } = await this.#page(`/api/public/dataset-items?${query}&`, cursor);
    const kept = items.filter((item) => item['status'] !== 'ARCHIVED');
    return { examples: kept.map((item) => this.#example(item)), next };
  }

  async #page(path: string, cursor = '1'): Promise<ItemPage> {
    const answer = await this.#options.rest.request('GET', `${path}page=${cursor}&limit=${PAGE}`);
    const isMore = Number(cursor) < numberAt(answer, ['meta', 'totalPages']);
    return {
      items: listAt(answer, 'data') as readonly JsonObject[],
      next: isMore ? String(Number(cursor) + 1) : undefined,
    };
  }

  #example(item: JsonObject): Example {
    const id = textAt(item, ['id']);
    const [observation, trace] = [textAt(item, ['sourceObservationId']), textAt(item, ['sourceTraceId'])];
    const expected = own(item, 'expectedOutput');
    const source = observation ? this.#spanId(observation) : trace && this.#traceId(trace);
    return {
      id: this.#id('item', id),
      inputs: asObject(own(item, 'input'), 'input'),
      outputs: expected === null || expected === undefined ? undefined : asObject(expected, 'output'),
      metadata: { ...asObject(own(item, 'metadata'), 'metadata'), langfuse_id: id },
      split: [],
      created_at: textAt(item, ['createdAt']) || undefined,
      source_run_id: source ? runIdOf(source) : undefined,
    };
  }

  async leftBehind(): Promise<readonly LeftBehind[]> {
    const left = await countLists(LISTS, (path) => this.#count(path));
    const note = 'feedback belongs to runs';
    return [...left, { kind: 'scores of sessions and experiments', count: this.#scoresElsewhere, note }];
  }

  async #count(path: string): Promise<number> {
    let count = 0;
    for (let cursor = '', isMore = true; isMore; isMore = cursor !== '') {
      const query = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const answer = await this.#options.rest.request('GET', `${path}?limit=50${query}`);
      const total = numberAt(answer, ['meta', 'totalItems'], -1);
      if (total >= 0) return total;
      count += listAt(answer, 'data').length;
      cursor = textAt(answer, ['meta', 'cursor']);
    }
    return count;
  }

  /** 32 hexadecimal digits. */
  #traceId(id: string): string {
    return /^[0-9a-f]{32}$/.test(id) ? id : this.#id('trace', id).replaceAll('-', '');
  }

  /** 16 hexadecimal digits. */
  #spanId(id: string): string {
    return /^[0-9a-f]{16}$/.test(id) ? id : this.#id('observation', id).replaceAll('-', '').slice(0, 16);
  }
}

function nanosOf(time: unknown): string | undefined {
  const ms = typeof time === 'string' ? Date.parse(time) : Number.NaN;
  return Number.isNaN(ms) ? undefined : `${ms}000000`;
}

function jsonText(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Names of metadata that the interface may have cut. */
function cutNames(metadata: JsonObject): readonly string[] {
  return Object.keys(metadata).filter(
    (name) => !name.includes(',') && (jsonText(metadata[name])?.length ?? 0) >= CUT_CHARS,
  );
}

/** Tokens and costs as they are given there: costs are not counted anew. */
function usageOf(found: JsonObject): JsonObject | undefined {
  const [units, costs] = [recordAt(found, 'usageDetails'), recordAt(found, 'costDetails')];
  if (Object.keys(units).length === 0 && Object.keys(costs).length === 0) return undefined;
  const detailsOf = (side: string): JsonObject =>
    Object.fromEntries(
      Object.entries(units)
        .filter(([name]) => name.startsWith(`${side}_`))
        .map(([name, count]) => [name.slice(side.length + 1).replace(/_tokens$/, ''), count]),
    );
  return given({
    input_tokens: own(units, 'input'),
    output_tokens: own(units, 'output'),
    total_tokens: own(units, 'total'),
    input_token_details: detailsOf('input'),
    output_token_details: detailsOf('output'),
    input_cost: own(costs, 'input'),
    output_cost: own(costs, 'output'),
    total_cost: own(costs, 'total') ?? own(found, 'totalCost'),
  });
}

function metadataOf(found: JsonObject): JsonObject {
  const own = {
    ...asObject(found['metadata'], 'metadata'),
    ...picked(found, METADATA),
    langfuse_id: found['id'],
    langfuse_trace_id: found['traceId'],
  };
  return Object.fromEntries(
    Object.entries(own).map(([name, value]) => [`langsmith.metadata.${name}`, value]),
  );
}

/** A value as an attribute of OTLP has it. */
function anyValue(value: unknown): JsonObject {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'bigint') return { intValue: String(value) };
  if (typeof value === 'number')
    return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValue) } };
  if (!isJsonObject(value)) return {};
  const values = Object.entries(value).map(([key, member]) => ({ key, value: anyValue(member) }));
  return { kvlistValue: { values } };
}
