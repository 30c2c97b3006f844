import { randomInt, randomUUID } from 'node:crypto';
import {
  ApiError,
  apiVersionOf,
  badRequest,
  dropUndefined,
  type FieldError,
  invalid,
  type KindRules,
  type KubeObject,
  metaRules,
  type ServedType,
  type StatusCause,
  timestamp,
  trackUpdate,
  validateObjectMeta,
} from '#lib/kube-semantics';

export interface NewObjectRequest {
  readonly served: ServedType;
  /** Decoded, without unknown fields. */
  readonly given: KubeObject;
  /** Namespace in the request's path; empty for cluster-scoped kinds. */
  readonly namespace: string;
  readonly now: Date;
  /** Field manager; undefined when managedFields are already set (server-side apply). */
  readonly manager: string | undefined;
}

const SUFFIX_LETTERS = 'bcdfghjklmnpqrstvwxz2456789';
const MAX_GENERATED_BASE = 58;

/** Kinds that keep the status they are created with. */
const STATUS_AT_CREATION = new Set(['nodes']);

/** A name that is very likely unused: the base and five random letters. */
export function generateName(base: string): string {
  const letters = Array.from({ length: 5 }, () => SUFFIX_LETTERS[randomInt(SUFFIX_LETTERS.length)]);
  return base.slice(0, MAX_GENERATED_BASE) + letters.join('');
}

/** The object as it is to be stored: system fields, defaults, managed fields. */
export function buildNewObject({ served, given, namespace, now, manager }: NewObjectRequest): KubeObject {
  const { type, version } = served;
  checkNewMetadata(given, namespace);
  const { generateName: base, name } = given.metadata;
  const metadata = dropUndefined({
    ...given.metadata,
    name: name || (base ? generateName(base) : undefined),
    namespace: type.namespaced ? namespace : undefined,
    uid: randomUUID(),
    creationTimestamp: timestamp(now),
    generation: type.hasGeneration ? 1 : undefined,
    resourceVersion: undefined,
    selfLink: undefined,
    deletionTimestamp: undefined,
    deletionGracePeriodSeconds: undefined,
  });
  const desired = version.hasStatus && !STATUS_AT_CREATION.has(type.resource) ? withoutStatus(given) : given;
  const defaulted = version.rules.applyDefaults({ ...desired, metadata });
  const tracked =
    manager === undefined
      ? defaulted
      : trackUpdate({
          old: undefined,
          next: defaulted,
          manager,
          operation: 'Update',
          schema: version.rules.schema,
          hasStatus: version.hasStatus,
          apiVersion: apiVersionOf(type.group, version.name),
          time: timestamp(now),
        });
  return version.rules.prepareForCreate(tracked);
}

/** Throws 422 with every mistake of an object to be created. */
export function validateNewObject({ type, version }: ServedType, object: KubeObject): void {
  const metadata = validateObjectMeta(object, metaRules(type));
  const body = version.rules.validate(object);
  const errors = [...metadata, ...body, ...uncheckedRules(version.rules, metadata, body)];
  if (errors.length > 0) throw invalid(type, object.metadata.name ?? '', errors);
}

const BLOCKING: ReadonlySet<string> = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);

/** The word that CEL rules were left out because of mistakes in the metadata; the schema says so about its own. */
function uncheckedRules(
  rules: KindRules,
  metadata: readonly FieldError[],
  body: readonly FieldError[],
): readonly StatusCause[] {
  const isSaid = body.some((error) => error.field === '<nil>');
  if (!rules.hasExpressions || isSaid || !metadata.some(({ reason }) => BLOCKING.has(reason))) return [];
  const detail =
    'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';
  return [{ field: '<nil>', reason: 'FieldValueInvalid', message: `Invalid value: null: ${detail}` }];
}

function checkNewMetadata(given: KubeObject, namespace: string): void {
  if (given.metadata.resourceVersion)
    throw new ApiError(500, '', 'resourceVersion should not be set on objects to be created');
  if (given.metadata.namespace && given.metadata.namespace !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
}

/** The object without its status: that is written through its own subresource. */
export function withoutStatus(object: KubeObject): KubeObject {
  if (object.status === undefined) return object;
  const { status: _status, ...rest } = object;
  return { ...rest, apiVersion: object.apiVersion, kind: object.kind, metadata: object.metadata };
}
