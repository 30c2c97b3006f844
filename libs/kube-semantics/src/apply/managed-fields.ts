import { isJsonObject, type JsonObject, parseExactJson } from '#lib/json';
import { listAt, recordAt, textAt } from '../object/reading.js';
import { FieldSet } from './field-set.js';

const SELF = '.';

/** A set as `fieldsV1`: a step that has members below and is one itself says so with `.`. */
export function renderFieldsV1(set: FieldSet): JsonObject {
  return Object.fromEntries(
    set.elements.map((element) => {
      const below = set.children.get(element);
      if (below === undefined) return [element, {}];
      const self = set.members.has(element) ? { [SELF]: {} } : {};
      return [element, { ...self, ...renderFieldsV1(below) }];
    }),
  );
}

/** Undefined when the value is malformed. */
export function parseFieldsV1(fields: unknown): FieldSet | undefined {
  if (!isJsonObject(fields)) return undefined;
  const members: string[] = [];
  const children: [string, FieldSet][] = [];
  for (const [element, value] of Object.entries(fields)) {
    if (element === SELF) continue;
    if (!/^[fkvi]:/.test(element) || !isJsonObject(value)) return undefined;
    const names = Object.keys(value);
    if (names.length === 0 || names.includes(SELF)) members.push(canonical(element));
    if (names.length === 0) continue;
    const below = parseFieldsV1(value);
    if (below === undefined) return undefined;
    children.push([canonical(element), below]);
  }
  return FieldSet.of(members, children);
}

/** Keys as we write them, whatever order and spacing they came in. */
function canonical(element: string): string {
  if (element.startsWith('f:')) return element;
  try {
    const value = parseExactJson(element.slice(2));
    if (!isJsonObject(value)) return `${element.slice(0, 2)}${JSON.stringify(value)}`;
    const sorted = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
    return `${element.slice(0, 2)}${JSON.stringify(Object.fromEntries(sorted))}`;
  } catch {
    return element;
  }
}

/** Fields that one manager owns by one way of writing. */
export interface ManagedEntry {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  /** '' for the object itself. */
  readonly subresource: string;
  readonly time?: string;
  readonly set: FieldSet;
}

/** Entries by their identity. */
export type Managed = ReadonlyMap<string, ManagedEntry>;

export const NOBODY: Managed = new Map();

type Identity = Pick<ManagedEntry, 'manager' | 'operation' | 'apiVersion' | 'subresource'>;

/** Two entries are the same manager's when these agree; appliers are one whatever version they apply. */
export function entryId(entry: Identity): string {
  const version = entry.operation === 'Apply' ? '' : entry.apiVersion;
  return JSON.stringify([entry.manager, entry.operation, version, entry.subresource]);
}

/** The managedFields of an object; undefined when they are malformed. */
export function parseManaged(object: JsonObject): Managed | undefined {
  const managed = new Map<string, ManagedEntry>();
  for (const item of listAt(object, 'metadata', 'managedFields')) {
    const entry = parseEntry(item);
    if (entry === undefined) return undefined;
    managed.set(entryId(entry), entry);
  }
  return managed;
}

function parseEntry(item: unknown): ManagedEntry | undefined {
  const operation = textAt(item, ['operation']);
  const apiVersion = textAt(item, ['apiVersion']);
  if ((operation !== 'Apply' && operation !== 'Update') || apiVersion === '') return undefined;
  if (textAt(item, ['fieldsType']) !== 'FieldsV1') return undefined;
  const set = parseFieldsV1(recordAt(item, 'fieldsV1'));
  if (set === undefined) return undefined;
  const time = textAt(item, ['time']);
  return {
    manager: textAt(item, ['manager']),
    operation,
    apiVersion,
    subresource: textAt(item, ['subresource']),
    ...(time === '' ? {} : { time }),
    set,
  };
}

/** The object with these managedFields: appliers first, then by time and name. */
export function withManaged<T extends JsonObject>(object: T, managed: Managed): T {
  const entries = [...managed.values()].filter((entry) => !entry.set.isEmpty).toSorted(order);
  const { managedFields: _, ...metadata } = recordAt(object, 'metadata');
  const rendered = entries.length === 0 ? {} : { managedFields: entries.map(renderEntry) };
  return { ...object, metadata: { ...metadata, ...rendered } };
}

function renderEntry(entry: ManagedEntry): JsonObject {
  return {
    manager: entry.manager,
    operation: entry.operation,
    apiVersion: entry.apiVersion,
    ...(entry.time === undefined ? {} : { time: entry.time }),
    fieldsType: 'FieldsV1',
    fieldsV1: renderFieldsV1(entry.set),
    ...(entry.subresource === '' ? {} : { subresource: entry.subresource }),
  };
}

function order(a: ManagedEntry, b: ManagedEntry): number {
  return (
    compareText(a.operation, b.operation) ||
    secondsOf(a) - secondsOf(b) ||
    compareText(a.manager, b.manager) ||
    compareText(a.apiVersion, b.apiVersion) ||
    compareText(a.subresource, b.subresource)
  );
}

function secondsOf(entry: ManagedEntry): number {
  return entry.time === undefined ? 0 : Math.floor(Date.parse(entry.time) / 1000);
}

export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** True when an object's managedFields reset the ownership: an empty list, or one empty entry. */
export function resetsManaged(object: JsonObject): boolean {
  const fields = recordAt(object, 'metadata')['managedFields'];
  if (!Array.isArray(fields)) return false;
  return (
    fields.length === 0 ||
    (fields.length === 1 && isJsonObject(fields[0]) && Object.keys(fields[0]).length === 0)
  );
}
