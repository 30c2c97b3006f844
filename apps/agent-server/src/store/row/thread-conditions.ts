import type { JsonObject } from '#lib/json';
import { jsonbText } from '../json-text.js';
import { visible } from '../visible.js';

/** Search for threads, or for their number. */
export interface ThreadSearch {
  readonly ids?: readonly string[] | undefined;
  readonly metadata?: JsonObject | undefined;
  readonly status?: string | undefined;
  readonly values?: JsonObject | undefined;
}

/** The conditions of a search, the scope's first: its values begin at `$2`. */
export function threadConditions(search: ThreadSearch): { text: string; values: unknown[] } {
  const conditions = [visible('metadata')];
  const values: unknown[] = [];
  function add(condition: (position: string) => string, value: unknown): void {
    values.push(value);
    conditions.push(condition(`$${values.length + 1}`));
  }
  if (search.ids) add((at) => `thread_id = ANY(${at}::uuid[])`, search.ids);
  if (search.metadata && Object.keys(search.metadata).length > 0)
    add((at) => `metadata @> ${at}::jsonb`, jsonbText(search.metadata));
  if (search.status) add((at) => `status = ${at}`, search.status);
  if (search.values && Object.keys(search.values).length > 0)
    add((at) => `agentplane.searchable(values) @> ${at}::jsonb`, jsonbText(search.values));
  return { text: conditions.join(' AND '), values };
}
