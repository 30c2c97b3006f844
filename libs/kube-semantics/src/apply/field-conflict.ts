/** A field that another manager owns with another value. */
export interface FieldConflict {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly subresource?: string;
  readonly time?: string;
  /** `.spec.replicas`, `.spec.containers[name="a"].image`. */
  readonly field: string;
  /**
   * Text for `details.causes[].message` with reason `FieldManagerConflict`: `conflict with "kubectl" using
   * apps/v1`.
   */
  readonly message: string;
}
