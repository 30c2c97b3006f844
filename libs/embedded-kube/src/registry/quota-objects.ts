import { errorText } from '#lib/errors';
import { ApiError } from '#lib/kube-semantics';
import type { Logger } from '#lib/telemetry';
import { QUOTA_NAME } from '../store/namespace-quota.js';
import type { ObjectStore } from '../store/object-store.js';
import type { StoredObject } from '../store/stored-object.js';
import type { ObjectService } from './object-service.js';
import type { TypeRegistry } from './type-registry.js';

const NAMESPACES = 'namespaces';
const QUOTAS = 'resourcequotas';
const MANAGER = 'kube-apiserver';

interface QuotaObjectsParts {
  readonly store: ObjectStore;
  readonly types: TypeRegistry;
  readonly objects: ObjectService;
  readonly log: Logger;
}

/**
 * Gives each namespace with limits the ResourceQuota that refusals name. What is stored is empty: limits and usage
 * are filled in when it is read, so that no change of an object writes a second one.
 */
export async function showQuotas(parts: QuotaObjectsParts): Promise<void> {
  const { store, log } = parts;
  store.subscribe(({ resource, type, name }) => {
    if (resource !== NAMESPACES || type !== 'ADDED') return;
    ensureQuota(parts, name).catch((error: unknown) => {
      log.warn(
        { namespace: name, error: errorText(error) },
        'making the ResourceQuota of a namespace failed',
      );
    });
  });
  for (const { object } of store.list(NAMESPACES))
    if (object.metadata.deletionTimestamp === undefined) await ensureQuota(parts, object.metadata.name ?? '');
}

async function ensureQuota({ store, types, objects }: QuotaObjectsParts, namespace: string): Promise<void> {
  const served = types.findServed('', 'v1', QUOTAS);
  if (!served || store.limitsOf(namespace) === undefined) return;
  if (store.get({ resource: QUOTAS, namespace, name: QUOTA_NAME })) return;
  const given = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: QUOTA_NAME }, spec: {} };
  try {
    await objects.create(served, namespace, given, { manager: MANAGER });
  } catch (error) {
    if (!(error instanceof ApiError && error.reason === 'AlreadyExists')) throw error;
  }
}

/** Objects to be shown: quotas of namespaces get their limits and the present use. */
export function withUsage(
  store: ObjectStore,
  resource: string,
  items: readonly StoredObject[],
): readonly StoredObject[] {
  if (resource !== QUOTAS) return items;
  return items.map((stored) => {
    const { name, namespace = '' } = stored.object.metadata;
    const limits = name === QUOTA_NAME ? store.limitsOf(namespace) : undefined;
    if (!limits) return stored;
    const object = { ...stored.object, spec: { hard: limits.hard }, status: limits };
    return { ...stored, object, json: JSON.stringify(object) };
  });
}
