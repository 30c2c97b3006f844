import { setImmediate } from 'node:timers/promises';
import type { FieldProblem } from '#lib/errors';
import { inTurns } from '#lib/json';
import { metrics, withSpan } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import type { ModelMembers } from '../price/price-book.js';
import { type IngestEvent, IngestReport } from '../problem/ingest-report.js';
import { parseOperation } from '../wire/parse-operation.js';
import type { RunBatch, RunOperation } from '../wire/run-operation.js';
import type { Weight } from './gathering.js';
import { groupByRun, type ParsedOperation, type RunGroup } from './run-group.js';
import type { FoundPatch } from './waiting-patches.js';

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

/** Length of the received data. */
function bytesOf({ run, fields = {} }: RunOperation): number {
  return Object.values(fields).reduce((sum, value) => sum + value.length, run.length);
}

/** Stores a batch, counted, timed and as a span. */
export async function observedIngest(
  batch: RunBatch,
  store: () => Promise<IngestResult>,
): Promise<IngestResult> {
  const startedMs = systemClock.monotonicMs();
  let outcome: 'stored' | 'failed' = 'failed';
  let bytes = 0;
  for (const operations of [batch.post, batch.patch])
    for (const operation of operations) bytes += bytesOf(operation);
  metrics.ingestBytes.add(bytes);
  for (const kind of ['post', 'patch'] as const) metrics.ingestOperations.add(batch[kind].length, { kind });
  const attributes = { post: batch.post.length, patch: batch.patch.length, bytes };
  try {
    const result = await withSpan('ingest batch', attributes, store);
    outcome = 'stored';
    return result;
  } finally {
    metrics.ingestDuration.observe((systemClock.monotonicMs() - startedMs) / 1000, { outcome });
  }
}

/** A broken client must not fill memory with its own problems. */
export const MAX_PROBLEMS = 100;
/**
 * Number of bytes that are read before other requests are served, and the cost of an operation besides its
 * own bytes.
 */
const PARSED_AT_ONCE = 1 << 20;
const OPERATION_COST = 4096;

/** A batch as far as it can be stored. */
export interface ParsedBatch {
  readonly operations: readonly ParsedOperation[];
  readonly refused: readonly FieldProblem[];
}

/**
 * Reads the operations of a batch.
 * @param report gets the parts that cannot be stored as they came
 * @param members that may name the model of a run
 */
async function parseBatch(
  batch: RunBatch,
  report: IngestReport,
  members: ModelMembers,
): Promise<ParsedBatch> {
  const operations: ParsedOperation[] = [];
  const refused: FieldProblem[] = [];
  let cost = 0;
  for (const kind of ['post', 'patch'] as const)
    for (const operation of batch[kind]) {
      cost += bytesOf(operation) + OPERATION_COST;
      if (cost > PARSED_AT_ONCE) {
        await setImmediate();
        cost = 0;
      }
      const parsed = await inTurns(parseOperation(kind, operation, members));
      if ('change' in parsed) {
        operations.push({ change: parsed.change, operation });
        report.note(parsed.change, parsed.notes);
        continue;
      }
      if (refused.length < MAX_PROBLEMS) refused.push(...parsed.problems);
      report.refuse(parsed, parsed.problems);
    }
  const { leftOut = [] } = batch;
  if (leftOut.length > 0) {
    const projects = new Map(operations.map(({ change }) => [change.id, change.project]));
    report.leaveOut(leftOut, (id) => projects.get(id.toLowerCase()));
  }
  return { operations, refused };
}

/** They were read once when they came, so they can be read now. */
export async function parseWaiting(patches: readonly FoundPatch[]): Promise<readonly ParsedOperation[]> {
  const operations: ParsedOperation[] = [];
  for (const { operation } of patches) {
    const parsed = await inTurns(parseOperation('patch', operation));
    if ('change' in parsed) operations.push({ change: parsed.change, operation });
  }
  return operations;
}

/** A batch that was read, with all that its sender is answered. */
export interface IngestRequest {
  readonly batch: RunBatch;
  readonly report: IngestReport;
  readonly operations: readonly ParsedOperation[];
  /** Problems of operations that could not be read. */
  readonly refused: readonly FieldProblem[];
  readonly groups: readonly RunGroup[];
  /**
   * True when a run of this id is in the request. No two requests that are stored together have runs of one
   * id.
   */
  owns(runId: string): boolean;
}

/** @param members that may name the model of a run */
export async function readRequest(batch: RunBatch, members: ModelMembers): Promise<IngestRequest> {
  const report = new IngestReport();
  const { operations, refused } = await parseBatch(batch, report, members);
  const groups = groupByRun(operations);
  const ids = new Set(groups.map(({ id }) => id));
  return { batch, report, operations, refused, groups, owns: (id) => ids.has(id) };
}

/** Weight of a batch. Feedback is not counted: batches with feedback are not gathered. */
export function weightOf({ post, patch }: RunBatch): Weight {
  let bytes = 0;
  for (const operations of [post, patch]) for (const operation of operations) bytes += bytesOf(operation);
  return { operations: post.length + patch.length, bytes };
}

/** Requests that can be stored in one transaction without one's answer depending on another's runs, and the others. */
export function disjointOf(requests: readonly IngestRequest[]): {
  readonly together: readonly IngestRequest[];
  readonly alone: readonly IngestRequest[];
} {
  const together: IngestRequest[] = [];
  const alone: IngestRequest[] = [];
  const taken = new Set<string>();
  for (const request of requests) {
    const isFree = request.groups.every(({ id }) => !taken.has(id));
    (isFree ? together : alone).push(request);
    if (isFree) for (const { id } of request.groups) taken.add(id);
  }
  return { together, alone };
}
