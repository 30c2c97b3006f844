import type { JsonObject } from '#lib/json';
import type { KubeObject } from '../object/kube-object.js';
import type { FieldError } from '../schema/field-error.js';
import type { NameRule, ObjectMetaRules } from '../schema/object-meta.js';
import type { CompiledSchema } from '../schema/schema-node.js';
import type { ResourceName } from '../status/errors.js';

/** Fields of a custom resource that `/scale` shows; dotted paths with a leading dot. */
export interface ScalePaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string;
}

/** A column of `kubectl get`, as a CRD's `additionalPrinterColumns` has it. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly description?: string;
  /** Priority; above 0 only with `-o wide`. */
  readonly priority?: number;
  readonly jsonPath: string;
}

/** Rules of a kind: shape, defaults, validation. Pure. */
export interface KindRules {
  readonly schema: CompiledSchema;
  /** True when the schema has CEL rules. */
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

/** A kind of object that an API server keeps: built in, or made by a CustomResourceDefinition. */
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
  /** Known by name alone: lists are empty and creation is refused. */
  readonly isAbsent?: boolean;
  readonly nameRule: NameRule;
  /** True when `metadata.generation` counts changes of the desired state. */
  readonly hasGeneration: boolean;
  /** Preferred version first. */
  readonly versions: readonly ServedVersion[];
  /** The version in which objects are stored; the others are the same object under another name. */
  readonly storageVersion: string;
  /** Another group whose objects these are: events.k8s.io shows the events of the core group. */
  readonly storageGroup?: string;
  /**
   * Reason why objects of this kind are stored and do nothing here: the answer to a write has it as a
   * warning.
   */
  readonly noEffect?: string;
}

/** The key under which objects of a type are stored: `deployments.apps`. */
export function storageKey({ resource, group, storageGroup = group }: ResourceType): string {
  return storageGroup === '' ? resource : `${resource}.${storageGroup}`;
}

/** The rules for names of a type's objects. */
export function metaRules(type: ResourceType): ObjectMetaRules {
  return { namespaced: type.namespaced, nameRule: type.nameRule };
}

/** `v1` or `GROUP/VERSION`. */
export function apiVersionOf(group: string, version: string): string {
  return group === '' ? version : `${group}/${version}`;
}

/** The fields of events.k8s.io/v1 that have other names in v1, in which events are stored. */
const EVENT_FIELDS: readonly (readonly [name: string, stored: string])[] = [
  ['regarding', 'involvedObject'],
  ['note', 'message'],
  ['reportingController', 'reportingComponent'],
  ['deprecatedSource', 'source'],
  ['deprecatedFirstTimestamp', 'firstTimestamp'],
  ['deprecatedLastTimestamp', 'lastTimestamp'],
  ['deprecatedCount', 'count'],
];
const NEW_EVENT = 'events.k8s.io/v1';

/** The object as the given version shows it. Versions differ in name only (conversion strategy None), but for events. */
export function inVersion(object: KubeObject, apiVersion: string): KubeObject {
  if (object.apiVersion === apiVersion) return object;
  if (object.kind !== 'Event') return { ...object, apiVersion };
  const pairs = EVENT_FIELDS.map(([name, stored]) =>
    apiVersion === NEW_EVENT ? [stored, name] : [name, stored],
  );
  const names = new Map(pairs as [string, string][]);
  const renamed = Object.entries(object).map(([name, value]) => [names.get(name) ?? name, value]);
  return { ...(Object.fromEntries(renamed) as KubeObject), apiVersion };
}

/** A resource type as it is asked for in one of its versions. */
export interface ServedType {
  readonly type: ResourceType;
  readonly version: ServedVersion;
}
