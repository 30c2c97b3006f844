import type { Instant } from '#lib/time';
import { ancestorsIn, buildDottedOrder } from '../wire/dotted-order.js';
import type { RunChange } from '../wire/run-change.js';
import { withOwnUsage } from '../run/own-usage.js';
import type { RunPayloads, RunRow, RunStatus } from '../run/stored-run.js';

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
export function newRun(identity: RunIdentity, first: RunChange): RunRow {
  const { parentOrder, ...fixed } = identity;
  const dottedOrder =
    first.dottedOrder?.text ?? buildDottedOrder(fixed.startTime, fixed.id, first.parentRunId && parentOrder);
  return {
    ...fixed,
    endTime: undefined,
    firstTokenTime: undefined,
    name: '',
    runType: '',
    status: 'pending',
    isRoot: first.parentRunId === undefined,
    parentRunId: first.parentRunId,
    parentRunIds: ancestorsIn(dottedOrder),
    dottedOrder,
    tags: [],
    threadId: undefined,
    referenceExampleId: undefined,
    traceTier: '',
    totalTokens: undefined,
    promptTokens: undefined,
    completionTokens: undefined,
    totalCost: undefined,
    promptCost: undefined,
    completionCost: undefined,
    priceId: undefined,
    usageDetails: undefined,
    model: undefined,
    modelMember: undefined,
    provider: undefined,
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

/**
 * The run after one more change. An update overrides existing values; a create that comes late (after its
 * update, or again) only fills missing ones. So an update that overtook its create is not undone by it.
 */
export function mergeRun(row: RunRow, change: RunChange): RunRow {
  const wins = change.kind === 'patch';
  function pick<T>(old: T, next: T | undefined, isMissing = old === undefined): T {
    return next !== undefined && (wins || isMissing) ? next : old;
  }
  const { usage } = change;
  const model = pick(modelOf(row), change.model);
  const endTime = pick(row.endTime, change.endTime);
  return withOwnUsage({
    ...row,
    endTime,
    firstTokenTime: pick(row.firstTokenTime, change.firstTokenTime),
    name: pick(row.name, change.name, row.name === ''),
    runType: pick(row.runType, change.runType, row.runType === ''),
    status: statusAfter(row, change, endTime),
    tags: pick(row.tags, change.tags, row.tags.length === 0),
    threadId: pick(row.threadId, change.threadId),
    referenceExampleId: pick(row.referenceExampleId, change.referenceExampleId),
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
    provider: pick(row.provider, change.provider),
  });
}

/**
 * Payloads that a change writes: those of an update override the stored ones, those of a late create fill
 * gaps.
 */
export function mergePayloads(old: RunPayloads, change: RunChange): RunPayloads {
  return change.kind === 'patch' ? { ...old, ...change.payloads } : { ...change.payloads, ...old };
}
