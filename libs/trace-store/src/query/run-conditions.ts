import { formatInstant } from '#lib/time';
import type { SqlValues } from '../filter/sql-values.js';
import type { RunSearch } from './run-search.js';

/** Values of a statement, each with its parameter. */
export class Parameters implements SqlValues {
  readonly values: unknown[] = [];

  bind(type: string, value: string): string {
    return `${this.add(value)}::${type}`;
  }

  add(value: unknown): string {
    return `$${this.values.push(value)}`;
  }
}

/** Conditions of a search on a row of `runs` named `r`, without its projects, ids and filters. */
export function runConditions(search: RunSearch, parameters: Parameters): string[] {
  const { parentRunId, referenceExampleIds, threadId, isRoot, runType, hasError } = search;
  const all: string[] = [];
  if (parentRunId !== undefined) all.push(`r.parent_run_id = ${parameters.add(parentRunId)}::uuid`);
  if (referenceExampleIds)
    all.push(`r.reference_example_id = ANY(${parameters.add(referenceExampleIds)}::uuid[])`);
  if (threadId !== undefined) all.push(`r.thread_id = ${parameters.add(threadId)}`);
  if (isRoot !== undefined) all.push(isRoot ? 'r.is_root' : 'NOT r.is_root');
  if (runType !== undefined) all.push(`r.run_type = ${parameters.add(runType)}`);
  if (hasError !== undefined) all.push(hasError ? 'r.is_failed' : 'NOT r.is_failed');
  return [...all, ...timeConditions('r', search, parameters)];
}

/** Conditions on the start times of rows of `runs` or of their keys. */
export function timeConditions(
  table: 'k' | 'r',
  { from, to }: Pick<RunSearch, 'from' | 'to'>,
  parameters: Parameters,
): string[] {
  const all: string[] = [];
  if (from !== undefined)
    all.push(`${table}.start_time >= ${parameters.add(formatInstant(from))}::timestamptz`);
  if (to !== undefined) all.push(`${table}.start_time <= ${parameters.add(formatInstant(to))}::timestamptz`);
  return all;
}

/** Conditions of a search on a row of `run_keys` named `k`: its run and its trace. */
export function keyConditions(search: RunSearch, parameters: Parameters): string[] {
  const { ids, traceId } = search;
  return [
    ...(ids ? [`k.id = ANY(${parameters.add(ids)}::uuid[])`] : []),
    ...(traceId === undefined ? [] : [`k.trace_id = ${parameters.add(traceId)}::uuid`]),
  ];
}
