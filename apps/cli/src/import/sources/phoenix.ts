import { at, isJsonObject, type JsonObject, listAt, own, recordAt, textAt } from '#lib/json';
import { countOf, itemsOf } from '../pages.js';
import {
  countLists,
  type Example,
  type ExamplePage,
  given,
  idOf,
  isChosen,
  type LeftBehind,
  runIdOf,
  type RunPage,
  type Source,
  type SourceDataset,
  type SourceOptions,
  type SourceProject,
} from '../source.js';

const PAGE = 100;
/** Annotations of a page of spans; more are asked for again. */
const MOST_ANNOTATIONS = 1_000;

const SOURCES: Readonly<Record<string, string>> = { LLM: 'model', CODE: 'api', HUMAN: 'app' };

const LISTS = [
  ['prompts', '/v1/prompts', 'keep them in your code, or in files'],
  ['annotation configurations', '/v1/annotation_configs', 'set them by createFeedbackConfig'],
] as const;

/** Arize Phoenix by its REST interface: spans come as OTLP, so the rules for spans make the runs. */
export class Phoenix implements Source {
  readonly product = 'phoenix';
  readonly #options: SourceOptions;
  #experiments = 0;

  constructor(options: SourceOptions) {
    this.#options = options;
  }

  #id(kind: string, id: string): string {
    return idOf(id, 'phoenix', this.#options.from, kind);
  }

