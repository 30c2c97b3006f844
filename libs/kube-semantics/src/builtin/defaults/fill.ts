import { isJsonObject, type JsonObject } from '#lib/json';

/** Fills in defaults of one object; returns the same value when there was nothing to do. */
export type Fill = (object: JsonObject) => JsonObject;

/** Absent as Kubernetes' Go types mean it: missing, null or the empty string. */
function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

/** Several fills, one after the other. */
export function chain(...fills: readonly Fill[]): Fill {
  return (object) => fills.reduce((value, fill) => fill(value), object);
}

/** Fixed values for fields that are absent. */
export function fields(defaults: JsonObject): Fill {
  return filled(defaults, isAbsent);
}

/** The same for fields where zero means absent too. */
export function nonZeroFields(defaults: JsonObject): Fill {
  return filled(defaults, (value) => isAbsent(value) || value === 0);
}

function filled(defaults: JsonObject, isMissing: (value: unknown) => boolean): Fill {
  return (object) => {
    const missing = Object.entries(defaults).filter(([name]) => isMissing(object[name]));
    return missing.length === 0 ? object : { ...object, ...Object.fromEntries(missing) };
  };
}

/** A default that depends on the object. */
export function derived(name: string, value: (object: JsonObject) => unknown): Fill {
  return (object) => {
    if (!isAbsent(object[name])) return object;
    const made = value(object);
    return made === undefined ? object : { ...object, [name]: made };
  };
}

/** Fills the object in a field, when present. */
export function inside(name: string, ...fills: readonly Fill[]): Fill {
  const fill = chain(...fills);
  return (object) => {
    const inner = object[name];
    if (!isJsonObject(inner)) return object;
    const next = fill(inner);
    return next === inner ? object : { ...object, [name]: next };
  };
}

/** Fills the object in a field; an absent one begins empty. */
export function always(name: string, ...fills: readonly Fill[]): Fill {
  return chain(fields({ [name]: {} }), inside(name, ...fills));
}

/** Fills every object in a list. */
export function each(name: string, ...fills: readonly Fill[]): Fill {
  const fill = chain(...fills);
  return (object) => {
    const list = object[name];
    if (!Array.isArray(list)) return object;
    const next = list.map((item) => (isJsonObject(item) ? fill(item) : item));
    return next.every((item, index) => item === list[index]) ? object : { ...object, [name]: next };
  };
}

/** A fill for objects that satisfy a condition. */
export function when(condition: (object: JsonObject) => boolean, ...fills: readonly Fill[]): Fill {
  const fill = chain(...fills);
  return (object) => (condition(object) ? fill(object) : object);
}
