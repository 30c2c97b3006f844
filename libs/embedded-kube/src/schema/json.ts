/** A JSON object whose fields nobody changes. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** A JSON object that its maker is still filling. */
export type MutableJsonObject = Record<string, unknown>;

/** A JSON object, not an array and not null. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
