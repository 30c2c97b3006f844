import { jsonbText, jsonText } from './json-text.js';

/** A value that metadata may hold under a key. */
type Scalar = string | number | boolean;

/** Conditions on a value: equal to `$eq`, or a list that contains `$contains`. */
export interface FilterOperators {
  readonly $eq?: Scalar;
  readonly $contains?: Scalar | readonly Scalar[];
}

/** Conditions on the keys of metadata, all of which must hold: `{ owner: 'alice' }`, `{ members: { $contains: 'alice' } }`. */
export type MetadataFilter = Readonly<Record<string, Scalar | FilterOperators>>;

/**
 * Rows that a caller reaches, by the metadata of the resource that owns them. It is data, never SQL: JSON
 * documents, of which the metadata must contain at least one, bound to one parameter of a statement whose
 * text is fixed.
 */
export interface SqlFilter {
  readonly alternatives: readonly string[];
}

/** Lets every row through. */
export const EVERY_ROW: SqlFilter = { alternatives: ['{}'] };

function listed(given: Scalar | readonly Scalar[]): readonly Scalar[] {
  return typeof given === 'object' ? given : [given];
}

/** The part of a document for one key; undefined for a condition that no value meets. */
function condition(key: string, given: Scalar | FilterOperators): Scalar | readonly Scalar[] | undefined {
  if (typeof given !== 'object') return given;
  const { $eq, $contains, ...unknown } = given;
  const names = Object.keys(unknown);
  if (names.length > 0)
    throw new Error(`filter on ${key}: ${names.join(', ')} is not an operator; use $eq or $contains`);
  if ($eq === undefined && $contains === undefined)
    throw new Error(`filter on ${key}: no operator given; use $eq or $contains`);
  if ($contains === undefined) return $eq;
  const members = listed($contains);
  // a scalar contains nothing; and an empty list would let every list through, when a handler found no member
  // to name
  return $eq === undefined && members.length > 0 ? members : undefined;
}

function documentOf(filter: MetadataFilter): string | undefined {
  const conditions = Object.entries(filter).map(([key, given]) => [key, condition(key, given)] as const);
  if (conditions.some(([, value]) => value === undefined)) return undefined;
  const document: unknown = Object.fromEntries(conditions);
  const text = jsonbText(document);
  // jsonb holds less than JSON; leaving characters out would let other rows through
  if (text !== jsonText(document))
    throw new Error('filter: it holds a NUL or half a character; use other text');
  return text;
}

/**
 * Rows that meet any of these filters; an empty one lets every row through, none at all lets no row through.
 * @throws Error for an operator that does not exist
 */
export function sqlFilter(...filters: readonly MetadataFilter[]): SqlFilter {
  return { alternatives: filters.map(documentOf).filter((document) => document !== undefined) };
}
