import { isJsonObject, parseJson } from '#lib/json';

/** Value of a stored payload. @returns undefined for a longer one, and for one that is not JSON */
export function readPayload(payload: Buffer | undefined, maxBytes: number): unknown {
  if (!payload || payload.length > maxBytes) return undefined;
  try {
    return parseJson(payload.toString());
  } catch {
    return undefined;
  }
}

/** Members of an object in a payload; none where it has no such object. */
export function membersIn(values: unknown, name: string): readonly (readonly [string, unknown])[] {
  const found = isJsonObject(values) ? values[name] : undefined;
  return isJsonObject(found) ? Object.entries(found) : [];
}
