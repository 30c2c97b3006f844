import {
  CONDITION,
  type Condition,
  type ConditionDraft,
  findCondition,
  type KubeObject,
  REASON,
} from '#lib/resources';

interface Observing extends KubeObject {
  readonly status?: { readonly observedGeneration?: number };
}

/**
 * The `status.observedGeneration` to write: the object's generation when this pass handled it to the end, else the
 * present value. It is therefore never ahead of the work.
 */
export function observedGeneration(object: Observing, wasHandledFully: boolean): number | undefined {
  return wasHandledFully ? object.metadata.generation : object.status?.observedGeneration;
}

/** True when the status is about the present spec. */
export function isStatusCurrent(object: Observing): boolean {
  return object.status?.observedGeneration === object.metadata.generation;
}

/** Rule by which `Ready` is computed from the other conditions of a kind. */
export interface ReadyRule {
  /** Every one of these must be True; the first that is not gives Ready its reason and message. */
  readonly needs: readonly string[];
  /** While one of these is True, Ready is False with its reason. They come before `needs`. */
  readonly failures?: readonly string[];
  /** Reason and message while all is well. */
  readonly reason?: string;
  readonly message?: string;
}

/** Words for what is being done while a condition is not reported yet. */
const UNDER_WAY: Readonly<Record<string, string>> = {
  [CONDITION.databaseReady]: 'creating its database',
  [CONDITION.tracingProjectReady]: 'creating its tracing project',
  [CONDITION.revisionReady]: 'creating its first revision',
};

/**
 * Computes `Ready` from the others: the only place it is ever computed. False when a failure is True or a need is
 * False, Unknown when a need is missing or Unknown, else True.
 */
export function summarizeReady(
  conditions: readonly Condition[],
  rule: ReadyRule,
  generation?: number,
): ConditionDraft {
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  for (const type of rule.failures ?? []) {
    const failure = findCondition(conditions, type);
    if (failure?.status === 'True')
      return {
        type: CONDITION.ready,
        status: 'False',
        reason: failure.reason,
        message: failure.message,
        ...observed,
      };
  }
  for (const type of rule.needs) {
    const need = findCondition(conditions, type);
    if (!need)
      return {
        type: CONDITION.ready,
        status: 'Unknown',
        reason: REASON.pending,
        message: UNDER_WAY[type] ?? `waiting for ${type}`,
        ...observed,
      };
    if (need.status !== 'True')
      return {
        type: CONDITION.ready,
        status: need.status,
        reason: need.reason,
        message: need.message,
        ...observed,
      };
  }
  return {
    type: CONDITION.ready,
    status: 'True',
    reason: rule.reason ?? REASON.ready,
    message: rule.message ?? '',
    ...observed,
  };
}
