import { isJsonObject, type JsonObject } from '#lib/json';
import { applyDefaults, canonical } from '../schema/defaults.js';
import { errorsOfEach, type FieldError, typeInvalid } from '../schema/field-error.js';
import { knownDefinition, objectMetaSchema } from '../schema/known-definitions.js';
import { prune, withoutIdleNulls } from '../schema/prune.js';
import type { CompiledSchema, SchemaNode } from '../schema/schema-node.js';
import { typeOf } from '../schema/validate-value.js';
import {
  customResourceDefinition,
  endpoints,
  endpointSlice,
  horizontalPodAutoscaler,
  limitRange,
  namespace,
  networkPolicy,
  node,
  prepareCustomResourceDefinition,
  prepareNamespace,
  priorityClass,
  resourceQuota,
  roleBinding,
  secret,
  service,
  storageClass,
} from './defaults/core.js';
import type { Fill } from './defaults/fill.js';
import {
  deployment,
  job,
  pod,
  podTemplate,
  prepareJob,
  preparePod,
  replicaSet,
  statefulSet,
} from './defaults/pod.js';
import { type KindNames, kindNames } from './kind-names.js';
import { validators } from './validation/validators.js';

/** A kind that the server brings by itself. */
export interface BuiltinKind extends Omit<KindNames, 'definition'> {
  readonly listKind: string;
  /** Structure for pruning, server-side apply and types of values. */
  readonly schema: CompiledSchema;
  /**
   * Fields that a create or update through the API fills in: static defaults, `stringData` folded into `data`, … Not
   * what needs the world (cluster IPs, service account tokens).
   */
  applyDefaults<T extends JsonObject>(object: T): T;
  /**
   * Fields that Kubernetes sets when it stores a new object, with name and uid known: a Job's selector and labels, a
   * Namespace's finalizer, a Pod's phase, service account and tolerations. They have no field manager: call it after
   * `trackUpdate` (or apply).
   */
  prepareForCreate<T extends JsonObject>(object: T): T;
  /** Everything but metadata: wrong types, missing fields, bounds, and with `old` what must not change. */
  validate(object: JsonObject, old?: JsonObject): readonly FieldError[];
}

/**
 * The schema of a built-in kind. Its validation looks at types only: which fields must be there and what they may say
 * is checked by each kind's own rules, as in Kubernetes.
 */
function compileBuiltin(root: SchemaNode, metadata: SchemaNode): CompiledSchema {
  return {
    root,
    isBuiltin: true,
    prune: (object) => prune(object, root, metadata),
    applyDefaults: (object) => applyDefaults(withoutIdleNulls(object, root), root),
    validate: (object) => typeErrors(object, root, ''),
  };
}

function typeErrors(value: unknown, schema: SchemaNode, path: string): readonly FieldError[] {
  if (value === null || value === undefined) return [];
  const actual = typeOf(value);
  if (!fits(schema, actual)) {
    const wanted = schema.type === '' ? 'integer,string' : schema.type;
    return [typeInvalid(path, value, `${path} in body must be of type ${wanted}: ${JSON.stringify(actual)}`)];
  }
  if (Array.isArray(value)) {
    const items = schema.items;
    return items === undefined
      ? []
      : errorsOfEach<unknown>(value, (item, index) => typeErrors(item, items, `${path}[${index}]`));
  }
  if (!isJsonObject(value)) return [];
  return errorsOfEach(Object.entries(value), ([name, item]) => {
    const field = schema.field(name);
    return field === undefined ? [] : typeErrors(item, field, path === '' ? name : `${path}.${name}`);
  });
}

function fits(schema: SchemaNode, actual: string): boolean {
  const branches = schema.branches('oneOf');
  if (branches.length > 0) return branches.some((branch) => fits(branch, actual));
  return schema.type === '' || schema.type === actual || (schema.type === 'number' && actual === 'integer');
}

const fills: Readonly<Record<string, Fill>> = {
  Namespace: namespace,
  Pod: pod,
  Service: service,
  Secret: secret,
  Node: node,
  Endpoints: endpoints,
  Deployment: deployment,
  ReplicaSet: replicaSet,
  StatefulSet: statefulSet,
  Job: job,
  RoleBinding: roleBinding,
  ClusterRoleBinding: roleBinding,
  HorizontalPodAutoscaler: horizontalPodAutoscaler,
  EndpointSlice: endpointSlice,
  PodTemplate: podTemplate,
  NetworkPolicy: networkPolicy,
  ResourceQuota: resourceQuota,
  LimitRange: limitRange,
  PriorityClass: priorityClass,
  StorageClass: storageClass,
  CustomResourceDefinition: customResourceDefinition,
};

const preparations: Readonly<Record<string, Fill>> = {
  Namespace: prepareNamespace,
  Pod: preparePod,
  Job: prepareJob,
  CustomResourceDefinition: prepareCustomResourceDefinition,
};

const same: Fill = (object) => object;

function build(names: KindNames): BuiltinKind {
  const root = knownDefinition(names.definition);
  if (root === undefined)
    throw new Error(`The generated definitions have no ${names.definition}; extract them again.`);
  const schema = compileBuiltin(root, objectMetaSchema());
  const fill = fills[names.kind] ?? same;
  const prepare = preparations[names.kind] ?? same;
  const check = validators[names.kind];
  return {
    ...names,
    listKind: `${names.kind}List`,
    schema,
    applyDefaults: (object) =>
      canonical(fill(canonical(schema.applyDefaults(object), root)), root) as typeof object,
    prepareForCreate: (object) => prepare(object) as typeof object,
    validate: (object, old) => {
      const types = schema.validate(object);
      return types.length > 0 ? types : (check?.(object, old) ?? []);
    },
  };
}

/** Every kind that the server brings by itself. Reviews are answered, not stored, and are not among them. */
export const builtinKinds: readonly BuiltinKind[] = kindNames.map(build);
