import type { ObjectMeta as ReadMeta } from '#lib/resources';

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

/** RFC 3339 with whole seconds, as Kubernetes writes times: `2026-01-02T03:04:05Z`. */
export function timestamp(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}

/** Metadata as a client may send them. */
export interface ObjectMeta extends Partial<Omit<ReadMeta, 'creationTimestamp'>> {
  readonly creationTimestamp?: string | null;
  readonly managedFields?: readonly unknown[];
}

/**
 * Any Kubernetes object. Objects are values: stored objects are shared by all readers and are never changed,
 * a change makes a new object.
 */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}
