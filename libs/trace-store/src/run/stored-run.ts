import { formatInstant, type Instant } from '#lib/time';
import type { UsageDetails } from '../usage/usage-details.js';

/** Parts of a run that are kept as the bytes they arrived in and never parsed and printed again. */
export const PAYLOAD_FIELDS = ['inputs', 'outputs', 'extra', 'events', 'error', 'serialized'] as const;
export type PayloadField = (typeof PAYLOAD_FIELDS)[number];

/** Place of a run: its key in every partitioned table. */
export type RunPlace = Pick<RunRow, 'tenantId' | 'projectId' | 'startTime' | 'id' | 'traceId'>;

/** The UTC range of the rows' days, so that Postgres looks into their partitions only. */
export function timeBounds(places: readonly RunPlace[]): readonly [string, string] {
  let [min, max] = [places[0]?.startTime ?? 0n, places[0]?.startTime ?? 0n];
  for (const { startTime } of places) {
    if (startTime < min) min = startTime;
    if (startTime > max) max = startTime;
  }
  return [formatInstant(min), formatInstant(max)];
}

/**
 * The places as parameters for `unnest(uuid[], timestamptz[], uuid[], uuid[])`: project, start time, id,
 * trace. Their texts need no quotes in an array, so they are not checked for them.
 */
export function columnsOf(places: readonly RunPlace[]): readonly string[] {
  const columns = [
    places.map(({ projectId }) => projectId),
    places.map(({ startTime }) => formatInstant(startTime)),
    places.map(({ id }) => id),
    places.map(({ traceId }) => traceId),
  ];
  return columns.map((texts) => `{${texts.join()}}`);
}

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
