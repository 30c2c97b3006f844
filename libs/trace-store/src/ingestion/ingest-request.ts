import { setImmediate } from 'node:timers/promises';
import { type FieldProblem, PublicError } from '#lib/errors';
import { inTurns } from '#lib/json';
import { metrics, withSpan } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import type { NewFeedback } from '../feedback/feedback.js';
import type { FeedbackOutcome } from '../feedback/store-feedback.js';
import type { ModelMembers } from '../price/price-book.js';
import { type IngestEvent, IngestReport, type Subject } from '../problem/ingest-problem-table.js';
import type { TooManyProjectsError } from '../project/project.js';
import type { RunPlace } from '../run/stored-run.js';
import { MAX_KNOWN_ANCESTORS } from '../wire/dotted-order.js';
import { parseOperation } from '../wire/parse-operation.js';
import type { RunBatch, RunOperation } from '../wire/run-operation.js';
import type { Weight } from './gathering.js';
import { firstOf, groupByRun, type ParsedOperation, type RunGroup } from './run-group.js';
import type { FoundPatch } from './waiting-patches.js';

/** The one project that a sender may write into. */
export class OwnProject {
  constructor(
    readonly id: string,
    readonly name: string,
  ) {}

  /** True when no operation names another project. */
  isNamedBy(groups: readonly RunGroup[]): boolean {
    return this.#foreign(groups) === undefined;
  }

  /** @throws PublicError forbidden when an operation names another project */
  checkNames(groups: readonly RunGroup[]): void {
    const foreign = this.#foreign(groups);
    if (foreign) throw this.#refusal(foreign.runId, foreign.project);
  }

  /** The first operation that names another project. */
  #foreign(groups: readonly RunGroup[]): { readonly runId: string; readonly project: string } | undefined {
    for (const { id, operations } of groups)
      for (const { change } of operations) {
        const { project } = change;
        if (project === undefined) continue;
        const isOwn =
          project.kind === 'name' ? project.name === this.name : project.id.toLowerCase() === this.id;
        if (!isOwn) return { runId: id, project: project.kind === 'name' ? project.name : project.id };
      }
    return undefined;
  }

  /** @throws PublicError forbidden when the run is stored in another project */
  checkPlace({ id, projectId }: RunPlace): void {
    if (projectId !== this.id) throw this.#refusal(id, projectId);
  }

  #refusal(runId: string, project: string): PublicError {
    return new PublicError(
      'forbidden',
      `storing the run ${runId} failed: it belongs to the tracing project ${project}, and this key writes into ${this.name} only; use that project or a key of the workspace`,
    );
  }
}

function tooManyWaiting({ change }: ParsedOperation): FieldProblem {
  return {
    loc: change.place,
    msg: 'storing the update failed: its run has not arrived and too many updates wait for runs already; send the run first',
    type: 'too_many_waiting',
  };
}

function tooFarAhead(group: RunGroup, maxMonths: number): readonly FieldProblem[] {
  return group.operations.map(({ change }) => ({
    loc: [...change.place, 'start_time'],
    msg: `start_time is too far ahead: this store already keeps runs of ${maxMonths} months to come; check the clock of the sender`,
    type: 'too_many_days',
  }));
}

function storedElsewhere(group: RunGroup, { projectId }: RunPlace): readonly FieldProblem[] {
  return group.operations.map(({ change }) => ({
    loc: [...change.place, 'session_name'],
    msg: `storing the run ${group.id} failed: a run of this id is stored in another project (${projectId}); send it to that one, or with an id of its own`,
    type: 'other_project',
  }));
}

function unknownProject(group: RunGroup): readonly FieldProblem[] {
  return group.operations.map(({ change }) => ({
    loc: [...change.place, 'session_id'],
    msg: 'project not found',
    type: 'not_found',
  }));
}

function tooManyProjects(group: RunGroup, { message }: TooManyProjectsError): readonly FieldProblem[] {
  return group.operations.map(({ change }) => ({
    loc: [...change.place, 'session_name'],
    msg: message,
    type: 'too_many_projects',
  }));
}

function tooDeep(group: RunGroup): readonly FieldProblem[] {
  return group.operations.map(({ change }) => ({
    loc: [...change.place, 'dotted_order'],
    msg: `dotted_order is required below a run with more than ${MAX_KNOWN_ANCESTORS} ancestors; send it with the run`,
    type: 'missing',
  }));
}

