import { isJsonObject, type JsonObject } from '#lib/json';

/** The parts of a state on the wire. */
export const STATE_FIELDS: readonly string[] = [
  'values',
  'next',
  'tasks',
  'metadata',
  'created_at',
  'checkpoint',
  'parent_checkpoint',
  'interrupts',
];

/** Names of parts, and `values.KEY` for one of the values; all of a state without any. */
export type StateSelection = readonly string[];

const OF_VALUES = 'values.';

export function isStateField(name: string): boolean {
  return STATE_FIELDS.includes(name) || (name.startsWith(OF_VALUES) && name.length > OF_VALUES.length);
}

/** The values that were requested individually. */
export function keysOf(select: StateSelection): string[] {
  return select.flatMap((name) => (name.startsWith(OF_VALUES) ? [name.slice(OF_VALUES.length)] : []));
}

/** The requested parts of a state. A value that the state does not have is left out. */
export function selectedState(state: JsonObject, select: StateSelection | undefined): JsonObject {
  if (!select || select.length === 0) return state;
  const keys = keysOf(select);
  const found = Object.entries(state).filter(([name]) => select.includes(name));
  const { values } = state;
  if (keys.length === 0 || select.includes('values')) return Object.fromEntries(found);
  const chosen = isJsonObject(values) ? Object.entries(values).filter(([key]) => keys.includes(key)) : [];
  return Object.fromEntries([['values', Object.fromEntries(chosen)], ...found]);
}
