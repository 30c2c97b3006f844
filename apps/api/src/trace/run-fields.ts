import { formatInstant, type Instant } from '#lib/time';
import { metadataOf, type PayloadField, type StoredRun } from '#lib/trace-store';
import type { AttachmentLinks } from '../attachment/attachment-urls.js';
import {
  Answered,
  FLAG,
  JSON_VALUE,
  NUMBER,
  object,
  orNull,
  Perhaps,
  type Shape,
  TEXT,
  textList,
  textMap,
  TIME,
  UUID,
  WHOLE,
  words,
} from '../wire/shape.js';
import { runPagePath } from './page-path.js';
import type { RunField, RunFields } from './render-run.js';
import { UsageSourceAnswer } from './run-answer.js';

type Row = StoredRun['row'];

export function time(micros: Instant | undefined): string | null {
  return micros === undefined ? null : formatInstant(micros);
}

/** Seconds; null while the run lasts. */
export function latency({ startTime, endTime }: Row): number | null {
  return endTime === undefined ? null : Number(endTime - startTime) / 1e6;
}

/** True when a run represents the root of its trace because its parent was not received in the project. */
export function isParentMissing({ isRoot, parentRunId }: StoredRun['row']): boolean {
  return isRoot && parentRunId !== undefined;
}

/** A field as one of the wires has it. */
interface Shown {
  readonly field: RunField;
  readonly shape: Shape;
  readonly about?: string | undefined;
}

/** A field of a run on both wires; without a member a wire does not have it. */
interface FieldRow {
  readonly v1?: Shown;
  /** Its name in capitals is what `selects` has. */
  readonly v2?: Shown & { readonly as?: string };
}

type Value = (row: Row) => unknown;

/** A value that both wires show alike. */
function value(shape: Shape, of: Value, about?: string): FieldRow {
  const shown = { field: { of }, shape, about };
  return { v1: shown, v2: shown };
}

/** A value that the first wire alone has. */
function firstOnly(shape: Shape, of: Value, about?: string): FieldRow {
  return { v1: { field: { of }, shape, about } };
}

/** A decimal: text on the first wire, a number on the second one. */
function cost(of: (row: Row) => string | undefined): FieldRow {
  const asNumber = (text: string | undefined): number | null => (text === undefined ? null : Number(text));
  return {
    v1: { field: { of }, shape: orNull(TEXT), about: 'Decimal' },
    v2: { field: { of: (row) => asNumber(of(row)) }, shape: orNull(NUMBER), about: 'Dollars' },
  };
}

type ByKind<T> = Readonly<Record<string, T>> | undefined;

function tokensByKind(of: (row: Row) => ByKind<number>, about: string, aboutRaw: string): FieldRow {
  const shape = orNull({ type: 'object', additionalProperties: WHOLE });
  const raw: Value = (row) => {
    const byKind = of(row);
    return byKind ? { raw: byKind } : null;
  };
  return {
    v1: { field: { of }, shape, about },
    v2: { field: { of: raw }, shape: JSON_VALUE, about: aboutRaw },
  };
}

function costsByKind(of: (row: Row) => ByKind<string>, about: string, aboutRaw: string): FieldRow {
  const raw: Value = (row) => {
    const byKind = of(row);
    return byKind
      ? { raw: Object.fromEntries(Object.entries(byKind).map(([kind, text]) => [kind, Number(text)])) }
      : null;
  };
  return {
    v1: { field: { of }, shape: orNull(textMap()), about },
    v2: { field: { of: raw }, shape: JSON_VALUE, about: aboutRaw },
  };
}

function payload(name: PayloadField, shape: Shape = JSON_VALUE, as?: string): FieldRow {
  const shown = { field: { payload: name }, shape };
  return { v1: shown, v2: as === undefined ? shown : { ...shown, as } };
}

/** A value that the second wire has under another name. */
function renamed(row: FieldRow, as: string): FieldRow {
  return row.v1 ? { v1: row.v1, v2: { ...row.v1, about: undefined, as } } : row;
}

/** Links in the form that both clients of the first wire read. */
function s3Urls(attachments: AttachmentLinks): object {
  return Object.fromEntries([...attachments].map(([name, url]) => [`attachment.${name}`, url]));
}

function urlsByName(attachments: AttachmentLinks): object {
  return Object.fromEntries([...attachments].map(([name, url]) => [name, url.presigned_url]));
}

const STATUSES = ['pending', 'success', 'error', 'interrupted'];

/**
 * Every field of a run on both wires, in the order of answers, with its shape in the OpenAPI document: a field more is a
 * row more. On the second wire status and type are in capitals, costs numbers, latency in seconds. Fields that are always
 * null have no value here yet.
 */
