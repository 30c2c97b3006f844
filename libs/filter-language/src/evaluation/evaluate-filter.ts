import { compareDecimals, parseDecimal } from '../checking/decimal.js';
import {
  FIELDS,
  type PairField,
  type PairFamily,
  type PairPart,
  type RunField,
  type SearchField,
} from '../fields.js';
import type { Comparison, Filter, Operand, PairCondition } from '../filter.js';
import { jsonSearch } from '../search-forms.js';
import { containsJson } from './contains-json.js';
import type { FilterableFeedback, FilterablePair, FilterableRun } from './filterable-run.js';
import { fitsPattern } from './fits-pattern.js';
import { foldCase } from './fold-case.js';
import { isJsonObject, parseJson } from '#lib/json';

/** Value of a run's field; a number is a double, a decimal its text. */
type Found = string | number | boolean | bigint | undefined;

const VALUE_OF: Readonly<Record<RunField, (run: FilterableRun) => Found>> = {
  id: (run) => run.id,
  trace_id: (run) => run.traceId,
  parent_run_id: (run) => run.parentRunId,
  thread_id: (run) => run.threadId,
  name: (run) => run.name,
  run_type: (run) => run.runType,
  status: (run) => run.status,
  is_root: (run) => run.isRoot,
  start_time: (run) => run.startTime,
  end_time: (run) => run.endTime,
  first_token_time: (run) => run.firstTokenTime,
  latency: (run) => (run.endTime === undefined ? undefined : run.endTime - run.startTime),
  total_tokens: (run) => run.totalTokens?.toString(),
  prompt_tokens: (run) => run.promptTokens?.toString(),
  completion_tokens: (run) => run.completionTokens?.toString(),
  total_cost: (run) => run.totalCost,
  prompt_cost: (run) => run.promptCost,
  completion_cost: (run) => run.completionCost,
  execution_order: () => '1',
  error: (run) => run.error,
};

const TEXTS_OF: Readonly<Record<SearchField, (run: FilterableRun) => readonly (string | undefined)[]>> = {
  name: (run) => [run.name],
  error: (run) => [run.error],
  tags: (run) => run.tags,
  inputs: (run) => [run.inputs],
  outputs: (run) => [run.outputs],
  metadata: (run) => [run.metadata],
};

const PAIRS_OF: Readonly<Record<PairFamily, (run: FilterableRun) => readonly Pair[]>> = {
  metadata: (run) => run.metadataPairs,
  input: (run) => run.inputPairs,
  output: (run) => run.outputPairs,
  feedback: (run) => run.feedback,
};

type Pair = (FilterablePair | FilterableFeedback) & Partial<Record<PairPart, Found>>;

/** Order of two values: below 0, 0 or above 0. */
function order(found: Exclude<Found, undefined>, operand: Operand, type: string): number {
  if (type === 'number' && typeof found === 'string') {
    const [one, other] = [parseDecimal(found), parseDecimal(String(operand))];
    return one && other ? compareDecimals(one, other) : NaN;
  }
  if (type === 'number') return Number(found) - Number(operand);
  if (typeof found === 'bigint' && typeof operand === 'bigint')
    return found < operand ? -1 : found > operand ? 1 : 0;
  return found === operand ? 0 : NaN;
}

function compare({ field, operator, values }: Comparison<RunField | PairField>, found: Found): boolean {
  const [value = null] = values;
  if (found === undefined || value === null) {
    const isSame = found === undefined && value === null && values.length > 0;
    return operator === 'neq' ? !isSame : operator === 'eq' && isSame;
  }
  const { type } = FIELDS[field];
  const ordered = () => order(found, value, type);
  switch (operator) {
    case 'eq':
      return ordered() === 0;
    case 'neq':
      return ordered() !== 0;
    case 'gt':
      return ordered() > 0;
    case 'gte':
      return ordered() >= 0;
    case 'lt':
      return ordered() < 0;
    case 'lte':
      return ordered() <= 0;
    case 'in':
      return values.some((item) => order(found, item, type) === 0);
    case 'like':
      return fitsPattern(String(found), String(value));
    default:
      return operator satisfies never;
  }
}

function meets(pair: Pair, condition: PairCondition): boolean {
  switch (condition.kind) {
    case 'and':
      return condition.conditions.every((each) => meets(pair, each));
    case 'or':
      return condition.conditions.some((each) => meets(pair, each));
    case 'not':
      return !meets(pair, condition.condition);
    case 'compare':
      return compare(condition, pair[FIELDS[condition.field].pair[1]]);
    default:
      return condition satisfies never;
  }
}

const IS_JSON: ReadonlySet<SearchField> = new Set(['inputs', 'outputs', 'metadata']);

function isFound(run: FilterableRun, field: SearchField, text: string): boolean {
  const wanted = IS_JSON.has(field) ? jsonSearch(text) : { kind: 'text' as const, text: foldCase(text) };
  const pattern = wanted.kind === 'pattern' ? new RegExp(wanted.pattern) : undefined;
  return TEXTS_OF[field](run).some((whole) => {
    if (whole === undefined) return false;
    const folded = foldCase(whole);
    return wanted.kind === 'text' ? folded.includes(wanted.text) : pattern?.test(folded);
  });
}

function metadataOf({ metadata }: FilterableRun): unknown {
  return metadata === undefined ? undefined : parseJson(metadata);
}

/** True when a run meets a filter. */
export function evaluateFilter(filter: Filter, run: FilterableRun): boolean {
  switch (filter.kind) {
    case 'and':
      return filter.conditions.every((each) => evaluateFilter(each, run));
    case 'or':
      return filter.conditions.some((each) => evaluateFilter(each, run));
    case 'not':
      return !evaluateFilter(filter.condition, run);
    case 'compare':
      return compare(filter, VALUE_OF[filter.field](run));
    case 'pair':
      return PAIRS_OF[filter.family](run).some((pair) => meets(pair, filter.condition));
    case 'tag':
      return run.tags.includes(filter.tag);
    case 'contains':
      return containsJson(metadataOf(run), parseJson(filter.json));
    case 'key': {
      const metadata = metadataOf(run);
      return isJsonObject(metadata) && Object.hasOwn(metadata, filter.key);
    }
    case 'search':
      return filter.fields.some((field) => isFound(run, field, filter.text));
    default:
      return filter satisfies never;
  }
}
