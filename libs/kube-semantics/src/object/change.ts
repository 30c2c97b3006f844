import type { KubeObject, ObjectMeta } from './kube-object.js';

/** The same object with other metadata; undefined fields are dropped. */
export function withMetadata(object: KubeObject, change: Partial<ObjectMeta>): KubeObject {
  return { ...object, metadata: dropUndefined({ ...object.metadata, ...change }) };
}

/** The same object with another value in one top-level field, or without it when the value is undefined. */
export function withField(object: KubeObject, field: string, value: unknown): KubeObject {
  if (value === undefined) {
    const { [field]: dropped, ...rest } = object;
    return dropped === undefined
      ? object
      : { ...rest, apiVersion: object.apiVersion, kind: object.kind, metadata: object.metadata };
  }
  return { ...object, [field]: value };
}

/** A copy without undefined fields. */
export function dropUndefined<T extends object>(value: T): T {
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(entries) as T;
}
