import type { Clock } from '#lib/time';
import {
  alreadyExists,
  ApiError,
  apiVersionOf,
  applyServerSide,
  badRequest,
  conflict,
  forbidden,
  generateNameExhausted,
  inVersion,
  type KubeObject,
  notFound,
  qualified,
  type ResourceType,
  type ServedType,
  storageKey,
  timestamp,
} from '#lib/kube-semantics';
import { admitNew, awaitDefaultAccount } from '../admission/admission.js';
import type { Decision, ObjectStore } from '../store/object-store.js';
import type { StoredObject } from '../store/stored-object.js';
import { completeCrd } from './crd-status.js';
import type { DeleteOptions } from './write-options.js';
import { decideDeletion, isReleased } from './deletion.js';
import { buildNewObject, generateName, validateNewObject } from './new-object.js';
import { buildUpdatedObject } from './updated-object.js';

/** Object of a request. */
export interface ObjectTarget {
  readonly served: ServedType;
  /** Empty for cluster-scoped kinds. */
  readonly namespace: string;
  readonly name: string;
}

export interface WriteContext {
  readonly manager: string;
  readonly dryRun?: boolean;
  /** Empty for the object itself. */
  readonly subresource?: string;
  /** Looks at what is about to be stored, and throws when the caller may not. */
  readonly check?: (next: KubeObject, old: KubeObject | undefined) => void;
}

/** Result of a write; `object` is in the request's version. */
export interface WriteResult {
  readonly object: KubeObject;
  readonly outcome: 'created' | 'updated' | 'unchanged' | 'deleted';
}

export interface ApplyOptions extends WriteContext {
  readonly force: boolean;
}

const GENERATE_ATTEMPTS = 8;
const PROTECTED_NAMESPACES = new Set(['default', 'kube-system', 'kube-public', 'kube-node-lease']);

/**
 * Creates, updates, applies and deletes objects of every kind, with one set of rules. HTTP handlers decode and encode
 * around it; the server's own parts use it directly.
 */
export class ObjectService {
  constructor(
    private readonly store: ObjectStore,
    private readonly clock: Clock,
  ) {}

  find({ served, namespace, name }: ObjectTarget): StoredObject | undefined {
    return this.store.get({ resource: storageKey(served.type), namespace, name });
  }

  get(target: ObjectTarget): StoredObject {
    const found = this.find(target);
    if (!found) throw notFound(target.served.type, target.name);
    return found;
  }

