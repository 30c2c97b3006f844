import { isJsonObject, type JsonObject, parseExactJson } from '#lib/json';
import { recordAt, textAt } from '../object/reading.js';
import type { SchemaNode } from '../schema/schema-node.js';
import { compare } from './compare.js';
import { FieldSet } from './field-set.js';
import { toFieldSet } from './to-field-set.js';

const ANNOTATION = 'kubectl.kubernetes.io/last-applied-configuration';

function lastApplied(object: JsonObject): string {
  return textAt(object, ['metadata', 'annotations', ANNOTATION]);
}

/**
 * Fields that client-side apply set and no other manager has changed since: kubectl may take these over by server-side apply without
 * a conflict.
 */
export function fieldsOfLastApplied(live: JsonObject, schema: SchemaNode, apiVersion: string): FieldSet {
  const parsed = parse(lastApplied(live));
  if (parsed === undefined || parsed['apiVersion'] !== apiVersion) return FieldSet.EMPTY;
  const { modified, added, removed } = compare(parsed, live, schema);
  return toFieldSet(parsed, schema).difference(modified).difference(added).difference(removed);
}

function parse(text: string): JsonObject | undefined {
  try {
    const value: unknown = parseExactJson(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** kubectl's annotation follows its server-side applies, so that a later client-side apply knows what it sent. */
export function withLastApplied(object: JsonObject, applied: JsonObject): JsonObject {
  if (lastApplied(object) === '') return object;
  const metadata = recordAt(applied, 'metadata');
  const { [ANNOTATION]: _, ...annotations } = recordAt(metadata, 'annotations');
  const kept = Object.keys(annotations).length === 0 ? {} : { annotations };
  const { annotations: __, ...rest } = metadata;
  const text = `${JSON.stringify(sorted({ ...applied, metadata: { ...rest, ...kept } }))}\n`;
  const stored = recordAt(object, 'metadata');
  return {
    ...object,
    metadata: { ...stored, annotations: { ...recordAt(stored, 'annotations'), [ANNOTATION]: text } },
  };
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [key, sorted(item)]),
  );
}