const FIELDS: Readonly<Record<string, FieldRow>> = {
  id: value(UUID, (row) => row.id),
  name: value(TEXT, (row) => row.name),
  run_type: {
    v1: { field: { of: (row) => row.runType }, shape: TEXT },
    v2: { field: { of: (row) => row.runType.toUpperCase() }, shape: TEXT },
  },
  status: {
    v1: { field: { of: (row) => row.status }, shape: words(STATUSES) },
    v2: { field: { of: (row) => row.status.toUpperCase() }, shape: TEXT },
  },
  trace_id: value(UUID, (row) => row.traceId),
  session_id: renamed(
    firstOnly(UUID, (row) => row.projectId, 'Id of the tracing project'),
    'project_id',
  ),
  dotted_order: value(TEXT, (row) => row.dottedOrder),
  is_root: { v2: { field: { of: (row) => row.isRoot }, shape: FLAG } },
  parent_run_id: value(orNull(UUID), (row) => row.parentRunId),
  parent_run_ids: value(textList('uuid'), (row) => row.parentRunIds, 'From the root down'),
  parent_missing: value(
    FLAG,
    isParentMissing,
    'It stands for the root of its trace: its parent was not received in the project',
  ),
  child_run_ids: { v1: { field: { children: 'all' }, shape: orNull(textList('uuid')) } },
  direct_child_run_ids: { v1: { field: { children: 'direct' }, shape: orNull(textList('uuid')) } },
  start_time: value(TIME, (row) => time(row.startTime)),
  end_time: value(orNull(TIME), (row) => time(row.endTime)),
  latency: renamed(firstOnly(orNull(NUMBER), latency, 'Seconds; null while it lasts'), 'latency_seconds'),
  first_token_time: value(orNull(TIME), (row) => time(row.firstTokenTime)),
  error: payload('error', orNull(TEXT)),
  tags: value(textList(), (row) => row.tags),
  total_tokens: value(WHOLE, (row) => row.totalTokens ?? 0),
  prompt_tokens: value(WHOLE, (row) => row.promptTokens ?? 0),
  completion_tokens: value(WHOLE, (row) => row.completionTokens ?? 0),
  total_cost: cost((row) => row.totalCost),
  prompt_cost: cost((row) => row.promptCost),
  completion_cost: cost((row) => row.completionCost),
  prompt_token_details: tokensByKind(
    (row) => row.usageDetails?.promptTokens,
    'Tokens by kind',
    'Tokens by kind, as raw; null without any',
  ),
  completion_token_details: tokensByKind((row) => row.usageDetails?.completionTokens, 'Likewise', 'Likewise'),
  prompt_cost_details: costsByKind(
    (row) => row.usageDetails?.promptCosts,
    'Decimals by kind of tokens',
    'Dollars by kind, as raw; null without any',
  ),
  completion_cost_details: costsByKind((row) => row.usageDetails?.completionCosts, 'Likewise', 'Likewise'),
  price_model_id: {
    v1: {
      field: { of: (row) => row.priceId },
      shape: orNull(UUID),
      about: 'The row of the price table that its costs are from; null for those that its sender gave',
    },
    v2: {
      field: { of: (row) => row.priceId },
      shape: orNull(UUID),
      about: 'The row of the price table that its costs are from',
    },
  },
  feedback_stats: {
    v1: {
      field: { stats: 'feedback' },
      shape: JSON_VALUE,
      about:
        'By key: n, avg, stdev, min, max and errors; values with the 20 most frequent texts, samples of comments and sources',
    },
    v2: { field: { stats: 'feedback' }, shape: JSON_VALUE, about: 'By key, as on the first wire' },
  },
  reference_example_id: value(orNull(UUID), (row) => row.referenceExampleId),
  trace_tier: firstOnly(orNull(TEXT), (row) => row.traceTier || 'longlived'),
  thread_id: value(orNull(TEXT), (row) => row.threadId),
  execution_order: firstOnly(WHOLE, () => 1),
  in_dataset: renamed(
    firstOnly(FLAG, () => false),
    'is_in_dataset',
  ),
  share_token: firstOnly(orNull(TEXT), () => null),
  manifest_id: firstOnly(orNull(UUID), () => null),
  app_path: value(TEXT, runPagePath),
  inputs: payload('inputs'),
  outputs: payload('outputs'),
  extra: payload('extra'),
  metadata: { v2: { field: { payload: 'extra', part: metadataOf }, shape: JSON_VALUE, about: 'Of extra' } },
  events: payload('events'),
  serialized: payload('serialized', JSON_VALUE, 'manifest'),
  s3_urls: {
    v1: {
      field: { attached: s3Urls },
      shape: JSON_VALUE,
      about:
        'Attachments by attachment.NAME: presigned_url opens without a key for an hour, mime_type; null without any',
    },
    v2: {
      as: 'attachments',
      field: { attached: urlsByName },
      shape: JSON_VALUE,
      about: 'URL of each attachment by its name; null without any',
    },
  },
};

