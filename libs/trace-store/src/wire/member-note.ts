import type { FieldProblem } from '#lib/errors';

/** A member of an operation that was changed or left out, so that its run can be stored. */
export interface MemberNote extends FieldProblem {
  readonly kind: 'mended' | 'dropped';
}
