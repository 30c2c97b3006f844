import { isJsonObject, type JsonObject, type MutableJsonObject, stableJson } from '#lib/json';
import { builtinKindSchema } from '../builtin/kind-schema.js';
import { goValue } from '../schema/go-value.js';
import type { SchemaNode } from '../schema/schema-node.js';
import { PatchError } from './merge-patch.js';

/** An item of a merged list with its places in two others; undefined where it is in none. */
interface Placed {
  readonly item: unknown;
  readonly order: number | undefined;
  readonly before: number | undefined;
}

/**
 * Orders a merged list: items named by `order` are in that order, the rest in the order it had, and the two
 * are merged by the places that both had in `before`.
 */
function orderElements(
  merged: readonly unknown[],
  order: readonly unknown[],
  before: readonly unknown[],
  key: string | undefined,
): readonly unknown[] {
  const [ofOrder, ofBefore] = [placesOf(order, key), placesOf(before, key)];
  const placed = merged.map((item): Placed => {
    const identity = identityOf(item, key);
    return { item, order: ofOrder.get(identity), before: ofBefore.get(identity) };
  });
  const left = placed.filter((one) => one.order === undefined).toSorted(by('before'));
  const right = placed.filter((one) => one.order !== undefined).toSorted(by('order'));
  const out: Placed[] = [];
  let [atLeft, atRight] = [0, 0];
  for (;;) {
    const [one, other] = [left[atLeft], right[atRight]];
    if (!one || !other) break;
    const isLeftFirst = one.before !== undefined && other.before !== undefined && one.before < other.before;
    out.push(isLeftFirst ? one : other);
    if (isLeftFirst) atLeft++;
    else atRight++;
  }
  return [...out, ...left.slice(atLeft), ...right.slice(atRight)].map(({ item }) => item);
}

/** The first place of each identity. Looked up, since lists of hundreds of thousands fit into a patch. */
function placesOf(list: readonly unknown[], key: string | undefined): Map<string, number> {
  const places = new Map<string, number>();
  for (const [at, item] of list.entries()) {
    const identity = identityOf(item, key);
    if (!places.has(identity)) places.set(identity, at);
  }
  return places;
}

/** The same text for equal items: for the value of their key where the list has one. */
function identityOf(item: unknown, key: string | undefined): string {
  const identity = key !== undefined && isJsonObject(item) ? item[key] : item;
  return identity === undefined ? '' : stableJson(identity);
}

function by(list: 'order' | 'before'): (a: Placed, b: Placed) => number {
  return (a, b) => (a[list] ?? -1) - (b[list] ?? -1);
}

/** Group and kind of a built-in; the core group is ''. */
export interface GroupKind {
  readonly group: string;
  readonly kind: string;
}

const DIRECTIVE = '$patch';
const RETAIN = '$retainKeys';
const ORDER = '$setElementOrder/';
const DELETE_FROM = '$deleteFromPrimitiveList/';

/**
 * Applies a strategic merge patch with the kind's merge keys and `$patch`, `$setElementOrder/…`,
 * `$deleteFromPrimitiveList/…`, `$retainKeys`. PatchError 415 for a kind that is not built in, 400 for a patch that
 * cannot be used. Source of the rules: apimachinery `strategicpatch`.
 */
export function strategicMergePatch<T extends JsonObject>(kind: GroupKind, object: T, patch: unknown): T {
  const schema = builtinKindSchema(kind.group, kind.kind);
  if (schema === undefined) throw new PatchError(415, 'strategic merge patch format is not supported');
  if (!isJsonObject(patch)) throw new PatchError(400, 'Invalid JSON Patch');
  return mergeMap(object, patch, schema) as T;
}

function bad(message: string): PatchError {
  return new PatchError(400, message);
}

function mergeMap(original: JsonObject, patch: JsonObject, schema: SchemaNode | undefined): JsonObject {
  const directive = patch[DIRECTIVE];
  if (directive !== undefined) return byDirective(directive, patch);
  // without a prototype: `__proto__` is a key like others, and nothing is inherited
  const out = Object.assign(Object.create(null) as MutableJsonObject, retained(original, patch));
  for (const name of orderedLists(patch)) setOrder(out, patch, name, schema);
  for (const [key, value] of Object.entries(patch)) {
    if (key === RETAIN || key.startsWith(ORDER)) continue;
    if (key.startsWith(DELETE_FROM)) deleteFromList(out, key.slice(DELETE_FROM.length), value);
    else if (patch[ORDER + key] === undefined || !Array.isArray(value)) mergeField(out, key, value, schema);
  }
  return { ...out };
}

function byDirective(directive: unknown, patch: JsonObject): JsonObject {
  if (directive === 'delete') return {};
  if (directive !== 'replace') throw bad(`unknown patch type ${JSON.stringify(directive)}`);
  const { [DIRECTIVE]: _, ...rest } = patch;
  return rest;
}

function retained(original: JsonObject, patch: JsonObject): JsonObject {
  const keys = patch[RETAIN];
  if (keys === undefined) return original;
  const wrong = 'invalid patch format of retainKeys';
  if (!Array.isArray(keys)) throw bad(wrong);
  const names = new Set<unknown>(keys);
  for (const [key, value] of Object.entries(patch)) {
    if (value !== null && !key.startsWith('$') && !names.has(key)) throw bad(wrong);
  }
  return Object.fromEntries(Object.entries(original).filter(([key]) => names.has(key)));
}

