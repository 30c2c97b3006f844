import { inTurns, type JsonWalk } from '#lib/json';
import { runPagePath } from './page-path.js';
import { formatInstant, type Instant } from '#lib/time';
import type { AttachmentLinks } from '../attachment/attachment-urls.js';
import { PAYLOAD_FIELDS, type PayloadField, type RunChildren, type StoredRun } from '#lib/trace-store';

type Row = StoredRun['row'];

/** A run that is answered, with its attachments where a field needs them. */
export interface ReadRun extends StoredRun {
  readonly attachments?: AttachmentLinks | undefined;
}

/**
 * A field of an answer: a value of the row, statistics, something of its attachments, or a payload whose stored bytes, or a
 * part of them, are put in.
 */
export type RunField =
  | { readonly of: (row: Row) => unknown }
  | { readonly stats: 'feedback' }
  | { readonly children: keyof RunChildren }
  | { readonly attached: (attachments: AttachmentLinks) => unknown }
  | { readonly payload: PayloadField; readonly part?: (bytes: Buffer) => JsonWalk<Buffer | undefined> };

/** The fields of a run on one of the wires, in the order in which they are answered. */
export type RunFields = ReadonlyMap<string, RunField>;

export function time(micros: Instant | undefined): string | null {
  return micros === undefined ? null : formatInstant(micros);
}

/** Seconds; null while the run lasts. */
export function latency({ startTime, endTime }: Row): number | null {
  return endTime === undefined ? null : Number(endTime - startTime) / 1e6;
}

const NULL = Buffer.from('null');

/** Payloads that the fields need. */
export function payloadsOf(fields: RunFields): PayloadField[] {
  const wanted = new Set([...fields.values()].map((field) => 'payload' in field && field.payload));
  return PAYLOAD_FIELDS.filter((name) => wanted.has(name));
}

/** True when one of the fields is made of feedback. */
export function hasFeedback(fields: RunFields): boolean {
  return [...fields.values()].some((field) => 'stats' in field);
}

/** True when ids of the runs below are answered. */
export function hasChildren(fields: RunFields): boolean {
  return [...fields.values()].some((field) => 'children' in field);
}

const TOTALS = ['total', 'prompt', 'completion'].flatMap((kind) => [`${kind}_tokens`, `${kind}_cost`]);

/** True when tokens or costs are answered: those of parents are sums. */
export function hasTotals(fields: RunFields): boolean {
  return TOTALS.some((name) => fields.has(name));
}

/** Text that is printed before the value of each field. */
interface PrintedField {
  readonly head: string;
  readonly field: RunField;
}

const printed = new WeakMap<RunFields, readonly PrintedField[]>();

/** Names are quoted once for all runs of all answers with these fields. */
function printedFields(fields: RunFields): readonly PrintedField[] {
  const found = printed.get(fields);
  if (found) return found;
  const made = [...fields].map(([name, field], at) => ({
    head: `${at === 0 ? '{' : ','}${JSON.stringify(name)}:`,
    field,
  }));
  printed.set(fields, made);
  return made;
}

/** A run on the wire. Payloads are put in as the bytes that are stored, whose JSON was checked when it came. */
export async function renderRun(run: ReadRun, fields: RunFields): Promise<Buffer> {
  const parts: Buffer[] = [];
  await printRun(run, fields, parts);
  return Buffer.concat(parts);
}

/** Adds the bytes of a run to `parts`, payloads without a copy: they are copied once, when the parts become the answer. */
export async function printRun(run: ReadRun, fields: RunFields, parts: Buffer[]): Promise<void> {
  const { row, payloads, feedbackStats, attachments, children } = run;
  let text = fields.size === 0 ? '{' : '';
  for (const { head, field } of printedFields(fields)) {
    text += head;
    if ('of' in field) text += printedValue(field.of(row));
    else if ('payload' in field) {
      const bytes = payloads[field.payload];
      if (!bytes) text += 'null';
      else if (field.payload === 'error') text += JSON.stringify(bytes.toString());
      else {
        // a part is looked for with turns for others
        parts.push(Buffer.from(text), field.part ? ((await inTurns(field.part(bytes))) ?? NULL) : bytes);
        text = '';
      }
    } else if ('children' in field) text += JSON.stringify(children?.[field.children] ?? null);
    else if ('stats' in field) text += feedbackStats ?? 'null';
    else text += JSON.stringify(attachments?.size ? field.attached(attachments) : null);
  }
  parts.push(Buffer.from(`${text}}`));
}