  async create(
    served: ServedType,
    namespace: string,
    given: KubeObject,
    context: WriteContext,
  ): Promise<WriteResult> {
    if (isPod(served.type)) await awaitDefaultAccount(given, namespace, this.store, this.clock);
    const isGenerated = !given.metadata.name && Boolean(given.metadata.generateName);
    for (let attempt = 1; ; attempt++) {
      const object = this.#newObject(
        served,
        namespace,
        isGenerated ? withGeneratedName(given) : given,
        context.manager,
      );
      const name = object.metadata.name ?? '';
      try {
        return await this.#insert({ served, namespace, name }, object, context);
      } catch (error) {
        const isTaken = error instanceof ApiError && error.reason === 'AlreadyExists';
        if (!isGenerated || !isTaken) throw error;
        if (attempt === GENERATE_ATTEMPTS) throw generateNameExhausted(served.type, name);
      }
    }
  }

  /**
   * Changes an object: `change` sees the committed one in the request's version and says what it should be. It may
   * throw; it runs once.
   */
  async update(
    target: ObjectTarget,
    change: (current: KubeObject) => KubeObject,
    context: WriteContext,
  ): Promise<WriteResult> {
    return this.#write(target, context, (current) => {
      if (!current) throw notFound(target.served.type, target.name);
      return this.#updated(target, current, change(current), context);
    });
  }

  /** Changes what the API does not let clients change: a pod's node. No validation, no managed fields. */
  async bind(
    target: ObjectTarget,
    change: (current: KubeObject) => KubeObject,
    options: { dryRun?: boolean },
  ): Promise<void> {
    await this.#write(target, options, (current) => {
      if (!current) throw notFound(target.served.type, target.name);
      return { kind: 'put', object: change(current) };
    });
  }

  /** Server-side apply: creates or merges, with honest ownership. 409 lists the fields that others own. */
  async apply(target: ObjectTarget, applied: KubeObject, options: ApplyOptions): Promise<WriteResult> {
    const { served, namespace } = target;
    const { type, version } = served;
    if (isPod(type) && !this.find(target))
      await awaitDefaultAccount(applied, namespace, this.store, this.clock);
    return this.#write(target, options, (current) => {
      if (!current && options.subresource) throw notFound(type, target.name);
      if (!current && applied.metadata.uid) {
        const why =
          'uid mismatch: the provided object specified uid ' +
          `${applied.metadata.uid}, and no existing object was found`;
        throw conflict(type, target.name, why);
      }
      const result = applyServerSide({
        live: current,
        applied,
        manager: options.manager,
        force: options.force,
        schema: version.rules.schema,
        hasStatus: version.hasStatus,
        apiVersion: apiVersionOf(type.group, version.name),
        ...(options.subresource ? { subresource: options.subresource } : {}),
        time: timestamp(this.clock.now()),
      });
      if (result.kind === 'invalid') throw applyRefused(result);
      if (result.kind === 'conflict') {
        const causes = result.conflicts.map(({ message, field }) => ({
          reason: 'FieldManagerConflict',
          message,
          field,
        }));
        throw new ApiError(409, 'Conflict', result.message, { causes });
      }
      const merged = {
        ...result.object,
        apiVersion: applied.apiVersion,
        kind: applied.kind,
        metadata: metadataOf(result.object),
      };
      if (!current) return { kind: 'put', object: this.#newObject(served, namespace, merged, undefined) };
      return this.#updated(target, current, merged, { subresource: options.subresource ?? '' });
    });
  }

  async delete(target: ObjectTarget, options: DeleteOptions): Promise<WriteResult> {
    const { type } = target.served;
    if (qualified(type) === 'namespaces' && PROTECTED_NAMESPACES.has(target.name)) {
      throw forbidden(type, target.name, 'this namespace may not be deleted');
    }
    return this.#write(target, options, (current) => {
      if (!current) throw notFound(type, target.name);
      return decideDeletion(type, current, options, this.clock.now());
    });
  }

  #newObject(
    served: ServedType,
    namespace: string,
    given: KubeObject,
    manager: string | undefined,
  ): KubeObject {
    const built = buildNewObject({ served, given, namespace, now: this.clock.now(), manager });
    const admitted = admitNew(built, { type: served.type, namespace, store: this.store });
    validateNewObject(served, admitted);
    return isCrd(served.type) ? completeCrd(admitted, undefined, this.clock.now()) : admitted;
  }

  #updated(
    target: ObjectTarget,
    old: KubeObject,
    given: KubeObject,
    context: { manager?: string; subresource?: string },
  ): Decision {
    const { served } = target;
    const subresource = context.subresource ?? '';
    const now = this.clock.now();
    const next = buildUpdatedObject({ served, old, given, subresource, now, manager: context.manager });
    if (next === old) return isReleased(old) ? { kind: 'delete', object: old } : { kind: 'keep' };
    if (isReleased(next)) return { kind: 'delete', object: next };
    return { kind: 'put', object: isCrd(served.type) ? completeCrd(next, old, now) : next };
  }

  async #insert(target: ObjectTarget, object: KubeObject, context: WriteContext): Promise<WriteResult> {
    return this.#write(target, context, (current) => {
      if (current) throw alreadyExists(target.served.type, target.name);
      return { kind: 'put', object };
    });
  }

  /** Runs a decision under the object's lock, in the request's version, and stores what it decides. */
  async #write(
    { served, namespace, name }: ObjectTarget,
    { dryRun: isDryRun = false, check }: Pick<WriteContext, 'dryRun' | 'check'>,
    decide: (current: KubeObject | undefined) => Decision,
  ): Promise<WriteResult> {
    const { type, version } = served;
    const requested = apiVersionOf(type.group, version.name);
    const stored = apiVersionOf(type.storageGroup ?? type.group, type.storageVersion);
    const seen: { before: KubeObject | undefined; decision: Decision } = {
      before: undefined,
      decision: { kind: 'keep' },
    };
    const decideStored = (current: StoredObject | undefined): Decision => {
      seen.before = current && inVersion(current.object, requested);
      const decision = decide(seen.before);
      // an update that takes the last finalizer ends in a deletion
      if (decision.kind !== 'keep') check?.(decision.object, seen.before);
      seen.decision = decision;
      return decision.kind === 'keep'
        ? decision
        : { ...decision, object: inVersion(decision.object, stored) };
    };
    const key = { resource: storageKey(type), namespace, name };
    const committed = await this.store.change(key, decideStored, { isDryRun });
    const after = isDryRun ? undefined : committed && inVersion(committed.object, requested);
    return resultOf(seen.decision, seen.before, after);
  }
}

function resultOf(
  decision: Decision,
  before: KubeObject | undefined,
  committed: KubeObject | undefined,
): WriteResult {
  if (decision.kind === 'keep') {
    if (!before) throw badRequest('nothing to write');
    return { object: before, outcome: 'unchanged' };
  }
  const object = committed ?? decision.object;
  if (decision.kind === 'delete') return { object, outcome: 'deleted' };
  return { object, outcome: before ? 'updated' : 'created' };
}

function withGeneratedName(given: KubeObject): KubeObject {
  return { ...given, metadata: { ...given.metadata, name: generateName(given.metadata.generateName ?? '') } };
}

function applyRefused({
  status,
  message,
}: {
  readonly status: 400 | 422 | 500;
  readonly message: string;
}): ApiError {
  if (status === 400) return badRequest(message);
  return status === 422 ? new ApiError(422, 'Invalid', message, {}) : new ApiError(500, '', message);
}

function metadataOf(object: Readonly<Record<string, unknown>>): KubeObject['metadata'] {
  const { metadata } = object;
  return typeof metadata === 'object' && metadata !== null ? metadata : {};
}

function isPod(type: ResourceType): boolean {
  return type.resource === 'pods' && type.group === '';
}

function isCrd(type: ResourceType): boolean {
  return type.resource === 'customresourcedefinitions' && type.group === 'apiextensions.k8s.io';
}
