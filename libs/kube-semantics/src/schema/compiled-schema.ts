import type { JsonObject } from '#lib/json';
import type { FieldError } from './field-error.js';
import type { SchemaNode } from './schema-node.js';

/** Result of `prune`. */
export interface Pruned<T> {
  /** The object without what the schema does not know. The same value when nothing had to go. */
  readonly object: T;
  /** Dropped fields as strict decoding names them, for example `spec.foo`, `spec.items[0].bar`. */
  readonly unknownFields: readonly string[];
}

export interface ValidateOptions {
  /** Validation of a write to this subresource: rules still see the whole object. */
  readonly subresource?: string;
}

/**
 * A schema ready for use: for a version of a CustomResourceDefinition or for a built-in kind. All methods are pure;
 * what they return may share parts with what they were given.
 */
export interface CompiledSchema {
  readonly root: SchemaNode;
  /** True for a built-in kind, whose objects have the shape of Kubernetes' Go types. */
  readonly isBuiltin: boolean;
  /**
   * Drops unknown fields (those inside `x-kubernetes-preserve-unknown-fields` stay) and nulls that mean nothing. For
   * every body that is no apply configuration.
   */
  prune<T extends JsonObject>(object: T): Pruned<T>;
  /** Fills in defaults of fields that are absent, or null without being nullable. */
  applyDefaults<T extends JsonObject>(object: T): T;
  /**
   * Types, bounds, list types and CEL rules. With `oldObject` transition rules run, and what was wrong before and did
   * not change is let through (ratcheting). Not metadata: see `validateObjectMeta`.
   */
  validate(object: JsonObject, oldObject?: JsonObject, options?: ValidateOptions): readonly FieldError[];
}
