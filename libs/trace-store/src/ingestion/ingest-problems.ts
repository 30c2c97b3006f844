import type { FieldProblem } from '#lib/errors';
import type { TooManyProjectsError } from '../project/too-many-projects-error.js';
import type { RunPlace } from '../run/run-place.js';
import { MAX_KNOWN_ANCESTORS } from '../wire/dotted-order.js';
import type { ParsedOperation, RunGroup } from './run-group.js';

export function tooManyWaiting({ change }: ParsedOperation): FieldProblem {
  return {
    loc: change.place,
    msg: 'storing the update failed: its run has not arrived and too many updates wait for runs already; send the run first',
    type: 'too_many_waiting',
  };
}

export function tooFarAhead(group: RunGroup, maxMonths: number): readonly FieldProblem[] {
  return group.operations.map(({ change }) => ({
    loc: [...change.place, 'start_time'],
    msg: `start_time is too far ahead: this store already keeps runs of ${maxMonths} months to come; check the clock of the sender`,
    type: 'too_many_days',
  }));
}

export function storedElsewhere(group: RunGroup, { projectId }: RunPlace): readonly FieldProblem[] {
  return group.operations.map(({ change }) => ({
    loc: [...change.place, 'session_name'],
    msg: `storing the run ${group.id} failed: a run of this id is stored in another project (${projectId}); send it to that one, or with an id of its own`,
    type: 'other_project',
  }));
}

export function unknownProject(group: RunGroup): readonly FieldProblem[] {
  return group.operations.map(({ change }) => ({
    loc: [...change.place, 'session_id'],
    msg: 'project not found',
    type: 'not_found',
  }));
}

export function tooManyProjects(group: RunGroup, { message }: TooManyProjectsError): readonly FieldProblem[] {
  return group.operations.map(({ change }) => ({
    loc: [...change.place, 'session_name'],
    msg: message,
    type: 'too_many_projects',
  }));
}

export function tooDeep(group: RunGroup): readonly FieldProblem[] {
  return group.operations.map(({ change }) => ({
    loc: [...change.place, 'dotted_order'],
    msg: `dotted_order is required below a run with more than ${MAX_KNOWN_ANCESTORS} ancestors; send it with the run`,
    type: 'missing',
  }));
}
