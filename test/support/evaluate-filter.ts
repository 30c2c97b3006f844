import { isJsonObject, parseJson } from '#lib/json';
import type { Instant } from '#lib/time';
import { compareDecimals, parseDecimal } from '../../libs/filter-language/src/read-operand.js';
import {
  FIELDS,
  type PairField,
  type PairFamily,
  type PairPart,
  type RunField,
  type SearchField,
} from '../../libs/filter-language/src/fields.js';
import type { Comparison, Filter, Operand, PairCondition } from '../../libs/filter-language/src/filter.js';
import { foldCase, jsonSearch } from '../../libs/filter-language/src/search-forms.js';

/** A pair of metadata, inputs or outputs, as the store keeps it: nested names joined, the value cut. */
export interface FilterablePair {
  readonly key: string;
  readonly value: string;
}

export interface FilterableFeedback {
  readonly key: string;
  readonly score?: number | undefined;
  readonly value?: string | undefined;
  readonly source?: string | undefined;
}

type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Rest}`
  ? `${Head}${Capitalize<CamelCase<Rest>>}`
  : Name;
/** Fields that a run has under their own names. */
type StoredField = Exclude<RunField, 'latency' | 'execution_order'>;
type NullableField = {
  [Name in StoredField]: (typeof FIELDS)[Name] extends { nullable: true } ? Name : never;
}[StoredField];
/** Costs are decimal texts. */
type ValueOf<Name extends StoredField> = Name extends `${string}_cost`
  ? string
  : {
      uuid: string;
      text: string;
      name: string;
      word: string;
      time: Instant;
      number: number;
      boolean: boolean;
    }[(typeof FIELDS)[Name]['type']];
type RunValues = {
  readonly [Name in Exclude<StoredField, NullableField> as CamelCase<Name>]: ValueOf<Name>;
} & { readonly [Name in NullableField as CamelCase<Name>]?: ValueOf<Name> | undefined };

/** The parts of a run that filters read. */
export type FilterableRun = RunValues & {
  readonly tags: readonly string[];
  /** JSON texts as they came. */
  readonly inputs?: string | undefined;
  readonly outputs?: string | undefined;
  readonly metadata?: string | undefined;
  readonly metadataPairs: readonly FilterablePair[];
  readonly inputPairs: readonly FilterablePair[];
  readonly outputPairs: readonly FilterablePair[];
  readonly feedback: readonly FilterableFeedback[];
};

function isScalar(value: unknown): boolean {
  return typeof value !== 'object' || value === null;
}

/** Postgres' `whole @> part` of `jsonb`: members of objects by name; items of lists in any order and number. */
function containsJson(whole: unknown, part: unknown): boolean {
  if (isScalar(part)) return whole === part;
  if (Array.isArray(part))
    return Array.isArray(whole) && part.every((item) => whole.some((other) => containsJson(other, item)));
  if (!isJsonObject(part) || !isJsonObject(whole)) return false;
  return Object.entries(part).every(
    ([name, value]) => Object.hasOwn(whole, name) && containsJson(whole[name], value),
  );
}

/**
 * True when a whole text fits a pattern of `like`: `%` is any text, `_` one character. Goes back to the last
 * `%` only, so the work is bounded by the product of both lengths.
 */
function fitsPattern(text: string, pattern: string): boolean {
  const characters = [...text];
  const wanted = [...pattern];
  let [at, next] = [0, 0];
  let retry: readonly [number, number] | undefined;
  while (at < characters.length) {
    const mark = wanted[next];
    if (mark === '%') {
      retry = [at, ++next];
    } else if (mark === '_' || (mark !== undefined && mark === characters[at])) {
      at++;
      next++;
    } else if (retry) {
      const [from, after] = retry;
      at = from + 1;
      next = after;
      retry = [at, after];
    } else return false;
  }
  while (wanted[next] === '%') next++;
  return next === wanted.length;
}

/** Value of a run's field; a number is a double, a decimal its text. */
type Found = string | number | boolean | bigint | undefined;

/** The value of a field that is not a member of the run under its own name. */
const COMPUTED: Partial<Record<RunField, (run: FilterableRun) => Found>> = {
  latency: (run) => (run.endTime === undefined ? undefined : run.endTime - run.startTime),
  execution_order: () => '1',
};

function valueOf(run: FilterableRun, field: RunField): Found {
  const computed = COMPUTED[field];
  if (computed) return computed(run);
  const property = field.replace(/_(.)/g, (_all, letter: string) => letter.toUpperCase());
  const value: Found = run[property as keyof RunValues];
  return typeof value === 'number' ? String(value) : value;
}

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
      return compare(filter, valueOf(run, filter.field));
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
