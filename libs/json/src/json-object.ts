/** A JSON object whose fields are not changed. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** A JSON object that its maker is still filling. */
export type MutableJsonObject = Record<string, unknown>;

/** True when a JSON value is an object: not an array and not null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
