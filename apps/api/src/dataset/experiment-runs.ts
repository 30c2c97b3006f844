import type { Place } from '#lib/admission';
import type { Caller } from '#lib/auth';
import { PublicError } from '#lib/errors';
import { isJsonObject, parseJson } from '#lib/json';
import { parseInstant } from '#lib/time';
import type { AsOf, ExampleRow, Project, TraceStore } from '#lib/trace-store';
import type { AttachmentUrls } from '../attachment/attachment-urls.js';
import { renderCursor, withAttachments } from '../trace/all-runs.js';
import { renderRun, type RunFields } from '../trace/render-run.js';
import type { RunSearches } from '../trace/run-searches.js';
import { requireUuids } from './dataset-requests.js';
import type { ExampleLists } from './example-lists.js';
import { selectedFields } from './example.js';
import { wrongField } from '../wire/request-pipe.js';

/** Examples whose runs are held at a time. */
const EXAMPLES_AT_ONCE = 20;
const RUNS_OF_PAGE = 100;
/** Maximum number of filters per experiment. */
const MOST_FILTERS = 20;

/** Contents of a request. */
export interface AskedExperiments {
  readonly ids: readonly string[];
  /** Name of the ids' field in the request. */
  readonly idsField: 'session_ids' | 'experiment_ids';
  readonly exampleIds?: readonly string[] | undefined;
  readonly filters: object | null | undefined;
  readonly comparative: string | null | undefined;
  readonly limit: number;
  readonly offset: number;
}

/** Examples and experiments of an answer. */
interface FoundExperiments {
  readonly rows: readonly ExampleRow[];
  /** True when more examples follow. */
  readonly isMore: boolean;
  readonly experiments: readonly { readonly id: string; readonly filter: string | undefined }[];
}

export interface ExperimentReader {
  readonly caller: Caller;
  readonly origin: string;
  readonly account: Place;
}

/** Examples of a dataset, each with the runs of experiments on it. */
export class ExperimentRuns {
  constructor(
    private readonly store: Pick<TraceStore, 'examples' | 'projects'>,
    private readonly lists: ExampleLists,
    private readonly searches: RunSearches,
    private readonly urls: AttachmentUrls,
  ) {}

  /** A page of examples, as they were in the version that the first experiment ran on. @throws PublicError */
  async find(tenantId: string, datasetId: string, asked: AskedExperiments): Promise<FoundExperiments> {
    const { idsField, exampleIds, limit } = asked;
    requireUuids(['body', idsField], asked.ids);
    requireUuids(['body', 'example_ids'], exampleIds);
    if (asked.comparative)
      throw wrongField(
        ['body', 'comparative_experiment_id'],
        'comparisons of experiments are not supported; leave it out',
      );
    const ids = [...new Set(asked.ids.map((id) => id.toLowerCase()))];
    const filters = filtersOf(asked.filters, ids, idsField);
    const found = await Promise.all(ids.map((id) => this.store.projects.find(tenantId, { id })));
    const missing = ids.find((_id, at) => found[at]?.referenceDatasetId !== datasetId);
    if (missing !== undefined)
      throw new PublicError(
        'not_found',
        `Session with ID ${missing} not found among the experiments of the dataset`,
      );
    const rows = await this.store.examples.search(tenantId, {
      datasetId,
      ids: exampleIds,
      asOf: versionOf(found[0]),
      limit: limit + 1,
      offset: asked.offset,
    });
    return {
      rows: rows.slice(0, limit),
      isMore: rows.length > limit,
      experiments: ids.map((id) => ({ id, filter: filters.get(id) })),
    };
  }

  /** The examples in their order, some at a time. */
  async *pieces(
    reader: ExperimentReader,
    { rows, experiments }: FoundExperiments,
    runFields: RunFields,
  ): AsyncGenerator<readonly Buffer[], void, void> {
    const fields = selectedFields(undefined, false);
    for (let from = 0; from < rows.length; from += EXAMPLES_AT_ONCE) {
      const some = rows.slice(from, from + EXAMPLES_AT_ONCE);
      let at = 0;
      for await (const examples of this.lists.pieces(reader, { rows: some, fields })) {
        const ids = some.slice(at, at + examples.length).map(({ id }) => id);
        const runs = await this.#runsOf(reader, ids, experiments, runFields);
        yield examples.map((example, n) =>
          Buffer.concat([
            example.subarray(0, -1),
            Buffer.from(',"runs":['),
            ...(runs.get(ids[n] ?? '') ?? []).flatMap((run, place) => (place === 0 ? [run] : [COMMA, run])),
            Buffer.from(']}'),
          ]),
        );
        at += examples.length;
      }
    }
  }

  /** Rendered, by the id of their example. */
  async #runsOf(
    { caller, origin, account }: ExperimentReader,
    exampleIds: readonly string[],
    experiments: FoundExperiments['experiments'],
    fields: RunFields,
  ): Promise<ReadonlyMap<string, readonly Buffer[]>> {
    const byExample = new Map<string, Buffer[]>();
    for (const { id, filter } of experiments) {
      let cursor: string | undefined;
      do {
        const page = await this.searches.page(
          caller,
          {
            projectIds: [id],
            referenceExampleIds: exampleIds,
            isRoot: true,
            isAscending: true,
            fields,
            limit: RUNS_OF_PAGE,
            cursor,
            filters: { filter },
          },
          account.hold,
        );
        const runs = await withAttachments(
          this.urls,
          { caller, origin, hold: account.hold },
          page.runs,
          fields,
        );
        for (const run of runs) {
          const example = run.row.referenceExampleId ?? '';
          const others = byExample.get(example);
          const text = await renderRun(run, fields);
          if (others) others.push(text);
          else byExample.set(example, [text]);
        }
        cursor = page.next && renderCursor(page.next);
      } while (cursor !== undefined);
    }
    return byExample;
  }
}

const COMMA = Buffer.from(',');

/** The clients note the version when they begin; others are read as they are now. */
function versionOf(experiment: Project | undefined): AsOf | undefined {
  const extra: unknown = experiment?.extra === undefined ? undefined : parseJson(experiment.extra);
  const metadata = isJsonObject(extra) ? extra['metadata'] : undefined;
  const version = isJsonObject(metadata) ? metadata['dataset_version'] : undefined;
  const time = typeof version === 'string' ? parseInstant(version, { zone: 'optional' }) : undefined;
  return time === undefined ? undefined : { kind: 'time', time };
}

/** One filter for each experiment that has some. @throws PublicError invalid */
function filtersOf(
  given: object | null | undefined,
  experiments: readonly string[],
  idsField: AskedExperiments['idsField'],
): ReadonlyMap<string, string> {
  const filters = new Map<string, string>();
  for (const [id, list] of Object.entries((given ?? {}) as Readonly<Record<string, unknown>>)) {
    if (!experiments.includes(id.toLowerCase()))
      throw wrongField(['body', 'filters'], `Keys should be among ${idsField}`);
    if (list === null) continue;
    const isRight =
      Array.isArray(list) && list.length <= MOST_FILTERS && list.every((one) => typeof one === 'string');
    if (!isRight)
      throw wrongField(['body', 'filters'], `Values should be lists of at most ${MOST_FILTERS} filters`);
    const some = list as readonly string[];
    if (some.length > 0)
      filters.set(id.toLowerCase(), some.length === 1 ? (some[0] ?? '') : `and(${some.join(', ')})`);
  }
  return filters;
}
