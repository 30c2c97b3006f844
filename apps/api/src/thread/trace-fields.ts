import { latency, type RunField, type RunFields, time } from '../trace/render-run.js';
import { SELECTS } from '../trace/run-fields-v2.js';

const withoutValue: RunField = { of: () => null };

/** Fields that the selects of runs have too. */
const COMMON = [
  'THREAD_ID',
  'NAME',
  'START_TIME',
  'END_TIME',
  'INPUTS',
  'OUTPUTS',
  'ERROR',
  'TOTAL_TOKENS',
  'PROMPT_TOKENS',
  'COMPLETION_TOKENS',
  'TOTAL_COST',
  'PROMPT_COST',
  'COMPLETION_COST',
];
const WITHOUT_VALUE = [
  'OP',
  'INPUTS_PREVIEW',
  'OUTPUTS_PREVIEW',
  'ERROR_PREVIEW',
  'PROMPT_TOKEN_DETAILS',
  'COMPLETION_TOKEN_DETAILS',
  'PROMPT_COST_DETAILS',
  'COMPLETION_COST_DETAILS',
];

/** Fields of a trace by the names of `selects`. */
export const TRACE_SELECTS: ReadonlyMap<string, readonly [name: string, RunField]> = new Map<
  string,
  readonly [string, RunField]
>([
  ['TRACE_ID', ['trace_id', { of: (row) => row.traceId }]],
  ...COMMON.flatMap((select): [string, readonly [string, RunField]][] => {
    const field = SELECTS.get(select);
    return field ? [[select, field]] : [];
  }),
  ['LATENCY', ['latency', { of: latency }]],
  ['FIRST_TOKEN_TIME', ['first_token_time', { of: (row) => time(row.firstTokenTime) }]],
  ...WITHOUT_VALUE.map((select): [string, readonly [string, RunField]] => [
    select,
    [select.toLowerCase(), withoutValue],
  ]),
]);

/** `trace_id` and the fields of these selects. */
export function traceFields(selects: readonly string[] | undefined): RunFields {
  return new Map(
    [...TRACE_SELECTS].flatMap(([select, field]) =>
      select === 'TRACE_ID' || selects?.includes(select) ? [field] : [],
    ),
  );
}
