import type { FieldProblem } from '#lib/errors';
import { metrics } from '#lib/telemetry';
import type { NewFeedback } from '../feedback/feedback.js';
import type { FeedbackOutcome } from '../feedback/store-feedback.js';
import type { Subject } from '../problem/ingest-report.js';
import type { TooManyProjectsError } from '../project/project.js';
import type { RunPlace } from '../run/stored-run.js';
import { MAX_KNOWN_ANCESTORS } from '../wire/dotted-order.js';
import { type IngestRequest, type IngestResult, MAX_PROBLEMS } from './ingest-request.js';
import { firstOf, type ParsedOperation, type RunGroup } from './run-group.js';

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
