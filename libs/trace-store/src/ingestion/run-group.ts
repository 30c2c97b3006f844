import type { Instant } from '#lib/time';
import { withoutPrice } from '../price/run-pricing.js';
import {
  COLUMN_LIST,
  EMPTY_RUN,
  type RunPayloads,
  type RunPlace,
  type RunRow,
  type RunStatus,
  type TraceTier,
} from '../run/stored-run.js';
import { withOwnUsage } from '../run/own-usage.js';
import { marksOf } from '../run/search-marks.js';
import { ancestorsIn, buildDottedOrder } from '../wire/dotted-order.js';
import type { RunChange, RunOperation } from '../wire/run-operation.js';

/** Facts that are fixed when a run is first seen, and that its change does not contain. */
export interface RunIdentity {
  readonly tenantId: string;
  readonly projectId: string;
  readonly traceId: string;
  readonly id: string;
  readonly startTime: Instant;
  /** Dotted order of the parent, for runs that came without one of their own. */
  readonly parentOrder: string | undefined;
}

/** The row of a run of which nothing is known but its identity. */
function newRun(identity: RunIdentity, first: RunChange): RunRow {
  const { parentOrder, ...fixed } = identity;
  const dottedOrder =
    first.dottedOrder?.text ?? buildDottedOrder(fixed.startTime, fixed.id, first.parentRunId && parentOrder);
  return {
    ...EMPTY_RUN,
    ...fixed,
    isRoot: first.parentRunId === undefined,
    parentRunId: first.parentRunId,
    parentRunIds: ancestorsIn(dottedOrder),
    dottedOrder,
  };
}

function modelOf({ model, modelMember: member }: RunRow): RunChange['model'] {
  return model === undefined ? undefined : { model, member };
}

function statusAfter(row: RunRow, change: RunChange, endTime: Instant | undefined): RunStatus {
  if (change.status !== undefined && (change.kind === 'patch' || row.status === 'pending'))
    return change.status;
  if (change.payloads.error !== undefined || row.status === 'error') return 'error';
  if (row.status === 'interrupted') return 'interrupted';
  return endTime === undefined ? 'pending' : 'success';
}

/** Columns that a value of an update replaces, each with its value when none is known. */
const REPLACED = COLUMN_LIST.flatMap(({ property, changes }) =>
  changes === 'replace'
    ? [{ property: property as keyof RunRow & keyof RunChange, empty: EMPTY_RUN[property] }]
    : [],
);

/** True when a value is the one that columns have for an unknown one. */
function isUnknown(value: unknown, empty: unknown): boolean {
  return value === empty || (Array.isArray(value) && value.length === 0);
}

/**
 * The run after one more change. An update overrides existing values; a create that comes late (after its
 * update, or again) only fills missing ones. So an update that overtook its create is not undone by it.
 */
function mergeRun(row: RunRow, change: RunChange): RunRow {
  const wins = change.kind === 'patch';
  function pick<T>(old: T, next: T | undefined, isMissing = old === undefined): T {
    return next !== undefined && (wins || isMissing) ? next : old;
  }
  const { usage } = change;
  const model = pick(modelOf(row), change.model);
  const merged: { -readonly [Name in keyof RunRow]: unknown } = {
    ...row,
    // a trace is upgraded, never the other way round: else a sender could shorten how long it is kept
    traceTier:
      row.traceTier === 'longlived'
        ? row.traceTier
        : pick(row.traceTier, change.traceTier, row.traceTier === ''),
    totalTokens: pick(row.totalTokens, usage?.totalTokens),
    promptTokens: pick(row.promptTokens, usage?.promptTokens),
    completionTokens: pick(row.completionTokens, usage?.completionTokens),
    totalCost: pick(row.totalCost, usage?.totalCost),
    promptCost: pick(row.promptCost, usage?.promptCost),
    completionCost: pick(row.completionCost, usage?.completionCost),
    usageDetails: pick(row.usageDetails, usage?.details),
    model: model?.model,
    modelMember: model?.member,
  };
  for (const { property, empty } of REPLACED) {
    const next = change[property];
    if (next !== undefined && (wins || isUnknown(row[property], empty))) merged[property] = next;
  }
  merged.status = statusAfter(row, change, merged.endTime as RunRow['endTime']);
  return withOwnUsage(merged as RunRow);
}

/**
 * Payloads that a change writes: those of an update override the stored ones, those of a late create fill
 * gaps.
 */
function mergePayloads(old: RunPayloads, change: RunChange): RunPayloads {
  return change.kind === 'patch' ? { ...old, ...change.payloads } : { ...change.payloads, ...old };
}