function orderedLists(patch: JsonObject): readonly string[] {
  return Object.keys(patch)
    .filter((key) => key.startsWith(ORDER))
    .map((key) => key.slice(ORDER.length));
}

function setOrder(
  out: MutableJsonObject,
  patch: JsonObject,
  name: string,
  schema: SchemaNode | undefined,
): void {
  const order = patch[ORDER + name];
  if (!Array.isArray(order)) throw bad('invalid patch format of setElementOrder list');
  const field = schema?.field(name);
  const key = mergeKey(field);
  const live = out[name];
  const given = patch[name];
  if (live === undefined && given === undefined) return;
  if (given === null) return;
  const original = Array.isArray(live) ? live : [];
  const fresh = given === undefined ? [] : listOf(given);
  const items =
    live === undefined
      ? listOf(withoutDirectives(fresh))
      : given === undefined
        ? original
        : mergeList(original, fresh, field);
  out[name] = orderElements(items, order, original, key);
}

function listOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw bad('invalid patch format of setElementOrder list');
  return value;
}

function deleteFromList(out: MutableJsonObject, name: string, values: unknown): void {
  const live = out[name];
  if (!Array.isArray(values)) throw bad('invalid patch format of primitive list');
  const deleted = new Set<unknown>(values);
  if (Array.isArray(live)) out[name] = live.filter((item) => !deleted.has(item));
}

function mergeField(
  out: MutableJsonObject,
  key: string,
  value: unknown,
  schema: SchemaNode | undefined,
): void {
  if (value === null) {
    delete out[key];
    return;
  }
  const live = out[key];
  const field = schema?.field(key);
  if (isJsonObject(value) && isJsonObject(live)) {
    out[key] = strategies(field).includes('replace') ? value : mergeMap(live, value, field);
  } else if (Array.isArray(value) && Array.isArray(live) && strategies(field).includes('merge')) {
    out[key] = mergeList(live, value, field);
  } else {
    const taken = withoutDirectives(withoutNulls(value));
    if (taken === undefined) delete out[key];
    else out[key] = taken;
  }
}

function strategies(field: SchemaNode | undefined): readonly string[] {
  return field?.text('x-kubernetes-patch-strategy')?.split(',') ?? [];
}

function mergeKey(field: SchemaNode | undefined): string | undefined {
  return field?.text('x-kubernetes-patch-merge-key');
}

function mergeList(
  original: readonly unknown[],
  patch: readonly unknown[],
  field: SchemaNode | undefined,
): readonly unknown[] {
  if (original.length === 0 && patch.length === 0) return original;
  if (![...original, ...patch].every(isJsonObject)) {
    const both = [...new Set([...original, ...patch])];
    return orderElements(both, patch, original, undefined);
  }
  const key = mergeKey(field);
  if (key === undefined) throw bad('cannot merge lists without merge key');
  const { kept, items } = byListDirectives(original.filter(isJsonObject), patch.filter(isJsonObject), key);
  const out = [...kept];
  const places = placesOf(out, key);
  for (const item of items) {
    const identity = stableJson(keyOf(item, key));
    const at = places.get(identity);
    if (at === undefined) places.set(identity, out.push(item) - 1);
    else out[at] = mergeMap(out[at] ?? {}, item, field?.items);
  }
  return orderElements(out, items, original, key);
}

/** Takes `$patch: delete` and `$patch: replace` items out of a patch list. */
function byListDirectives(
  original: readonly JsonObject[],
  patch: readonly JsonObject[],
  key: string,
): { kept: readonly JsonObject[]; items: readonly JsonObject[] } {
  const deleted = new Set<string>();
  let isReplaced = false;
  const items: JsonObject[] = [];
  for (const item of patch) {
    const directive = item[DIRECTIVE];
    if (directive === undefined) items.push(item);
    else if (directive === 'delete') deleted.add(stableJson(keyOf(item, key)));
    else if (directive === 'replace') isReplaced = true;
    else throw bad(`unknown patch type ${JSON.stringify(directive)}`);
  }
  if (isReplaced) return { kept: items, items: [] };
  return { kept: original.filter((candidate) => !deleted.has(identityOf(candidate, key))), items };
}

function keyOf(item: JsonObject, key: string): unknown {
  const value = item[key];
  if (value === undefined) {
    throw new PatchError(500, `map: ${goValue(item)} does not contain declared merge key: ${key}`);
  }
  return value;
}

/** A value that is taken over as it is, without the directives inside it; undefined when it is one itself. */
function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDirectives).filter((item) => item !== undefined);
  if (!isJsonObject(value)) return value;
  if (DIRECTIVE in value) return undefined;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) => {
      if (key === RETAIN || key.startsWith(ORDER) || key.startsWith(DELETE_FROM)) return [];
      const kept = withoutDirectives(item);
      return kept === undefined ? [] : [[key, kept]];
    }),
  );
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== null)
      .map(([key, item]) => [key, withoutNulls(item)]),
  );
}
