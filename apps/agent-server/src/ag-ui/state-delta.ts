import { jsonEquals, type JsonObject } from '#lib/json';

function pointer(key: string): string {
  return `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** Items that a list has beyond an earlier form of it; undefined when it differs otherwise. */
function added(before: unknown, now: unknown): readonly unknown[] | undefined {
  if (!Array.isArray(before) || !Array.isArray(now) || now.length <= before.length) return undefined;
  return before.every((item, at) => jsonEquals(item, now[at])) ? now.slice(before.length) : undefined;
}

/** The difference of two states as operations of JSON Patch, one for each member or added item. */
export function stateDelta(before: JsonObject, now: JsonObject): readonly JsonObject[] {
  const removed = Object.keys(before)
    .filter((key) => !Object.hasOwn(now, key))
    .map((key) => ({ op: 'remove', path: pointer(key) }));
  const changed = Object.entries(now).flatMap(([key, value]): JsonObject[] => {
    if (!Object.hasOwn(before, key)) return [{ op: 'add', path: pointer(key), value }];
    if (jsonEquals(before[key], value)) return [];
    const items = added(before[key], value);
    return items
      ? items.map((item) => ({ op: 'add', path: `${pointer(key)}/-`, value: item }))
      : [{ op: 'replace', path: pointer(key), value }];
  });
  return [...removed, ...changed];
}
