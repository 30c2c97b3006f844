import type { CompiledSchema, FieldError, JsonObject, NameRule, ObjectMetaRules } from '../semantics.js';
import type { ResourceName } from '../status/errors.js';
import type { KubeObject } from '../object/kube-object.js';

/** A column of `kubectl get`, as a CRD's `additionalPrinterColumns` has it. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly description?: string;
  /** Above 0: only with `-o wide`. */
  readonly priority?: number;
  readonly jsonPath: string;
}

/** Where a custom resource keeps what `/scale` shows; dotted paths with a leading dot. */
export interface ScalePaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string;
}

/** What a kind means: shape, defaults, validation. Pure. */
export interface KindRules {
  readonly schema: CompiledSchema;
  /** Whether the schema has CEL rules. */
  readonly hasExpressions: boolean;
  applyDefaults(object: KubeObject): KubeObject;
  /** Once, at creation: a Job's selector, a Namespace's finalizer. */
  prepareForCreate(object: KubeObject): KubeObject;
  /** Everything but metadata. */
  validate(object: KubeObject, old?: KubeObject, subresource?: string): readonly FieldError[];
}

/** One version of a resource as it is served. */
export interface ServedVersion {
  readonly name: string;
  readonly rules: KindRules;
  /** OpenAPI v3 schema of a custom resource; built-in ones have documents of their own. */
  readonly openApiSchema?: JsonObject;
  readonly hasStatus: boolean;
  readonly scale?: ScalePaths;
  /** Columns of a CRD; built-in kinds have printers of their own. */
  readonly columns: readonly PrinterColumn[];
  /** JSON paths of a CRD's selectable fields, with a leading dot. */
  readonly selectableFields: readonly string[];
  /** Warning for every use of a deprecated version. */
  readonly deprecation?: string;
}

/** A kind of object that the server keeps: built in, or made by a CustomResourceDefinition. */
export interface ResourceType extends ResourceName {
  readonly group: string;
  /** Plural name. */
  readonly resource: string;
  readonly singular: string;
  readonly kind: string;
  readonly listKind: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly isCustom: boolean;
  /** Known by name alone: there are none, and none can be made. */
  readonly isAbsent?: boolean;
  readonly nameRule: NameRule;
  /** Whether `metadata.generation` counts changes of the desired state. */
  readonly hasGeneration: boolean;
  /** Preferred version first. */
  readonly versions: readonly ServedVersion[];
  /** The version in which objects are stored; the others are the same object under another name. */
  readonly storageVersion: string;
}

/** The rules for names of a type's objects. */
export function metaRules(type: ResourceType): ObjectMetaRules {
  return { namespaced: type.namespaced, nameRule: type.nameRule };
}

/** `v1` or `GROUP/VERSION`. */
export function apiVersionOf(group: string, version: string): string {
  return group === '' ? version : `${group}/${version}`;
}

/** The verbs of kinds of which there are none. */
export const ABSENT_VERBS: readonly string[] = ['get', 'list', 'watch'];

/** The verbs every stored resource serves, in the order of discovery. */
export const STORED_VERBS: readonly string[] = [
  'create',
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'update',
  'watch',
] as const;
