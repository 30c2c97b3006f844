import { isJsonObject, type JsonObject } from '#lib/json';
import { applyServerSide } from '../apply/apply-server-side.js';
import { trackUpdate, withoutNoOp } from '../apply/track-update.js';
import { type BuiltinKind, builtinKinds } from '../builtin/builtin-kinds.js';
import { compileSchema } from '../compiled-schema/compile-schema.js';
import { at, recordAt, textAt } from '../object/reading.js';
import { jsonPatch } from '../patch/json-patch.js';
import { mergePatch, PatchError } from '../patch/merge-patch.js';
import { strategicMergePatch } from '../patch/strategic-merge-patch.js';
import type { CompiledSchema } from '../schema/schema-node.js';
import type { FieldError } from '../schema/field-error.js';
import { validateObjectMeta, validateObjectMetaUpdate, type ObjectMetaRules } from '../schema/object-meta.js';
import { invalid } from '../status/errors.js';

const TIME = '2026-01-02T03:04:05Z';

/** A resource of the recorded cases. */
export interface ReplayedResource {
  readonly kind: string;
  readonly group: string;
  readonly version: string;
  readonly rules: ObjectMetaRules;
  readonly hasStatus: boolean;
  readonly schema: CompiledSchema;
  readonly builtin: BuiltinKind | undefined;
}

/** One step of a case: a write and how it is made. */
export interface Step {
  readonly manager?: string;
  readonly subresource?: string;
  readonly force?: boolean;
  readonly strict?: boolean;
  readonly create?: JsonObject;
  readonly update?: JsonObject;
  readonly apply?: JsonObject;
  readonly merge?: JsonObject;
  readonly json?: unknown;
  readonly strategic?: JsonObject;
}

export function customResource(crd: JsonObject): ReplayedResource {
  const version = recordAt(crd, 'spec', 'versions', 0);
  return {
    kind: textAt(crd, ['spec', 'names', 'kind']),
    group: textAt(crd, ['spec', 'group']),
    version: textAt(version, ['name']),
    rules: { namespaced: at(crd, 'spec', 'scope') === 'Namespaced', nameRule: 'dns-subdomain' },
    hasStatus: isJsonObject(at(version, 'subresources', 'status')),
    schema: compileSchema(recordAt(version, 'schema', 'openAPIV3Schema')),
    builtin: undefined,
  };
}

export function builtinResource(group: string, version: string, plural: string): ReplayedResource {
  const kind = builtinKinds.find((candidate) => candidate.group === group && candidate.plural === plural);
  if (kind === undefined) throw new Error(`${plural} is not built in`);
  return {
    kind: kind.kind,
    group,
    version,
    rules: kind,
    hasStatus: kind.subresources.includes('status'),
    schema: kind.schema,
    builtin: kind,
  };
}

/** An answer that is no object. */
export class Refused extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly causes?: readonly unknown[],
  ) {
    super(message);
  }
}

/** The write path of an API server in small: enough of it to compare semantics, without storage and HTTP. */
export class Replay {
  #stored: JsonObject | undefined;

  constructor(readonly resource: ReplayedResource) {}

  perform(step: Step): JsonObject {
    const owned = step.apply === undefined ? this.#written(step) : this.#applied(step, step.apply);
    const next =
      this.#stored === undefined ? (this.resource.builtin?.prepareForCreate(owned) ?? owned) : owned;
    this.#stored = this.#stored === undefined ? next : withoutNoOp(this.#stored, next);
    return this.#stored;
  }

