import { isJsonObject, type JsonObject, parseExactJson } from '#lib/json';
import { recordAt, textAt } from '../object/reading.js';
import { goValue } from '../schema/go-value.js';
import type { CompiledSchema, SchemaNode } from '../schema/schema-node.js';
import { typeOf } from '../schema/validate-value.js';
import { compare } from './compare.js';
import { type Conflicts, ownApply, type OwnedApply, resetFields, type Write } from './field-owners.js';
import {
  fieldElement,
  FieldSet,
  itemElement,
  type PathElement,
  printElement,
  printPath,
  UnnamedItem,
} from './field-set.js';
import { compareText, entryId, type Managed, NOBODY, parseManaged, withManaged } from './managed-fields.js';
import { toFieldSet } from './to-field-set.js';
import { updatedManaged } from './track-update.js';

/** A field that another manager owns with another value. */
interface FieldConflict {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly subresource?: string;
  readonly time?: string;
  /** `.spec.replicas`, `.spec.containers[name="a"].image`. */
  readonly field: string;
  /**
   * Text for `details.causes[].message` with reason `FieldManagerConflict`: `conflict with "kubectl" using
   * apps/v1`.
   */
  readonly message: string;
}

/**
 * Limits of a text that people read, in fields and letters: a name of a megabyte may be in the path of
 * thousands of fields.
 */
const MOST_SHOWN = 1_000;
const MOST_LETTERS = 256 * 1024;

/** The conflicts as an answer lists them: the first thousand, and fewer of long paths. */
export interface DescribedConflicts {
  readonly shown: readonly FieldConflict[];
  /** Number of further ones. */
  readonly left: number;
}

function describeConflicts(conflicts: Conflicts, managed: Managed): DescribedConflicts {
  const shown: FieldConflict[] = [];
  let [count, letters] = [0, 0];
  for (const [id, set] of [...conflicts.entries()].toSorted(([a], [b]) => compareText(a, b))) {
    const entry = managed.get(id);
    if (entry === undefined) continue;
    count += set.size;
    const { manager, operation, apiVersion, subresource, time } = entry;
    for (const path of set.paths()) {
      letters += path.reduce((sum, element) => sum + element.length, 0);
      if (shown.length > 0 && (shown.length >= MOST_SHOWN || letters > MOST_LETTERS)) break;
      shown.push({
        manager,
        operation,
        apiVersion,
        ...(subresource === '' ? {} : { subresource }),
        ...(time === undefined ? {} : { time }),
        field: printPath(path),
        message: `conflict with ${named({ manager, operation, apiVersion, subresource })}`,
      });
    }
  }
  return { shown, left: count - shown.length };
}

function named(entry: Pick<FieldConflict, 'manager' | 'operation' | 'apiVersion' | 'subresource'>): string {
  const through =
    (entry.subresource ?? '') === '' ? '' : ` with subresource ${JSON.stringify(entry.subresource)}`;
  const using = entry.operation === 'Update' ? ` using ${entry.apiVersion}` : '';
  return `${JSON.stringify(entry.manager)}${through}${using}`;
}

/** `Apply failed with …`, as kubectl shows it. */
function conflictsText({ shown, left }: DescribedConflicts): string {
  const [first] = shown;
  if (shown.length === 1 && left === 0 && first !== undefined) {
    return `Apply failed with 1 conflict: ${first.message}: ${first.field}`;
  }
  const groups = Map.groupBy(shown, (conflict) => conflict.message);
  const lines = [...groups].flatMap(([message, members]) => [
    `${message.replace('conflict', 'conflicts')}:`,
    ...members.map((conflict) => `- ${conflict.field}`),
  ]);
  if (left > 0) lines.push(`${left} more conflicts are not shown`);
  return `Apply failed with ${shown.length + left} conflicts: ${lines.join('\n')}`;
}

/**
 * The first thing that is wrong with a configuration to apply, in the words of Kubernetes: `.spec.foo: field not
 * declared in schema`.
 */
function appliedProblem(applied: JsonObject, schema: SchemaNode): string | undefined {
  return problem(applied, schema, '');
}

function problem(value: unknown, schema: SchemaNode | undefined, path: string): string | undefined {
  if (schema === undefined || value === null || value === undefined) return undefined;
  const mismatch = typeProblem(value, schema);
  if (mismatch !== undefined) return `${path}: ${mismatch}`;
  if (isJsonObject(value)) return mapProblem(value, schema, path);
  return Array.isArray(value) ? listProblem(value, schema, path) : undefined;
}