/** Value as JSON; most fields of most runs are empty. */
function printedValue(value: unknown): string {
  return value === null || value === undefined ? 'null' : JSON.stringify(value);
}

/** Links in the form that both clients read. */
function s3Urls(attachments: AttachmentLinks): object {
  return Object.fromEntries([...attachments].map(([name, url]) => [`attachment.${name}`, url]));
}

/** True when a run represents the root of its trace because its parent was not received in the project. */
export function isParentMissing({ isRoot, parentRunId }: StoredRun['row']): boolean {
  return isRoot && parentRunId !== undefined;
}

/**
 * Fields of the first API: `RunSchema` of the LangSmith interface. Fields that are always null have no value
 * here yet.
 */
export const RUN_FIELDS: RunFields = new Map<string, RunField>([
  ['id', { of: (row) => row.id }],
  ['name', { of: (row) => row.name }],
  ['run_type', { of: (row) => row.runType }],
  ['status', { of: (row) => row.status }],
  ['trace_id', { of: (row) => row.traceId }],
  ['session_id', { of: (row) => row.projectId }],
  ['dotted_order', { of: (row) => row.dottedOrder }],
  ['parent_run_id', { of: (row) => row.parentRunId }],
  ['parent_run_ids', { of: (row) => row.parentRunIds }],
  ['parent_missing', { of: isParentMissing }],
  ['child_run_ids', { children: 'all' }],
  ['direct_child_run_ids', { children: 'direct' }],
  ['start_time', { of: (row) => time(row.startTime) }],
  ['end_time', { of: (row) => time(row.endTime) }],
  ['latency', { of: latency }],
  ['first_token_time', { of: (row) => time(row.firstTokenTime) }],
  ['error', { payload: 'error' }],
  ['tags', { of: (row) => row.tags }],
  ['total_tokens', { of: (row) => row.totalTokens ?? 0 }],
  ['prompt_tokens', { of: (row) => row.promptTokens ?? 0 }],
  ['completion_tokens', { of: (row) => row.completionTokens ?? 0 }],
  ['total_cost', { of: (row) => row.totalCost }],
  ['prompt_cost', { of: (row) => row.promptCost }],
  ['completion_cost', { of: (row) => row.completionCost }],
  ['prompt_token_details', { of: (row) => row.usageDetails?.promptTokens }],
  ['completion_token_details', { of: (row) => row.usageDetails?.completionTokens }],
  ['prompt_cost_details', { of: (row) => row.usageDetails?.promptCosts }],
  ['completion_cost_details', { of: (row) => row.usageDetails?.completionCosts }],
  ['price_model_id', { of: (row) => row.priceId }],
  ['feedback_stats', { stats: 'feedback' }],
  ['reference_example_id', { of: (row) => row.referenceExampleId }],
  ['trace_tier', { of: (row) => row.traceTier || 'longlived' }],
  ['thread_id', { of: (row) => row.threadId }],
  ['execution_order', { of: () => 1 }],
  ['in_dataset', { of: () => false }],
  ['share_token', { of: () => null }],
  ['manifest_id', { of: () => null }],
  ['app_path', { of: runPagePath }],
  ['inputs', { payload: 'inputs' }],
  ['outputs', { payload: 'outputs' }],
  ['extra', { payload: 'extra' }],
  ['events', { payload: 'events' }],
  ['serialized', { payload: 'serialized' }],
  ['s3_urls', { attached: s3Urls }],
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