  #applied(step: Step, applied: JsonObject): JsonObject {
    const result = applyServerSide({
      ...this.#tracking(step),
      live: this.#stored,
      applied,
      force: step.force === true,
    });
    if (result.kind === 'invalid') throw new Refused(result.status, result.message);
    if (result.kind === 'conflict') {
      const causes = result.conflicts.map(({ message, field }) => ({
        reason: 'FieldManagerConflict',
        message,
        field,
      }));
      throw new Refused(409, result.message, causes);
    }
    return this.#finished(step, result.object);
  }

  #written(step: Step): JsonObject {
    const next = this.#finished(step, this.#changed(step));
    return trackUpdate({ ...this.#tracking(step), old: this.#stored, next, operation: 'Update' });
  }

  #changed(step: Step): JsonObject {
    if (step.create !== undefined) return this.#decoded(step, step.create);
    const old = this.#stored ?? {};
    if (step.update !== undefined) return this.#decoded(step, step.update);
    try {
      return this.#decoded(step, this.#patched(step, old));
    } catch (thrown) {
      if (thrown instanceof PatchError) throw new Refused(thrown.status, thrown.message);
      throw thrown;
    }
  }

  #patched(step: Step, old: JsonObject): JsonObject {
    if (step.json !== undefined) return jsonPatch(old, step.json);
    if (step.strategic !== undefined) return strategicMergePatch(this.resource, old, step.strategic);
    return mergePatch(old, step.merge);
  }

  #decoded(step: Step, object: JsonObject): JsonObject {
    const { kind, version } = this.resource;
    const { unknownFields, object: pruned } = this.resource.schema.prune(object);
    if (step.strict === true && unknownFields.length > 0) {
      const list = unknownFields.map((field) => `unknown field "${field}"`).join(', ');
      const text = `${kind} in version "${version}" cannot be handled as a ${kind}: strict decoding error: ${list}`;
      throw new Refused(400, text);
    }
    return pruned;
  }

  /** What every write goes through after its own merging: system fields, defaults, validation. */
  #finished(step: Step, object: JsonObject): JsonObject {
    const { builtin, schema, rules } = this.resource;
    const old = this.#stored;
    const next = (builtin ?? schema).applyDefaults(this.#scoped(step, object));
    const meta = old === undefined ? validateObjectMeta(next, rules) : validateObjectMetaUpdate(next, old);
    const options = step.subresource === undefined ? {} : { subresource: step.subresource };
    const rest = builtin?.validate(next, old) ?? schema.validate(next, old, options);
    this.#refuse([...meta, ...rest], textAt(next, ['metadata', 'name']));
    return next;
  }

  #refuse(errors: readonly FieldError[], name: string): void {
    if (errors.length === 0) return;
    const causes = errors.map(({ reason, message, field }) => ({ reason, message, field }));
    throw new Refused(422, invalid(this.resource, name, causes).message, causes);
  }

  /** System metadata, and of object and status only the half that the write may change. */
  #scoped(step: Step, object: JsonObject): JsonObject {
    const old = this.#stored;
    const system = { namespace: 'recording', uid: 'UID', resourceVersion: '1' };
    const { namespace, uid, resourceVersion } = system;
    const metadata = { ...recordAt(object, 'metadata'), uid, resourceVersion };
    const placed = this.resource.rules.namespaced ? { ...metadata, namespace } : metadata;
    const { status, ...rest } = object;
    if (!this.resource.hasStatus) return { ...object, metadata: placed };
    if (step.subresource === 'status') return { ...old, metadata: placed, status };
    const kept = old?.['status'];
    return { ...rest, metadata: placed, ...(kept === undefined ? {} : { status: kept }) };
  }

  #tracking(step: Step) {
    const { group, version, schema, hasStatus } = this.resource;
    return {
      schema,
      hasStatus,
      manager: step.manager ?? 'tester',
      apiVersion: group === '' ? version : `${group}/${version}`,
      time: TIME,
      ...(step.subresource === undefined ? {} : { subresource: step.subresource }),
    };
  }
}

/** An object without what differs from run to run; managedFields in a fixed order. */
export function normalized(object: unknown): unknown {
  if (!isJsonObject(object)) return object;
  const { uid: _, resourceVersion: __, managedFields, ...metadata } = recordAt(object, 'metadata');
  if (!Array.isArray(managedFields)) return { ...object, metadata };
  const entries = managedFields.map((entry: JsonObject) =>
    'time' in entry ? { ...entry, time: 'TIME' } : entry,
  );
  const keyOf = (entry: unknown): string =>
    ['operation', 'manager', 'subresource'].map((field) => textAt(entry, [field])).join(' ');
  return {
    ...object,
    metadata: { ...metadata, managedFields: entries.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)) },
  };
}
