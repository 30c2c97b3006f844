import type { Instant } from '#lib/time';

/** A pair of metadata, inputs or outputs, as the store keeps it: nested names joined, the value cut. */
export interface FilterablePair {
  readonly key: string;
  readonly value: string;
}

export interface FilterableFeedback {
  readonly key: string;
  readonly score?: number | undefined;
  readonly value?: string | undefined;
  readonly source?: string | undefined;
}

/** The parts of a run that filters read. */
export interface FilterableRun {
  readonly id: string;
  readonly traceId: string;
  readonly parentRunId?: string | undefined;
  readonly threadId?: string | undefined;
  readonly name: string;
  readonly runType: string;
  readonly status: string;
  readonly isRoot: boolean;
  readonly startTime: Instant;
  readonly endTime?: Instant | undefined;
  readonly firstTokenTime?: Instant | undefined;
  readonly totalTokens?: number | undefined;
  readonly promptTokens?: number | undefined;
  readonly completionTokens?: number | undefined;
  /** Decimal texts. */
  readonly totalCost?: string | undefined;
  readonly promptCost?: string | undefined;
  readonly completionCost?: string | undefined;
  readonly error?: string | undefined;
  readonly tags: readonly string[];
  /** JSON texts as they came. */
  readonly inputs?: string | undefined;
  readonly outputs?: string | undefined;
  readonly metadata?: string | undefined;
  readonly metadataPairs: readonly FilterablePair[];
  readonly inputPairs: readonly FilterablePair[];
  readonly outputPairs: readonly FilterablePair[];
  readonly feedback: readonly FilterableFeedback[];
}
