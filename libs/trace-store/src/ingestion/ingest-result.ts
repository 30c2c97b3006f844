import type { FieldProblem } from '#lib/errors';

/** The outcome of a batch. Valid operations are stored even when others are refused. */
export interface IngestResult {
  readonly accepted: number;
  /** At most 100 problems. `loc` begins with the `place` of the operation. */
  readonly refused: readonly FieldProblem[];
}
