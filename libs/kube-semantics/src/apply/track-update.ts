import { isJsonObject, jsonEquals, type JsonObject } from '#lib/json';
import { recordAt, textAt } from '../object/reading.js';
import { canonical } from '../schema/defaults.js';
import type { CompiledSchema } from '../schema/schema-node.js';
import { ownUpdate, resetFields } from './field-owners.js';
import { FieldSet, UnnamedItem } from './field-set.js';
import {
  entryId,
  type Managed,
  type ManagedEntry,
  NOBODY,
  parseManaged,
  resetsManaged,
  withManaged,
} from './managed-fields.js';

const MOST_UPDATERS = 10;
const BUCKET = 'ancient-changes';

/** Merges entries of updates when there are more than ten: the oldest of each version are put together. */
function capUpdaters(managed: Managed): Managed {
  const updaters = [...managed].filter(([, entry]) => entry.operation === 'Update');
  if (updaters.length <= MOST_UPDATERS) return managed;
  const oldest = updaters.toSorted(
    ([a, x], [b, y]) => (x.time ?? '').localeCompare(y.time ?? '') || (a < b ? -1 : 1),
  );
  const out = new Map(managed);
  const firsts = new Map<string, string>();
  const bucketed = new Map<string, FieldSet[]>();
  let count = updaters.length;
  for (const [id, entry] of oldest) {
    if (count <= MOST_UPDATERS) break;
    const first = firsts.get(entry.apiVersion);
    if (first === undefined) {
      firsts.set(entry.apiVersion, id);
      continue;
    }
    const bucket = bucketOf(entry);
    const bucketId = entryId(bucket);
    const before = out.get(bucketId) ?? out.get(first);
    if (before === undefined) continue;
    if (!out.has(bucketId)) out.delete(first);
    out.delete(id);
    const sets = bucketed.get(bucketId) ?? [before.set];
    sets.push(entry.set);
    bucketed.set(bucketId, sets);
    out.set(bucketId, { ...bucket, set: before.set });
    count -= 1;
  }
  for (const [id, sets] of bucketed) {
    const bucket = out.get(id);
    // a client may send thousands of entries
    if (bucket) out.set(id, { ...bucket, set: FieldSet.unionOf(sets) });
  }
  return out;
}

function bucketOf(entry: ManagedEntry): ManagedEntry {
  return { ...entry, manager: BUCKET, operation: 'Update', subresource: '' };
}

export interface UpdateRequest {
  /** The stored object; undefined for a create. */
  readonly old: JsonObject | undefined;
  /** The object about to be stored, after defaults. Its own managedFields count when given; an emptied list resets. */
  readonly next: JsonObject;
  readonly manager: string;
  readonly operation: 'Update';
  readonly schema: CompiledSchema;
  readonly apiVersion: string;
  /** `status`, `scale` …; undefined for the object itself. */
  readonly subresource?: string;
  /** True when the kind's status is a subresource; without a subresource, when the schema has a status. */
  readonly hasStatus?: boolean;
  /** Now, RFC 3339 with seconds. */
  readonly time: string;
}

/**
 * The object with `metadata.managedFields` as any write but apply leaves them. Pure. Where items of a list
 * have no identity, fields cannot be assigned to managers, and the object gets no managedFields: its
 * validation decides if it may be stored.
 */
export function trackUpdate<T extends JsonObject>(request: UpdateRequest & { readonly next: T }): T {
  const { old, next, schema } = request;
  const managed = startingManaged(old, next, request.subresource ?? '');
  const isNew = old === undefined || textAt(old, ['metadata', 'uid']) === '';
  if (managed.size === 0 && !isNew) return withManaged(next, NOBODY);
  try {
    return withManaged(next, capUpdaters(updatedManaged(request, managed, schema)));
  } catch (error) {
    if (error instanceof UnnamedItem) return withManaged(next, NOBODY);
    throw error;
  }
}

/** The managed entries after an update, before they are written into an object. */
export function updatedManaged(
  request: Omit<UpdateRequest, 'operation'>,
  managed: Managed,
  schema: CompiledSchema,
): Managed {
  const { root } = schema;
  const writer = {
    manager: request.manager === '' ? 'unknown' : request.manager,
    operation: 'Update',
    apiVersion: request.apiVersion,
    subresource: request.subresource ?? '',
    time: request.time,
  } as const;
  const { apiVersion, kind } = request.next;
  const live = request.old ?? { apiVersion, kind };
  const reset = resetFields(writer.subresource, root, request.hasStatus);
  const write = {
    live: forComparison(live, schema),
    schema: root,
    managed,
    id: entryId(writer),
    writer,
    reset,
  };
  return ownUpdate(write, forComparison(request.next, schema));
}

/** A part that Go types always have counts as added by no manager: both sides of a comparison get it. */
function forComparison(object: JsonObject, schema: CompiledSchema): JsonObject {
  const plain = withManaged(object, NOBODY);
  return schema.isBuiltin ? canonical(plain, schema.root) : plain;
}

/** Ownership of fields before the write: from the request, else as stored. */
function startingManaged(old: JsonObject | undefined, next: JsonObject, subresource: string): Managed {
  const stored = parseManaged(old ?? {}) ?? NOBODY;
  if (subresource !== '') return stored;
  if (resetsManaged(next)) return NOBODY;
  const given = parseManaged(next);
  return given === undefined || given.size === 0 ? stored : given;
}

/**
 * `next`, or `old` when they differ in nothing but the times of managedFields (and the resourceVersion): such
 * a write is no change, keeps its resourceVersion and makes no event. Call it last, just before storing.
 */
export function withoutNoOp<T extends JsonObject>(old: T, next: T): T {
  return old === next || jsonEquals(timeless(old), timeless(next)) ? old : next;
}

function timeless(object: JsonObject): JsonObject {
  const { managedFields, resourceVersion: _, ...metadata } = recordAt(object, 'metadata');
  const entries = (Array.isArray(managedFields) ? managedFields : []).map((entry: unknown) => {
    if (!isJsonObject(entry)) return entry;
    const { time: __, ...rest } = entry;
    return rest;
  });
  return { ...object, metadata: { ...metadata, managedFields: entries } };
}
