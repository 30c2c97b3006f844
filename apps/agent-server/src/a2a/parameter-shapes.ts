import { z } from 'zod';
import { isJsonObject, type JsonObject } from '#lib/json';
import { A2aError, invalidParam, type Violation } from './envelope.js';

/** Members of parameters of 1.0 whose name in the protocol's definition differs from that in JSON. */
const NAMES = new Map(
  [
    'messageId',
    'contextId',
    'taskId',
    'referenceTaskIds',
    'mediaType',
    'acceptedOutputModes',
    'historyLength',
    'historyScope',
    'returnImmediately',
    'taskPushNotificationConfig',
    'pageSize',
    'pageToken',
    'statusTimestampAfter',
    'includeArtifacts',
  ].map((name) => [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), name]),
);

/** Members that hold parameters; the content of all others is the client's own. */
const INNER: ReadonlySet<string> = new Set([
  'message',
  'parts',
  'configuration',
  'taskPushNotificationConfig',
]);

/**
 * Parameters by their names in JSON: readers of the protocol's definition take both spellings.
 * @throws A2aError `invalidParams` for a member that comes in both
 */
export function withJsonNames(given: unknown, at = ''): unknown {
  if (Array.isArray(given)) return given.map((item, index) => withJsonNames(item, `${at}[${index}].`));
  if (!isJsonObject(given)) return given;
  const found: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(given)) {
    const name = NAMES.get(key) ?? key;
    if (name !== key && Object.hasOwn(given, name))
      throw invalidParam(at + name, `comes twice, as ${key} too`);
    found[name] = INNER.has(name) ? withJsonNames(value, `${at}${name}.`) : value;
  }
  return found satisfies JsonObject;
}

/** Texts that become part of rows and of every answer. */
export const text = z
  .string()
  .max(1_024, 'must not be longer than 1024 characters')
  .regex(/^[^\u0000]*$/, 'must not hold a NUL character');
/** An object as it came: a record of the library would lose a member called `__proto__` without a word. */
export const record = z.custom<JsonObject>(isJsonObject, 'must be an object');
export const name = text.max(255, 'must not be longer than 255 characters');
/** Clients of 1.0 may send an empty text for none. */
export const optionalName = name.nullish().transform((given) => given || undefined);

/** @throws A2aError `invalidParams` naming every wrong field */
export function parse<T>(shape: z.ZodType<T>, given: unknown): T {
  const parsed = shape.safeParse(given ?? {});
  if (parsed.success) return parsed.data;
  const violations = parsed.error.issues.map((issue): Violation => {
    return { field: fieldOf(issue.path), description: issue.message };
  });
  const shown = violations.slice(0, 20);
  const what = shown.map(({ field, description }) => `${field}: ${description}`).join('; ');
  throw new A2aError('invalidParams', `Invalid params: ${what}`, shown);
}

function fieldOf(path: readonly PropertyKey[]): string {
  return path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .slice(1);
}