function typeProblem(value: unknown, schema: SchemaNode): string | undefined {
  if (schema.intOrString) return undefined;
  const actual = typeOf(value);
  switch (schema.type) {
    case 'integer':
    case 'number':
      return actual === 'integer' || actual === 'number'
        ? undefined
        : `expected numeric (int or float), got ${actual}`;
    case 'string':
      return schema.text('format') !== undefined || actual === 'string'
        ? undefined
        : `expected string, got &value.valueUnstructured{Value:${goValue(value)}}`;
    case 'boolean':
      return actual === 'boolean' ? undefined : `expected boolean, got &{${goValue(value)}}`;
    case 'object':
      return actual === 'object' ? undefined : `expected map, got &{${goValue(value)}}`;
    case 'array':
      return actual === 'array' ? undefined : `expected list, got &{${goValue(value)}}`;
    default:
      return undefined;
  }
}

function mapProblem(object: JsonObject, schema: SchemaNode, path: string): string | undefined {
  const isOpen = schema.preserveUnknown || schema.type === '' || schema.propertyNames.length === 0;
  for (const [name, value] of Object.entries(object)) {
    const at = `${path}${printElement(fieldElement(name))}`;
    const field = schema.field(name);
    if (field === undefined && !isOpen) return `${at}: field not declared in schema`;
    const found = problem(value, field, at);
    if (found !== undefined) return found;
  }
  return undefined;
}

