import { isJsonObject, jsonEquals, type JsonObject } from '#lib/json';
import { errorsOfEach, type FieldError, invalid, notSupported, required } from '../../schema/field-error.js';

/** The rules of one kind, metadata apart; with `old` also what must not change. */
export type Validator = (object: JsonObject, old?: JsonObject) => readonly FieldError[];

const IMMUTABLE = 'field is immutable';

/** Path of an object's field. */
function child(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

/** Numbers in these fields are zero or more. */
export function nonNegative(
  object: JsonObject,
  path: string,
  ...names: readonly string[]
): readonly FieldError[] {
  return names.flatMap((name) => {
    const value = object[name];
    if (typeof value !== 'number' || value >= 0) return [];
    return [invalid(child(path, name), value, 'must be greater than or equal to 0')];
  });
}

/** A string out of a few; absent is fine. */
export function oneOf(value: unknown, path: string, supported: readonly string[]): readonly FieldError[] {
  if (value === undefined || value === null || supported.includes(String(value))) return [];
  return [notSupported(path, value, supported)];
}

/** The field is as it was. */
export function immutable(next: unknown, old: unknown, path: string): readonly FieldError[] {
  return jsonEquals(next ?? null, old ?? null) ? [] : [invalid(path, next ?? null, IMMUTABLE)];
}

/** One error for each problem of a value. */
export function problems(value: unknown, path: string, texts: readonly string[]): readonly FieldError[] {
  return texts.map((text) => invalid(path, value, text));
}

/** A string that must be there, and what is wrong with it. */
export function named(
  value: unknown,
  path: string,
  rule: (text: string) => readonly string[] = () => [],
): readonly FieldError[] {
  if (typeof value !== 'string' || value === '') return [required(path)];
  return problems(value, path, rule(value));
}

/** The mistakes of the objects of a list, which are checked with their paths. */
export function eachItem(
  list: unknown,
  path: string,
  check: (item: JsonObject, at: string) => readonly FieldError[],
): FieldError[] {
  if (!Array.isArray(list)) return [];
  return errorsOfEach<unknown>(list, (item, index) =>
    isJsonObject(item) ? check(item, `${path}[${index}]`) : [],
  );
}
