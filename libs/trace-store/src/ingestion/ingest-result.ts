import type { FieldProblem } from '#lib/errors';

/** The outcome of a batch. Valid operations are stored even when others are refused. */
export interface IngestResult {
  readonly accepted: number;
  /** Operations on traces that were deleted: not stored, and no mistake of their sender. */
  readonly erased: number;
  /** At most 100 problems. `loc` begins with the `place` of the operation. */
  readonly refused: readonly FieldProblem[];
}