  async *projects(): AsyncIterable<SourceProject> {
    for await (const project of this.#list('/v1/projects?')) {
      const [ref, name] = [textAt(project, ['id']), textAt(project, ['name'])];
      if (!isChosen(this.#options, ref, name)) continue;
      const extra = { metadata: { phoenix_id: ref } };
      const description = textAt(project, ['description']);
      yield { ref, body: { id: this.#id('project', ref), name, description, extra }, total: undefined };
    }
  }

  async runs({ ref, body }: SourceProject, cursor: string | undefined): Promise<RunPage> {
    const { since, until, rest } = this.#options;
    const query = new URLSearchParams({ limit: String(PAGE) });
    if (since !== undefined) query.set('start_time', since);
    if (until !== undefined) query.set('end_time', until);
    if (cursor !== undefined) query.set('cursor', cursor);
    const answer = await rest.request('GET', `/v1/projects/${ref}/spans/otlpv1?${query}`);
    const found = listAt(answer, 'data');
    const roots = found.filter((span) => textAt(span, ['parent_span_id']) === '');
    const spanIds = found.map((span) => textAt(span, ['span_id']));
    const rootOf = new Map(roots.map((span) => [textAt(span, ['trace_id']), textAt(span, ['span_id'])]));
    const place = `/v1/projects/${ref}`;
    const ofSpans = await this.#annotations(`${place}/span_annotations`, 'span_id', spanIds);
    const ofTraces = await this.#annotations(`${place}/trace_annotations`, 'trace_id', [...rootOf.keys()]);
    return {
      spans: found.map((span) => spanOf(span, body.id)),
      feedback: [
        ...ofSpans.map((one) => this.#feedback(one, body.id, textAt(one, ['span_id']))),
        ...ofTraces.map((one) => this.#feedback(one, body.id, rootOf.get(textAt(one, ['trace_id'])) ?? '')),
      ],
      next: textAt(answer, ['next_cursor']) || undefined,
    };
  }

  /** @param member `span_id` or `trace_id` */
  async #annotations(path: string, member: string, ids: readonly string[]): Promise<readonly unknown[]> {
    if (ids.length === 0) return [];
    const query = new URLSearchParams(ids.map((id): [string, string] => [`${member}s`, id]));
    const found: unknown[] = [];
    for await (const one of this.#list(`${path}?${query}&`, MOST_ANNOTATIONS)) found.push(one);
    return found;
  }

  #feedback(annotation: unknown, projectId: string, spanId: string): JsonObject {
    const id = textAt(annotation, ['id']);
    const kind = textAt(annotation, ['annotator_kind']);
    return given({
      id: this.#id('annotation', id),
      run_id: runIdOf(spanId),
      session_id: projectId,
      key: textAt(annotation, ['name']),
      score: at(annotation, 'result', 'score'),
      value: at(annotation, 'result', 'label'),
      comment: at(annotation, 'result', 'explanation'),
      created_at: at(annotation, 'created_at'),
      feedback_source: { type: SOURCES[kind] ?? 'api', metadata: recordAt(annotation, 'metadata') },
      extra: given({ phoenix_id: id, identifier: textAt(annotation, ['identifier']) || undefined }),
    });
  }

  async *datasets(): AsyncIterable<SourceDataset> {
    if (this.#options.projects.length > 0) return;
    for await (const dataset of this.#list('/v1/datasets?')) {
      const ref = textAt(dataset, ['id']);
      this.#experiments += await countOf(this.#list(`/v1/datasets/${ref}/experiments?`));
      const extra = { metadata: { ...recordAt(dataset, 'metadata'), phoenix_id: ref } };
      const description = textAt(dataset, ['description']);
      const id = this.#id('dataset', ref);
      yield { ref, body: { id, name: textAt(dataset, ['name']), description, extra } };
    }
  }

  /** Phoenix answers all examples of a dataset at once. */
  async examples({ ref }: SourceDataset): Promise<ExamplePage> {
    const splits = new Map<string, string[]>();
    for await (const { name } of this.#list(`/v1/datasets/${ref}/splits?`))
      for (const { id } of await this.#examples(ref, `?split=${encodeURIComponent(String(name))}`))
        splits.set(String(id), [...(splits.get(String(id)) ?? []), String(name)]);
    const found = await this.#examples(ref, '');
    const examples = found.map((one): Example => {
      const id = textAt(one, ['id']);
      const node = textAt(one, ['node_id'], id);
      const span = textAt(one, ['source', 'span_id']);
      return {
        id: this.#id('example', node),
        inputs: recordAt(one, 'input'),
        outputs: recordAt(one, 'output'),
        metadata: { ...recordAt(one, 'metadata'), phoenix_id: id },
        split: splits.get(id) ?? [],
        created_at: undefined,
        source_run_id: span === '' ? undefined : runIdOf(span),
      };
    });
    return { examples, next: undefined };
  }

  async #examples(ref: string, query: string): Promise<readonly JsonObject[]> {
    const answer = await this.#options.rest.request('GET', `/v1/datasets/${ref}/examples${query}`);
    return listAt(answer, 'data', 'examples') as readonly JsonObject[];
  }

  async leftBehind(): Promise<readonly LeftBehind[]> {
    const left = await countLists(LISTS, (path) => countOf(this.#list(`${path}?`)));
    const note = 'their traces are projects there; run evaluate() again';
    return [...left, { kind: 'experiments', count: this.#experiments, note }];
  }

  /** Items of a list in pages behind cursors. */
  #list(path: string, limit = PAGE): AsyncIterable<JsonObject> {
    return itemsOf(async (cursor) => {
      const query = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const answer = await this.#options.rest.request('GET', `${path}limit=${limit}${query}`);
      const items = listAt(answer, 'data') as readonly JsonObject[];
      return { items, next: textAt(answer, ['next_cursor']) || undefined };
    });
  }
}

/** The span with the names of OTLP's JSON, in the project of this id. */
function spanOf(span: unknown, projectId: string): JsonObject {
  const renamed = inCamelCase(span) as JsonObject;
  const project = { key: 'langsmith.trace.session_id', value: { stringValue: projectId } };
  return { ...renamed, attributes: [...listAt(renamed, 'attributes'), project] };
}

function inCamelCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inCamelCase);
  if (!isJsonObject(value)) return value;
  const members = Object.keys(value).map((name) => {
    const member = own(value, name);
    const isTime = name.endsWith('_unix_nano') && member !== null;
    return [
      name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
      isTime ? wholeMicros(member) : inCamelCase(member),
    ];
  });
  return given(Object.fromEntries(members));
}

/** Phoenix stores microseconds and makes nanoseconds of them as a float, which falls short of them. */
function wholeMicros(nanos: unknown): string {
  return String(((BigInt(String(nanos)) + 500n) / 1_000n) * 1_000n);
}
