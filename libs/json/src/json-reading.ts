import { isJsonObject } from './json-object.js';

/** The field of an object; undefined when it is not its own, as an inherited `constructor`. */
export function own(object: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** The value at a path of field names; undefined when any step is missing. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  let here: unknown = value;
  for (const step of path) {
    if (Array.isArray(here)) here = typeof step === 'number' ? here[step] : undefined;
    else if (isJsonObject(here)) here = own(here, String(step));
    else return undefined;
  }
  return here;
}

/** The object at a path, or an empty one. */
export function recordAt(
  value: unknown,
  ...path: readonly (string | number)[]
): Readonly<Record<string, unknown>> {
  const found = at(value, ...path);
  return isJsonObject(found) ? found : {};
}

/** The list at a path, or an empty one. */
export function listAt(value: unknown, ...path: readonly (string | number)[]): readonly unknown[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** The string at a path; numbers and booleans as text, anything else as `fallback`. */
export function textAt(value: unknown, path: readonly (string | number)[], fallback = ''): string {
  const found = at(value, ...path);
  if (typeof found === 'string') return found;
  return typeof found === 'number' || typeof found === 'boolean' ? String(found) : fallback;
}

/** The number at a path, or `fallback`. */
export function numberAt(value: unknown, path: readonly (string | number)[], fallback = 0): number {
  const found = at(value, ...path);
  return typeof found === 'number' ? found : fallback;
}

/** The strings of the list at a path. */
export function textsAt(value: unknown, ...path: readonly (string | number)[]): readonly string[] {
  return listAt(value, ...path).filter((item) => typeof item === 'string');
}