/** Parts of the requests of a batch that were not stored. */
export interface Unstored {
  readonly lost: readonly RunGroup[];
  readonly projectless: ReadonlyMap<RunGroup, TooManyProjectsError>;
  readonly deep: readonly RunGroup[];
  /** Groups whose days exceed the limit of partitions. */
  readonly dayless: readonly RunGroup[];
  /** Groups whose creates name another project than that of the stored run. */
  readonly elsewhere: readonly (readonly [RunGroup, RunPlace])[];
  /** Operations that exceed the limit of waiting ones. */
  readonly late: readonly ParsedOperation[];
  /** Runs of deleted traces, one for each operation. */
  readonly erased: readonly string[];
  readonly feedback: Pick<FeedbackOutcome, 'refused' | 'erased'>;
}

/** The answer to one of the requests; it alone has feedback, if any has. */
export function resultOf(
  { batch, report, operations, refused, owns }: IngestRequest,
  unstored: Unstored,
  maxMonthsAhead: number,
): IngestResult {
  const isOwn = ({ id }: RunGroup): boolean => owns(id);
  const lost = unstored.lost.filter(isOwn);
  const projectless = [...unstored.projectless].filter(([group]) => isOwn(group));
  const deep = unstored.deep.filter(isOwn);
  const dayless = unstored.dayless.filter(isOwn);
  const elsewhere = unstored.elsewhere.filter(([group]) => isOwn(group));
  const late = unstored.late.filter(({ change }) => owns(change.id));
  const erased = unstored.erased.filter(owns).length;
  const { feedback } = unstored;
  const ofGroups = [
    ...lost.map((group) => ({ group, problems: unknownProject(group) })),
    ...projectless.map(([group, error]) => ({ group, problems: tooManyProjects(group, error) })),
    ...deep.map((group) => ({ group, problems: tooDeep(group) })),
    ...dayless.map((group) => ({ group, problems: tooFarAhead(group, maxMonthsAhead) })),
    ...elsewhere.map(([group, place]) => ({ group, problems: storedElsewhere(group, place) })),
  ];
  for (const { group, problems } of ofGroups)
    report.refuse({ id: group.id, project: firstOf(group, 'project') }, problems);
  for (const parsed of late) report.refuse(parsed.change, [tooManyWaiting(parsed)]);
  for (const one of feedback.refused) report.refuse(subjectOf(one.feedback), [one.problem]);
  const problems = [
    ...refused,
    ...ofGroups.flatMap((one) => one.problems),
    ...late.map(tooManyWaiting),
    ...feedback.refused.map(({ problem }) => problem),
  ];
  const offered = batch.post.length + batch.patch.length;
  const ofOthers = elsewhere.map(([group]) => group);
  const ofTooMany = projectless.map(([group]) => group);
  metrics.ingestRefused.add(offered - operations.length + operationsOf(deep), { reason: 'invalid' });
  metrics.ingestRefused.add(operationsOf(lost), { reason: 'unknown_project' });
  metrics.ingestRefused.add(operationsOf(ofTooMany), { reason: 'too_many_projects' });
  metrics.ingestRefused.add(operationsOf(dayless), { reason: 'outside_days' });
  metrics.ingestRefused.add(late.length, { reason: 'waiting_room_full' });
  metrics.ingestRefused.add(operationsOf(ofOthers), { reason: 'other_project' });
  metrics.ingestRefused.add(erased, { reason: 'erased' });
  const unplaced = operationsOf([...lost, ...ofTooMany, ...deep, ...dayless, ...ofOthers]);
  return {
    accepted: operations.length - unplaced - late.length - erased,
    erased: erased + feedback.erased.length,
    refused: problems.slice(0, MAX_PROBLEMS),
    mended: report.mended,
    events: report.events,
  };
}

function subjectOf({ runId, projectId }: NewFeedback): Subject {
  return { id: runId, ...(projectId === undefined ? {} : { project: { kind: 'id', id: projectId } }) };
}

function operationsOf(groups: readonly RunGroup[]): number {
  return groups.reduce((sum, group) => sum + group.operations.length, 0);
}

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
const MAX_PROBLEMS = 100;
/**
 * Number of bytes that are read before other requests are served, and the cost of an operation besides its
 * own bytes.
 */
const PARSED_AT_ONCE = 1 << 20;
const OPERATION_COST = 4096;

/** A batch as far as it can be stored. */
interface ParsedBatch {
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
