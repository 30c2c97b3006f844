import type { FieldProblem } from '#lib/errors';
import type { ModelMembers } from '../price/model-members.js';
import { IngestReport } from '../problem/ingest-report.js';
import type { RunBatch } from '../wire/run-operation.js';
import { bytesOf } from './observe-ingestion.js';
import { parseBatch } from './parse-batch.js';
import { groupByRun, type ParsedOperation, type RunGroup } from './run-group.js';
import type { Weight } from './gathering.js';

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
