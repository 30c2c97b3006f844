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

/**
 * Filter of a scope, for a statement that serves several: JSON text of a list of documents, of which metadata
 * must contain at least one. Null lets every row through.
 */
export function visibleTo(scope: Scope): string | null {
  return scope.kind === 'worker' ? null : `[${scope.filter.alternatives.join(',')}]`;
}

/**
 * The condition that metadata is let through by the scope, `$1` of the statement. The first half is folded away when a
 * statement is planned: without it the planner takes a filter that lets everything through for a selective one.
 */
export function visible(metadata: string): string {
  return `($1::jsonb[] = '{"{}"}' OR ${metadata} @> ANY ($1::jsonb[]))`;
}

/** The same for a run `r`: it belongs to its thread; one without a thread has only its own metadata. */
export const RUN_IS_VISIBLE = `CASE WHEN r.temporary THEN ${visible('r.metadata')} ELSE EXISTS (
  SELECT 1 FROM agentplane.threads t WHERE t.thread_id = r.thread_id AND ${visible('t.metadata')}) END`;

/** Work of the server itself: queue, leases, relayed output, checkpoints of its runs. */
export interface WorkerScope {
  readonly kind: 'worker';
}

/** Request of a caller: it reaches rows that the filter lets through; other rows do not exist for it. */
export interface CallerScope {
  readonly kind: 'caller';
  readonly filter: SqlFilter;
  /** Identity of the caller: callers take turns. Undefined when authentication is off. */
  readonly caller?: string | undefined;
  /** Signal aborted once its client has gone, with the reason: its queued reads are given up. */
  readonly left?: AbortSignal | undefined;
}

/** Scope of a statement: the first argument of every statement. */
export type Scope = WorkerScope | CallerScope;

/** Signal aborted once no client waits for what the scope reads. */
export function leftOf(scope: Scope): AbortSignal | undefined {
  return scope.kind === 'caller' ? scope.left : undefined;
}
