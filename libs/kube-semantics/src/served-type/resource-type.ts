import type { NameRule, ObjectMetaRules } from '../schema/object-meta.js';
import type { ResourceName } from '../status/errors.js';
import type { ServedVersion } from './served-version.js';

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
