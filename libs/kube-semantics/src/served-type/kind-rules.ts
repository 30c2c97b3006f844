import type { KubeObject } from '../object/kube-object.js';
import type { CompiledSchema } from '../schema/compiled-schema.js';
import type { FieldError } from '../schema/field-error.js';

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
