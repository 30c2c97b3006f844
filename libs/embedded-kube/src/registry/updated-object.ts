import { isJsonObject, jsonEquals } from '#lib/json';
import {
  apiVersionOf,
  at,
  badRequest,
  dropUndefined,
  invalid,
  type KubeObject,
  modified,
  type ObjectMeta,
  recordAt,
  type ServedType,
  timestamp,
  trackUpdate,
  validateObjectMetaUpdate,
  withField,
  withoutNoOp,
} from '#lib/kube-semantics';
import { withoutStatus } from './new-object.js';

export interface UpdateObjectRequest {
  readonly served: ServedType;
  /** The committed object in the request's version. */
  readonly old: KubeObject;
  /** The caller's object, decoded, without unknown fields. */
  readonly given: KubeObject;
  /** Empty for the object itself. */
  readonly subresource: string;
  readonly now: Date;
  /** Field manager; undefined when managedFields are already set (server-side apply). */
  readonly manager: string | undefined;
}

/** Kinds whose `/status` may also change labels and annotations. */
const METADATA_WITH_STATUS = new Set(['pods', 'nodes', 'services', 'namespaces']);

/**
 * The object as it is to be stored after an update: the old one itself when nothing changed. Throws 409 when the
 * caller has read an older object, 422 with every mistake.
 */
export function buildUpdatedObject(request: UpdateObjectRequest): KubeObject {
  const { served, old, now, manager, subresource } = request;
  const { type, version } = served;
  checkIdentity(request);
  const scoped = subresource === 'status' ? statusUpdate(request) : mainUpdate(request);
  const named: KubeObject = { ...scoped, metadata: keepSystemFields(scoped.metadata, old.metadata) };
  const defaulted = version.rules.applyDefaults(named);
  const next = withGeneration(served, old, defaulted);
  const errors = [
    ...validateObjectMetaUpdate(next, old),
    ...version.rules.validate(next, old, subresource || undefined),
  ];
  if (errors.length > 0) throw invalid(type, old.metadata.name ?? '', errors);
  if (manager === undefined) return withoutNoOp(old, next);
  const tracked = trackUpdate({
    old,
    next,
    manager,
    operation: 'Update',
    schema: version.rules.schema,
    hasStatus: version.hasStatus,
    apiVersion: apiVersionOf(type.group, version.name),
    ...(subresource ? { subresource } : {}),
    time: timestamp(now),
  });
  return withoutNoOp(old, tracked);
}

function checkIdentity({ served, old, given }: UpdateObjectRequest): void {
  const { name, namespace, resourceVersion } = given.metadata;
  const oldName = old.metadata.name ?? '';
  if (name !== undefined && name !== oldName) {
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${oldName})`);
  }
  if (namespace && namespace !== old.metadata.namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  if (resourceVersion && resourceVersion !== '0' && resourceVersion !== old.metadata.resourceVersion) {
    throw modified(served.type, oldName);
  }
}

function mainUpdate(request: UpdateObjectRequest): KubeObject {
  const { served, old } = request;
  const given = keepAllocated(request);
  if (!served.version.hasStatus) return given;
  return old.status === undefined ? withoutStatus(given) : withField(given, 'status', old.status);
}

/** Fields that others set and an ordinary update leaves alone. */
function keepAllocated({ served, old, given, subresource }: UpdateObjectRequest): KubeObject {
  const { group, resource } = served.type;
  if (group !== '') return given;
  if (resource === 'namespaces' && subresource !== 'finalize') return withField(given, 'spec', old.spec);
  const spec = recordAt(given, 'spec');
  if (resource !== 'services' || spec.clusterIP || spec.type === 'ExternalName') return given;
  const { clusterIP, clusterIPs } = recordAt(old, 'spec');
  return withField(given, 'spec', dropUndefined({ ...spec, clusterIP, clusterIPs }));
}

function statusUpdate({ served, old, given }: UpdateObjectRequest): KubeObject {
  const { managedFields, labels, annotations, finalizers } = given.metadata;
  const status = served.type.resource === 'pods' ? withPodAddresses(given.status) : given.status;
  const withStatus = status === undefined ? withoutStatus(old) : withField(old, 'status', status);
  const metadata = METADATA_WITH_STATUS.has(served.type.resource)
    ? { ...old.metadata, managedFields, labels, annotations, finalizers }
    : { ...old.metadata, managedFields };
  return { ...withStatus, metadata };
}

/** `podIP` and the first of `podIPs` are one fact. */
function withPodAddresses(status: unknown): unknown {
  if (!isJsonObject(status) || typeof status.podIP !== 'string' || status.podIP === '') return status;
  return at(status, 'podIPs', 0, 'ip') === status.podIP
    ? status
    : { ...status, podIPs: [{ ip: status.podIP }] };
}

function keepSystemFields(next: ObjectMeta, old: ObjectMeta): ObjectMeta {
  return dropUndefined({
    ...next,
    name: old.name,
    namespace: old.namespace,
    uid: next.uid || old.uid,
    generateName: next.generateName ?? old.generateName,
    creationTimestamp: old.creationTimestamp,
    deletionTimestamp: old.deletionTimestamp,
    deletionGracePeriodSeconds: old.deletionGracePeriodSeconds,
    generation: old.generation,
    resourceVersion: old.resourceVersion,
    selfLink: undefined,
  });
}

function withGeneration({ type, version }: ServedType, old: KubeObject, next: KubeObject): KubeObject {
  if (!type.hasGeneration) return next;
  const isChanged =
    !jsonEquals(desiredPart(old, version.hasStatus), desiredPart(next, version.hasStatus)) ||
    (type.resource === 'deployments' &&
      !jsonEquals(old.metadata.annotations ?? {}, next.metadata.annotations ?? {}));
  if (!isChanged) return next;
  return { ...next, metadata: { ...next.metadata, generation: (old.metadata.generation ?? 0) + 1 } };
}

function desiredPart(object: KubeObject, hasStatus: boolean): unknown {
  const { apiVersion: _apiVersion, kind: _kind, metadata: _metadata, ...rest } = object;
  if (!hasStatus) return rest;
  const { status: _status, ...desired } = rest;
  return desired;
}
