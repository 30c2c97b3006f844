import { z } from 'zod';
import { isJsonObject, type JsonObject } from '#lib/json';

const MAX_PATHS = 10;
/** `values.messages[-1].content`: names and positions, from the end when negative. */
const PATH = /^(values|metadata|config|interrupts|error)(\.[^.[\]]+|\[-?\d+\])*$/;

const STEP = /\[(-?\d+)\]|([^.[\]]+)/g;

/** Names of a caller's choice → paths into a thread. */
export const extraction = z
  .record(z.string(), z.string().regex(PATH, 'must be a path such as values.messages[-1].content'))
  .refine((paths) => Object.keys(paths).length <= MAX_PATHS, `must not have more than ${MAX_PATHS} paths`);

function valueAt(from: unknown, path: string): unknown {
  let value = from;
  for (const [, position, name = ''] of path.matchAll(STEP))
    if (position !== undefined)
      value = Array.isArray(value) ? (value as unknown[]).at(Number(position)) : undefined;
    else value = isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return value ?? null;
}

/** What a thread has at those paths; null where it has nothing. */
export function extractValues(thread: object, paths: Readonly<Record<string, string>>): JsonObject {
  return Object.fromEntries(Object.entries(paths).map(([name, path]) => [name, valueAt(thread, path)]));
}
