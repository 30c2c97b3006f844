import type { KubeClient, Untyped } from '#lib/kube';
import type { ObjectKey } from '#lib/resources';
import { findKind, type Kind } from './find-kind.js';
import type { ManifestObject } from './read-manifest.js';

/** An object as it was applied. */
export interface AppliedObject {
  readonly kind: Kind;
  readonly key: ObjectKey;
  readonly generation: number;
  readonly verb: 'created' | 'changed' | 'unchanged';
}

/**
 * Applies one object of a manifest.
 * @param namespace of those that name none
 */
export async function applyObject(
  client: KubeClient,
  object: ManifestObject,
  namespace: string,
): Promise<AppliedObject> {
  const [version = '', group = ''] = object.apiVersion.split('/').reverse();
  const kind = await findKind(client, group === '' ? object.kind : `${object.kind}.${group}`);
  const metadata = kind.namespaced ? { namespace, ...object.metadata } : object.metadata;
  const key = {
    name: metadata.name,
    ...(kind.namespaced ? { namespace: metadata.namespace ?? namespace } : {}),
  };
  const before = await client.find({ ...kind, version }, key);
  const after = await client.apply({ ...kind, version }, { ...object, metadata });
  // kinds without a spec have no generation
  const markOf = ({ metadata: { generation, resourceVersion } }: Untyped): unknown =>
    generation ?? resourceVersion;
  const verb = before === undefined ? 'created' : markOf(before) === markOf(after) ? 'unchanged' : 'changed';
  return { kind, key, verb, generation: after.metadata.generation ?? 1 };
}
