import { isJsonObject, type JsonObject } from '#lib/json';
import { PatchError } from './patch-error.js';

/** Applies an RFC 7386 merge patch; a patch that is no object is a PatchError 400. */
export function mergePatch<T extends JsonObject>(object: T, patch: unknown): T {
  if (!isJsonObject(patch)) throw new PatchError(400, 'Invalid JSON Patch');
  return merged(object, patch) as T;
}

function merged(target: unknown, patch: JsonObject): JsonObject {
  const out = new Map<string, unknown>(isJsonObject(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) out.delete(name);
    else out.set(name, isJsonObject(value) ? merged(out.get(name), value) : value);
  }
  return Object.fromEntries(out);
}
