import { metadataOf } from '#lib/trace-store';
import type { AttachmentLinks } from '../attachment/attachment-urls.js';
import { isParentMissing, latency, RUN_FIELDS, time, type RunField, type RunFields } from './render-run.js';

/** Costs are numbers on this wire. */
function cost(text: string | undefined): number | null {
  return text === undefined ? null : Number(text);
}

type ByKind<T> = Readonly<Record<string, T>> | undefined;

function raw(byKind: ByKind<number>): object | null {
  return byKind ? { raw: byKind } : null;
}

function rawCosts(byKind: ByKind<string>): object | null {
  return raw(
    byKind && Object.fromEntries(Object.entries(byKind).map(([kind, text]) => [kind, Number(text)])),
  );
}

function urlsByName(attachments: AttachmentLinks): object {
  return Object.fromEntries([...attachments].map(([name, url]) => [name, url.presigned_url]));
}

const withoutValue: RunField = { of: () => null };

/**
 * Fields of the second API, by the names of `selects`: status and type are in capitals, costs numbers,
 * latency in seconds.
 */
export const SELECTS: ReadonlyMap<string, readonly [name: string, RunField]> = new Map<
  string,
  readonly [string, RunField]
>([
  ['ID', ['id', { of: (row) => row.id }]],
  ['NAME', ['name', { of: (row) => row.name }]],
  ['RUN_TYPE', ['run_type', { of: (row) => row.runType.toUpperCase() }]],
  ['STATUS', ['status', { of: (row) => row.status.toUpperCase() }]],
  ['START_TIME', ['start_time', { of: (row) => time(row.startTime) }]],
  ['END_TIME', ['end_time', { of: (row) => time(row.endTime) }]],
  ['LATENCY_SECONDS', ['latency_seconds', { of: latency }]],
  ['FIRST_TOKEN_TIME', ['first_token_time', { of: (row) => time(row.firstTokenTime) }]],
  ['ERROR', ['error', { payload: 'error' }]],
  ['EXTRA', ['extra', { payload: 'extra' }]],
  ['METADATA', ['metadata', { payload: 'extra', part: metadataOf }]],
  ['EVENTS', ['events', { payload: 'events' }]],
  ['INPUTS', ['inputs', { payload: 'inputs' }]],
  ['OUTPUTS', ['outputs', { payload: 'outputs' }]],
  ['MANIFEST', ['manifest', { payload: 'serialized' }]],
  ['PARENT_RUN_ID', ['parent_run_id', { of: (row) => row.parentRunId }]],
  ['PARENT_RUN_IDS', ['parent_run_ids', { of: (row) => row.parentRunIds }]],
  ['PROJECT_ID', ['project_id', { of: (row) => row.projectId }]],
  ['TRACE_ID', ['trace_id', { of: (row) => row.traceId }]],
  ['THREAD_ID', ['thread_id', { of: (row) => row.threadId }]],
  ['DOTTED_ORDER', ['dotted_order', { of: (row) => row.dottedOrder }]],
  ['IS_ROOT', ['is_root', { of: (row) => row.isRoot }]],
  ['PARENT_MISSING', ['parent_missing', { of: isParentMissing }]],
  ['REFERENCE_EXAMPLE_ID', ['reference_example_id', { of: (row) => row.referenceExampleId }]],
  ['TOTAL_TOKENS', ['total_tokens', { of: (row) => row.totalTokens ?? 0 }]],
  ['PROMPT_TOKENS', ['prompt_tokens', { of: (row) => row.promptTokens ?? 0 }]],
  ['COMPLETION_TOKENS', ['completion_tokens', { of: (row) => row.completionTokens ?? 0 }]],
  ['TOTAL_COST', ['total_cost', { of: (row) => cost(row.totalCost) }]],
  ['PROMPT_COST', ['prompt_cost', { of: (row) => cost(row.promptCost) }]],
  ['COMPLETION_COST', ['completion_cost', { of: (row) => cost(row.completionCost) }]],
  ['PROMPT_TOKEN_DETAILS', ['prompt_token_details', { of: (row) => raw(row.usageDetails?.promptTokens) }]],
  [
    'COMPLETION_TOKEN_DETAILS',
    ['completion_token_details', { of: (row) => raw(row.usageDetails?.completionTokens) }],
  ],
  ['PROMPT_COST_DETAILS', ['prompt_cost_details', { of: (row) => rawCosts(row.usageDetails?.promptCosts) }]],
  [
    'COMPLETION_COST_DETAILS',
    ['completion_cost_details', { of: (row) => rawCosts(row.usageDetails?.completionCosts) }],
  ],
  ['PRICE_MODEL_ID', ['price_model_id', { of: (row) => row.priceId }]],
  ['TAGS', ['tags', { of: (row) => row.tags }]],
  ['APP_PATH', ['app_path', RUN_FIELDS.get('app_path') ?? withoutValue]],
  ['FEEDBACK_STATS', ['feedback_stats', { stats: 'feedback' }]],
  ['ATTACHMENTS', ['attachments', { attached: urlsByName }]],
  ['IS_IN_DATASET', ['is_in_dataset', { of: () => false }]],
  ...[
    'ERROR_PREVIEW',
    'INPUTS_PREVIEW',
    'OUTPUTS_PREVIEW',
    'REFERENCE_DATASET_ID',
    'THREAD_EVALUATION_TIME',
    'LAST_QUEUED_AT',
    'SHARE_URL',
  ].map((select): [string, [string, RunField]] => [select, [select.toLowerCase(), withoutValue]]),
]);

/** The fields of these selects; `id` alone without any. */
export function fieldsOfSelects(selects: readonly string[] | null | undefined): RunFields {
  const wanted = selects?.length ? selects : ['ID'];
  return new Map([...SELECTS].flatMap(([select, field]) => (wanted.includes(select) ? [field] : [])));
}
