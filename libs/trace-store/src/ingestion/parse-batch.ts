import { setImmediate } from 'node:timers/promises';
import type { FieldProblem } from '#lib/errors';
import { inTurns } from '#lib/json';
import type { ModelMembers } from '../price/model-members.js';
import type { IngestReport } from '../problem/ingest-report.js';
import { parseOperation } from '../wire/parse-operation.js';
import type { RunBatch } from '../wire/run-operation.js';
import { bytesOf } from './observe-ingestion.js';
import type { ParsedOperation } from './run-group.js';
import type { FoundPatch } from './waiting-patches.js';

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
export async function parseBatch(
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
