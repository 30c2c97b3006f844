import type { JsonObject } from '#lib/json';
import type { CompiledSchema } from '../schema/compiled-schema.js';
import type { FieldError } from '../schema/field-error.js';
import type { NameRule } from '../schema/object-meta.js';

/** A kind that the server brings by itself. */
export interface BuiltinKind {
  /** '' for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly listKind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  readonly nameRule: NameRule;
  /** Served subresources: `status`, `scale`, `log`, `binding`, `eviction`, `token`, `finalize`. */
  readonly subresources: readonly string[];
  /** Structure for pruning, server-side apply and types of values. */
  readonly schema: CompiledSchema;
  /** True when `metadata.generation` counts changes of this kind. */
  readonly hasGeneration: boolean;
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
