import { isJsonObject, type JsonObject } from '#lib/json';
import { invalidParam } from './envelope.js';

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
