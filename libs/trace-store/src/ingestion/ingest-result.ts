import type { FieldProblem } from '#lib/errors';
import type { IngestEvent } from '../problem/ingest-event.js';

/** The outcome of a batch. Valid operations are stored even when others are refused. */
export interface IngestResult {
  readonly accepted: number;
  /** Operations on traces that were deleted: not stored, and no mistake of their sender. */
  readonly erased: number;
  /** Problems, at most 100. `loc` begins with the `place` of the operation. */
  readonly refused: readonly FieldProblem[];
  /** Members that were changed or left out, so that their runs could be stored; at most 100. */
  readonly mended: readonly FieldProblem[];
  /** Everything that was not stored as it came. */
  readonly events: readonly IngestEvent[];
}