/** A parsed operation together with its received bytes, in case that it must wait. */
export interface ParsedOperation {
  readonly change: RunChange;
  readonly operation: RunOperation;
}

/** All operations of a batch on one run, creates first. */
export interface RunGroup {
  readonly id: string;
  /** Undefined while no operation names it. */
  readonly traceId: string | undefined;
  readonly operations: readonly ParsedOperation[];
}

/** Row and payloads that are written for an existing run. */
export interface RunUpdate {
  readonly row: RunRow;
  /** Payloads of updates: they replace. */
  readonly replace: RunPayloads;
  /** Payloads of late creates: they fill gaps. */
  readonly fill: RunPayloads;
}

/** A group that is being filled. */
interface OpenGroup {
  readonly id: string;
  traceId: string | undefined;
  readonly operations: ParsedOperation[];
}

/** The groups of one id: the first of them, which may not name its trace yet, and those that do. */
interface GroupsOfId {
  readonly first: OpenGroup;
  readonly byTrace: Map<string, OpenGroup>;
}

/** Sorts the operations of a batch by run. The same id in two traces is two runs. */
export function groupByRun(operations: readonly ParsedOperation[]): readonly RunGroup[] {
  const groups = new Map<string, GroupsOfId>();
  const sorted: OpenGroup[] = [];
  for (const parsed of operations) {
    const { id, traceId } = parsed.change;
    const ofId = groups.get(id);
    const known = ofId && findGroup(ofId, traceId);
    const group = known ?? { id, traceId, operations: [] };
    group.operations.push(parsed);
    group.traceId ??= traceId;
    const byTrace = ofId?.byTrace ?? new Map<string, OpenGroup>();
    if (group.traceId !== undefined) byTrace.set(group.traceId, group);
    if (!ofId) groups.set(id, { first: group, byTrace });
    if (!known) sorted.push(group);
  }
  return sorted;
}

function findGroup({ first, byTrace }: GroupsOfId, traceId: string | undefined): OpenGroup | undefined {
  if (traceId === undefined || first.traceId === undefined) return first;
  return byTrace.get(traceId);
}

/** The first value of `what` in the group's operations. */
export function firstOf<K extends keyof RunChange>(group: RunGroup, what: K): RunChange[K] | undefined {
  for (const { change } of group.operations) if (change[what] !== undefined) return change[what];
  return undefined;
}

/**
 * Creates make a run; so does an update with the run's begin and place. Without a project it waits for its
 * create: a run stays in the project in which it was made.
 * @param hasOwnProject whether the sender writes into one project only
 */
export function opensRun(group: RunGroup, hasOwnProject: boolean): boolean {
  if (group.operations.some(({ change }) => change.kind === 'post')) return true;
  const isPlaced = hasOwnProject || firstOf(group, 'project') !== undefined;
  return isPlaced && firstOf(group, 'startTime') !== undefined;
}

/** Start of the run, or `now` when a create has none. */
export function startOf(group: RunGroup, now: Instant): Instant {
  return firstOf(group, 'startTime') ?? now;
}

/** The run that a group makes at its place. @param traceTier of a run that names none */
export function buildRun(
  place: RunPlace,
  changes: readonly RunChange[],
  { parentOrder, traceTier }: { readonly parentOrder: string | undefined; readonly traceTier: TraceTier },
): { readonly row: RunRow; readonly payloads: RunPayloads } {
  const [first] = changes;
  if (!first) throw new Error('a run is made by at least one operation');
  const described =
    changes.find((change) => change.dottedOrder) ?? changes.find((change) => change.parentRunId) ?? first;
  let row = newRun({ ...place, parentOrder }, described);
  let payloads: RunPayloads = {};
  for (const change of changes) {
    row = mergeRun(row, change);
    payloads = mergePayloads(payloads, change);
  }
  const searchMarks = row.isRoot ? marksOf(payloads) : undefined;
  return { row: { ...row, traceTier: row.traceTier || traceTier, searchMarks }, payloads };
}

/** The run after the group's operations, without costs that are from the price table. */
export function changeRun(before: RunRow, changes: readonly RunChange[]): RunUpdate {
  let row = withoutPrice(before);
  let replace: RunPayloads = {};
  let fill: RunPayloads = {};
  for (const change of changes) {
    row = mergeRun(row, change);
    if (change.kind === 'patch') replace = { ...replace, ...change.payloads };
    else fill = { ...change.payloads, ...fill };
  }
  const searchMarks = row.isRoot ? marksOf({ ...fill, ...replace }) : undefined;
  return { row: { ...row, searchMarks }, replace, fill };
}
