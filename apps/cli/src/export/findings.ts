/** What a comparison came to. */
export interface Findings {
  /** A sentence for each. */
  readonly differences: readonly string[];
  /** What could not be compared, and why; a sentence for each. */
  readonly notCompared: readonly string[];
}
