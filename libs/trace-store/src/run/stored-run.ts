import type { Instant } from '#lib/time';
import type { UsageDetails } from '../usage/usage-details.js';

export type RunStatus = 'pending' | 'success' | 'error' | 'interrupted';

/** The typed columns of a run; its payloads are apart. */
export interface RunRow {
  readonly tenantId: string;
  readonly projectId: string;
  readonly traceId: string;
  readonly id: string;
  readonly startTime: Instant;
  readonly endTime: Instant | undefined;
  readonly firstTokenTime: Instant | undefined;
  readonly name: string;
  readonly runType: string;
  readonly status: RunStatus;
  readonly isRoot: boolean;
  readonly parentRunId: string | undefined;
  /** Root first. */
  readonly parentRunIds: readonly string[];
  readonly dottedOrder: string;
  readonly tags: readonly string[];
  readonly threadId: string | undefined;
  readonly referenceExampleId: string | undefined;
  readonly traceTier: string;
  readonly totalTokens: number | undefined;
  readonly promptTokens: number | undefined;
  readonly completionTokens: number | undefined;
  /** Decimal text with at most ten digits after the point. */
  readonly totalCost: string | undefined;
  readonly promptCost: string | undefined;
  readonly completionCost: string | undefined;
  /** The row of the price table that costs are from; undefined for those of the sender. */
  readonly priceId: string | undefined;
  readonly usageDetails: UsageDetails | undefined;
  /** The model that was called, as the sender names it, and the member that named it; without one `ls_model_name`. */
  readonly model: string | undefined;
  readonly modelMember: string | undefined;
  readonly provider: string | undefined;
}

/** Payloads as stored: JSON text as it came, `error` as plain text. */
export interface RunPayloads {
  readonly inputs?: Buffer;
  readonly outputs?: Buffer;
  readonly extra?: Buffer;
  readonly events?: Buffer;
  readonly error?: Buffer;
  readonly serialized?: Buffer;
}

/** Ids of the runs below a run, in the order of the trace. */
export interface RunChildren {
  readonly all: readonly string[];
  readonly direct: readonly string[];
}

/** A run with its payloads. */
export interface StoredRun {
  readonly row: RunRow;
  readonly payloads: RunPayloads;
  /** Statistics of its feedback by key, as JSON text; absent when it has none or they were not requested. */
  readonly feedbackStats?: string | undefined;
  /** Absent when they were not requested, or the trace is too large for them. */
  readonly children?: RunChildren | undefined;
}
