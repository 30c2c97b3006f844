import { isJsonObject, type JsonObject } from '#lib/json';

/** A patch that cannot be used. `status` 400: malformed; 422: it does not fit the object (test failed, path missing); 413: too many operations; 500: what Kubernetes answers so. */
export class PatchError extends Error {
  constructor(
    readonly status: 400 | 413 | 415 | 422 | 500,
    message: string,
  ) {
    super(message);
    this.name = 'PatchError';
  }
}

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
