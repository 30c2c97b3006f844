import { isJsonObject, type JsonObject, parseExactJson } from '#lib/json';
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