/** The fields on each wire, by their names there. */
const V1 = Object.entries(FIELDS).flatMap(([name, { v1 }]): [string, Shown][] => (v1 ? [[name, v1]] : []));
const V2 = Object.entries(FIELDS).flatMap(([name, { v2 }]): [string, Shown][] =>
  v2 ? [[v2.as ?? name, v2]] : [],
);

function describe(type: new () => object, shown: typeof V1, field: typeof Answered): void {
  for (const [name, { shape, about }] of shown) field(shape, about)(type.prototype as object, name);
}

/** A run on the wire, whole. */
export class RunAnswer {
  @Perhaps(object(() => UsageSourceAnswer), 'With explain_usage') readonly usage_source?: UsageSourceAnswer;
}
describe(RunAnswer, V1, Answered);

/** A run on the wire with the fields that were selected. */
export class SelectedRunAnswer {}
describe(SelectedRunAnswer, V1, Perhaps);

/** A run on the second wire, with the fields that `selects` names. */
export class RunV2Answer {}
describe(RunV2Answer, V2, Perhaps);

/** Fields of the first API: `RunSchema` of the LangSmith interface. */
export const RUN_FIELDS: RunFields = new Map(V1.map(([name, { field }]) => [name, field]));

const WITHOUT_VALUE_V2 = [
  'ERROR_PREVIEW',
  'INPUTS_PREVIEW',
  'OUTPUTS_PREVIEW',
  'REFERENCE_DATASET_ID',
  'THREAD_EVALUATION_TIME',
  'LAST_QUEUED_AT',
  'SHARE_URL',
];

const withoutValue: RunField = { of: () => null };

/** Fields of the second API, by the names of `selects`. */
export const SELECTS: ReadonlyMap<string, readonly [name: string, RunField]> = new Map([
  ...V2.map(([name, { field }]): [string, [string, RunField]] => [name.toUpperCase(), [name, field]]),
  ...WITHOUT_VALUE_V2.map((select): [string, [string, RunField]] => [
    select,
    [select.toLowerCase(), withoutValue],
  ]),
]);

/** Further names that `select` may have: clients ask for these, and here they have no value. */
const WITHOUT_VALUE = [
  'inputs_preview',
  'inputs_s3_urls',
  'last_queued_at',
  'manifest_s3_id',
  'messages',
  'outputs_preview',
  'outputs_s3_urls',
  'reference_dataset_id',
  'trace_first_received_at',
  'trace_max_start_time',
  'trace_min_start_time',
  'trace_upgrade',
  'ttl_seconds',
];

/** Every name that `select` may have. */
export const SELECTABLE: RunFields = new Map([
  ...RUN_FIELDS,
  ...WITHOUT_VALUE.map((name): [string, RunField] => [name, { of: () => null }]),
]);

/** Fields without the source of graphs; its place stays. */
export const SHORT_FIELDS: RunFields = new Map<string, RunField>([
  ...RUN_FIELDS,
  ['serialized', { of: () => null }],
]);

/**
 * Default fields of a list: `serialized` is the source of graphs, which no client shows; ids of children are
 * looked up only when they are named.
 */
const LISTED_FIELDS: RunFields = new Map(
  [...RUN_FIELDS]
    .filter(([name]) => name !== 'serialized')
    .map(([name, field]) => [name, 'children' in field ? { of: () => null } : field]),
);

/**
 * Fields of every run of the first API, also when `select` does not name them: the clients refuse runs
 * without.
 */
const ALWAYS = [
  'id',
  'name',
  'run_type',
  'start_time',
  'trace_id',
  'dotted_order',
  'status',
  'session_id',
  'app_path',
];

/** Fields that a list answers for `select`. */
export function selectedFields(select: readonly string[] | null | undefined): RunFields {
  return select ? selectFields(SELECTABLE, [...ALWAYS, ...select]) : LISTED_FIELDS;
}

/** The fields of these names, in the answer's own order; `all` knows each of them. */
export function selectFields(all: RunFields, names: readonly string[]): RunFields {
  return new Map([...all].filter(([name]) => names.includes(name)));
}

/** The fields of these selects; `id` alone without any. */
export function fieldsOfSelects(selects: readonly string[] | null | undefined): RunFields {
  const wanted = selects?.length ? selects : ['ID'];
  return new Map([...SELECTS].flatMap(([select, field]) => (wanted.includes(select) ? [field] : [])));
}