function listProblem(list: readonly unknown[], schema: SchemaNode, path: string): string | undefined {
  const isAssociative = schema.listType === 'set' || schema.listType === 'map';
  const seen = new Set<PathElement>();
  for (const [index, item] of list.entries()) {
    const found = isAssociative
      ? itemProblem(item, { schema, path, index, seen })
      : problem(item, schema.items, `${path}[${index}]`);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Position of an item in a set or map, and its predecessor. */
interface ItemPlace {
  readonly schema: SchemaNode;
  readonly path: string;
  readonly index: number;
  readonly seen: Set<PathElement>;
}

function itemProblem(item: unknown, { schema, path, index, seen }: ItemPlace): string | undefined {
  try {
    const element = itemElement(schema, item);
    if (seen.has(element)) return `${path}: duplicate entries for key ${printElement(element)}`;
    seen.add(element);
    return problem(item, schema.items, `${path}${printElement(element)}`);
  } catch (thrown) {
    if (thrown instanceof UnnamedItem) return `${path}: element ${index}: ${thrown.message}`;
    throw thrown;
  }
}

const ANNOTATION = 'kubectl.kubernetes.io/last-applied-configuration';

function lastApplied(object: JsonObject): string {
  return textAt(object, ['metadata', 'annotations', ANNOTATION]);
}

/**
 * Fields that client-side apply set and no other manager has changed since: kubectl may take these over by server-side apply without
 * a conflict.
 */
function fieldsOfLastApplied(live: JsonObject, schema: SchemaNode, apiVersion: string): FieldSet {
  const parsed = parse(lastApplied(live));
  if (parsed === undefined || parsed['apiVersion'] !== apiVersion) return FieldSet.EMPTY;
  const { modified, added, removed } = compare(parsed, live, schema);
  return toFieldSet(parsed, schema).difference(modified).difference(added).difference(removed);
}

function parse(text: string): JsonObject | undefined {
  try {
    const value: unknown = parseExactJson(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** kubectl's annotation follows its server-side applies, so that a later client-side apply knows what it sent. */
function withLastApplied(object: JsonObject, applied: JsonObject): JsonObject {
  if (lastApplied(object) === '') return object;
  const metadata = recordAt(applied, 'metadata');
  const { [ANNOTATION]: _, ...annotations } = recordAt(metadata, 'annotations');
  const kept = Object.keys(annotations).length === 0 ? {} : { annotations };
  const { annotations: __, ...rest } = metadata;
  const text = `${JSON.stringify(sorted({ ...applied, metadata: { ...rest, ...kept } }))}\n`;
  const stored = recordAt(object, 'metadata');
  return {
    ...object,
    metadata: { ...stored, annotations: { ...recordAt(stored, 'annotations'), [ANNOTATION]: text } },
  };
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [key, sorted(item)]),
  );
}

export interface ApplyRequest {
  /** The stored object; undefined creates. */
  readonly live: JsonObject | undefined;
  /** The applied configuration, with `apiVersion`, `kind` and `metadata.name`. */
  readonly applied: JsonObject;
  /** Field manager, 1 to 128 characters. */
  readonly manager: string;
  readonly force: boolean;
  readonly schema: CompiledSchema;
  /** Version that the request uses, `apps/v1`. */
  readonly apiVersion: string;
  /** `status`, `scale` …; undefined for the object itself. */
  readonly subresource?: string;
  /** True when the kind's status is a subresource; without a subresource, when the schema has a status. */
  readonly hasStatus?: boolean;
  /** Now, RFC 3339 with seconds: `2026-01-02T03:04:05Z`. */
  readonly time: string;
}

export type ApplyResult =
  /**
   * `object` has its managedFields set; defaults and `withoutNoOp` are the caller's next steps. `changed` is false when
   * nothing but ownership may have changed.
   */
  | { readonly kind: 'applied'; readonly object: JsonObject; readonly changed: boolean }
  /** Answer 409 with `message` (`Apply failed with 1 conflict: …`) and the conflicts as causes: the first of very many. */
  | { readonly kind: 'conflict'; readonly conflicts: readonly FieldConflict[]; readonly message: string }
  /** The configuration itself is wrong: 400 when it carries managedFields or another version, 500 like Kubernetes when it does not fit the schema. */
  | { readonly kind: 'invalid'; readonly status: 400 | 500; readonly message: string };

/** Server-side apply of a configuration, as Kubernetes merges it. Pure. */
export function applyServerSide(request: ApplyRequest): ApplyResult {
  const refused = refusal(request);
  if (refused !== undefined) return refused;
  const { apiVersion, kind } = request.applied;
  const live = request.live ?? { apiVersion, kind, metadata: {} };
  const managed = startingManaged(request, live);
  const write = writeOf(request, live, managed);
  const outcome = ownApply(write, request.applied, request.force);
  return settle(request, write, request.manager === 'kubectl' ? takeOver(request, write, outcome) : outcome);
}

function refusal(request: ApplyRequest): ApplyResult | undefined {
  const { applied, apiVersion } = request;
  const version = textAt(applied, ['apiVersion']);
  if (version !== apiVersion) {
    const message = `invalid object type: ${version}, Kind=${textAt(applied, ['kind'])}`;
    return { kind: 'invalid', status: 400, message };
  }
  if ((recordAt(applied, 'metadata')['managedFields'] ?? null) !== null) {
    return { kind: 'invalid', status: 400, message: 'metadata.managedFields must be nil' };
  }
  const problem = appliedProblem(applied, request.schema.root);
  if (problem === undefined) return undefined;
  const named = `${textAt(applied, ['metadata', 'namespace'])}/${textAt(applied, ['metadata', 'name'])}`;
  const type = `${version}, Kind=${textAt(applied, ['kind'])}`;
  const message = `failed to create typed patch object (${named}; ${type}): ${problem}`;
  return { kind: 'invalid', status: 500, message };
}

/** The owners before: an untracked object belongs to `before-first-apply`. */
function startingManaged(request: ApplyRequest, live: JsonObject): Managed {
  const stored = parseManaged(live) ?? NOBODY;
  if (stored.size > 0 || request.live === undefined) return stored;
  const { schema, apiVersion, time, hasStatus } = request;
  const first = { old: undefined, next: live, manager: 'before-first-apply', schema, apiVersion, time };
  return updatedManaged({ ...first, ...(hasStatus === undefined ? {} : { hasStatus }) }, NOBODY, schema);
}

function writeOf(request: ApplyRequest, live: JsonObject, managed: Managed): Write {
  const subresource = request.subresource ?? '';
  const { manager, apiVersion, time, schema } = request;
  const id = entryId({ manager, operation: 'Apply', apiVersion, subresource });
  return {
    live: withManaged(live, NOBODY),
    schema: schema.root,
    managed,
    id,
    writer: { manager, operation: 'Apply', apiVersion, subresource, time },
    reset: resetFields(subresource, schema.root, request.hasStatus),
  };
}

/** kubectl takes over what its own client-side apply had set: those conflicts are none. */
function takeOver(request: ApplyRequest, write: Write, outcome: OwnedApply): OwnedApply {
  if (outcome.kind !== 'conflict') return outcome;
  const allowed = fieldsOfLastApplied(write.live, write.schema, request.apiVersion);
  const left = new Map(
    [...outcome.conflicts]
      .map(([id, set]) => [id, set.difference(allowed)] as const)
      .filter(([, set]) => !set.isEmpty),
  );
  return left.size > 0 ? { kind: 'conflict', conflicts: left } : ownApply(write, request.applied, true);
}

function settle(request: ApplyRequest, write: Write, outcome: OwnedApply): ApplyResult {
  if (outcome.kind === 'conflict') {
    const described = describeConflicts(outcome.conflicts, write.managed);
    return { kind: 'conflict', conflicts: described.shown, message: conflictsText(described) };
  }
  const managed = outcome.changed ? outcome.managed : withOldTime(outcome.managed, write);
  const object =
    request.manager === 'kubectl' ? withLastApplied(outcome.object, request.applied) : outcome.object;
  return { kind: 'applied', object: withManaged(object, managed), changed: outcome.changed };
}

/** An apply that changed nothing keeps its old time; a new owner has none. */
function withOldTime(managed: Managed, write: Write): Managed {
  const own = managed.get(write.id);
  if (own === undefined) return managed;
  const { time: _, ...rest } = own;
  const before = write.managed.get(write.id)?.time;
  return new Map(managed).set(write.id, { ...rest, ...(before === undefined ? {} : { time: before }) });
}
